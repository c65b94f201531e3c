#pragma once

#include <core/io/safetensors.h>

#include <drift/model.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace drift {

/// Write a checkpoint's weights into an existing folder: in the files, order and headers of the weights in `source`
/// where these have the same names and shapes; else as model.safetensors or, above `max_file_bytes`, as shards of at
/// most that size (a larger tensor gets a separate one) with their index. Copies no more than a piece of a tensor at a
/// time.
/// @param source  a checkpoint folder; may be empty or hold no weights
/// @param fill  the values of parameters on the meta device
/// @param complete  the same, where several processes have them: called for each file, which holds the others
/// @return whether every tensor has its type in `source`
bool write_weights(const std::filesystem::path& folder, const std::vector<NamedTensor>& parameters,
                   const std::filesystem::path& source, std::int64_t max_file_bytes, const FillElements& fill = {},
                   const CompleteFile& complete = {});

}  // namespace drift
