#pragma once

#include <core/io/safetensors.h>

#include <drift/model.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// How the forward of a reference was done, by the names of tests/golden/block/README.md: "plain" (as the model is,
/// with the file's attention_mask, if any), "block_causal", "leftpad_block_causal", "leftpad_keymask",
/// "two_copy_global", "two_copy_packed", "two_copy_response", "cache_blocks", "cache_blocks_small".
const std::vector<std::string>& forward_modes();

/// The mode that the file's tensors show: one of two copies or of a cache, or "plain".
std::string forward_mode_of(const SafetensorsFile& file);

/// A row with a clean text and a noisy copy: [clean | noisy], or of the response alone [prompt | clean | noisy].
struct TwoCopies {
  ForwardInput input;
  std::int64_t clean_first = 0, noisy_first = 0, length = 0;  ///< columns of the row that the reference has
};

/// From the tensors of a file of one of the modes two_copy_*. `block` tokens are a block.
/// @throws Error naming the file and the tensor
TwoCopies two_copies(const SafetensorsFile& file, const std::string& mode, std::int64_t block, const Model& model);

/// Logits of the model, and those of the reference's tensor of this name: [B, S, V].
struct LogitPair {
  std::string name;
  at::Tensor got_BSV, expected_BSV;
};

/// The forwards of one of the modes two_copy_* and cache_*. With a cache: the prefill, a noisy block, that block clean,
/// the next one; or a noisy block and then a part of it ("small"), against the keys that the former left.
std::vector<LogitPair> block_forwards(const Model& model, const SafetensorsFile& file, const std::string& mode,
                                      std::int64_t block);

}  // namespace drift
