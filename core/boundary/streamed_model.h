#pragma once

#include <core/boundary/components.h>

#include <cstdint>
#include <optional>

namespace drift {

/// Whether the blocks of this model, of any device, can be brought one at a time.
/// @throws Error if they cannot, or the configuration gives nothing to bring them from
void require_streamable(const RunConfig& config, const Model& model);

/// The bytes of its blocks' weights, and those that are in memory at a time. On the CPU room for the largest block, on
/// a device for two of them: the next one is copied while one is computed.
struct StreamedBytes {
  std::int64_t blocks = 0;  ///< of all of them
  std::int64_t held = 0;    ///< on the model's device
  std::int64_t pinned = 0;  ///< in host memory, of all blocks, for a model on a device
};
StreamedBytes streamed_bytes(const Model& model, bool on_cpu);

/// The parameters of all its blocks together; nothing if the model does not compute block by block.
std::optional<std::int64_t> parameters_of_blocks(const Model& model);

/// The model of `[model] path`, for forwards without gradients. On the CPU the weights of its blocks stay in the
/// checkpoint's files and are read and converted again in each forward, a block at a time; the files must stay as they
/// are. For a device they are in pinned memory, from where each forward copies them. The numbers are those of the same
/// model in memory.
/// @throws Error as open_model() and require_streamable()
Loaded<Model> open_streamed_model(const ModelShapes& shapes);

}  // namespace drift
