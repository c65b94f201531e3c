#pragma once

#include <drift/model.h>

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// A checkpoint: a folder in the Hugging Face layout. config.json, weights in model.safetensors or in shards named by
// model.safetensors.index.json, and files that are carried along untouched (tokenizer, generation settings, …).

namespace drift {

/// The text of the folder's config.json.
/// @throws Error if the folder or the file is missing, or the file is not a JSON object.
std::string read_config_json(const std::filesystem::path& folder);

struct WeightTotal {
  std::int64_t tensors = 0;
  std::int64_t parameters = 0;  ///< elements
  std::int64_t bytes = 0;       ///< without the files' headers
};

struct WeightTypeSummary {
  at::ScalarType dtype = at::kFloat;
  WeightTotal total;
};

struct WeightFileSummary {
  std::string name;
  WeightTotal total;
};

/// What a checkpoint's weights are, from the headers of its files.
struct CheckpointSummary {
  WeightTotal total;
  std::vector<WeightTypeSummary> types;  ///< most bytes first
  std::vector<WeightFileSummary> files;  ///< by name; one, or the shards
};

/// Reads the headers alone: as quick for 16 GB as for 16 kB.
/// @throws Error if there are no weights, a file is damaged, or the index contradicts the shards.
CheckpointSummary summarize_checkpoint(const std::filesystem::path& folder);

/// Fill the parameters from the folder's weights, converting between floating-point types on the fly.
/// @throws Error that lists every missing, surplus and misshapen tensor; then no parameter has been touched.
void load_parameters(const std::filesystem::path& folder, const std::vector<NamedTensor>& parameters);

/// Write model.safetensors and config.json into an existing folder, and the other files of `source` beside them (no
/// weights, no hidden files, no training state, no folders within it). An empty `source` has none.
void write_checkpoint_files(const std::filesystem::path& folder, const std::vector<NamedTensor>& parameters,
                            const std::string& config_json, const std::filesystem::path& source = {});

/// The same as a new folder, which appears when it is whole.
/// @throws Error if `folder` exists and is not empty.
void save_checkpoint_folder(const std::filesystem::path& folder, const std::vector<NamedTensor>& parameters,
                            const std::string& config_json, const std::filesystem::path& source = {});

}  // namespace drift
