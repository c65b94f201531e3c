#pragma once

#include <core/io/safetensors.h>

#include <drift/model.h>

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// A checkpoint: a folder in the Hugging Face layout. config.json, weights in model.safetensors or in shards named by
// model.safetensors.index.json, and files that are carried along untouched (tokenizer, generation settings, …).

namespace drift {

class CheckpointWeights;

/// What a folder says of its own model, and of no other: it is not carried along.
inline constexpr const char* kCardFile = "README.md";

/// The text of the folder's config.json.
/// @throws Error if the folder or the file is missing, or the file is not a JSON object.
std::string read_config_json(const std::filesystem::path& folder);

struct WeightTotal {
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;  ///< without the files' headers
};

struct WeightTypeSummary {
  at::ScalarType dtype = at::kFloat;
  WeightTotal total;
};

/// The weights of a checkpoint, from the headers of its files.
struct CheckpointSummary {
  WeightTotal total;
  std::vector<WeightTypeSummary> types;  ///< most bytes first
  std::vector<std::string> files;        ///< names, sorted; one, or the shards
};

/// Reads only the headers: as fast for 16 GB as for 16 kB.
/// @throws Error if there are no weights, a file is damaged, or the index contradicts the shards.
CheckpointSummary summarize_checkpoint(const std::filesystem::path& folder);

/// Call use(entry) for every tensor, in the order of the files. Reads only the headers.
void for_each_weight(const std::filesystem::path& folder, const std::function<void(const SafetensorsEntry&)>& use);

/// Compare names and shapes with the headers of the folder's weights.
/// @throws Error that lists every missing, surplus and misshapen tensor
void check_parameters(const std::filesystem::path& folder, const std::vector<NamedTensor>& parameters);

/// A checksum of all files of a model and its tokenizer, independent of the folder's location; notes and code that are
/// next to them do not affect it. Reads all weights.
std::string checkpoint_checksum(const std::filesystem::path& folder);

/// Fill the parameters, of any device, from the folder's weights: with all threads, converting between floating-point
/// types on the fly, and with a few megabytes per thread in addition to the parameters.
/// Parameters on the meta device are not filled: `take` gets the values of each of these, of its shape and type on the
/// CPU, good until it returns. One such tensor is in memory at a time.
/// @throws Error as check_parameters does; then no parameter has been touched.
using TakeWeight = std::function<void(const std::string& name, const at::Tensor& weight)>;
void load_parameters(const std::filesystem::path& folder, const std::vector<NamedTensor>& parameters,
                     const TakeWeight& take = {});

/// The same for some of the parameters, from weights that have been checked against all of them; none is meta.
void read_parameters(const CheckpointWeights& weights, const std::vector<NamedTensor>& parameters);

/// Where weights are split into shards that have no example to follow.
inline constexpr std::int64_t kMaxWeightFileBytes = 5'000'000'000;

/// Write a checkpoint into an existing folder. `source` is the checkpoint that the parameters once came from, or empty.
///
/// If its weights have the same names and shapes, the new ones are in the same files, in the same order and with the
/// same headers and index; unchanged weights of unchanged type give the same bytes. Else they are written as
/// model.safetensors, or as shards if that would be larger than `max_file_bytes`.
///
/// Its other files (tokenizer, code, licence, …) are copied: all but kCardFile, weights in other formats, hidden files,
/// training state and folders. config.json is `config_json` unchanged; only if the weights do not have the source's
/// types does its "torch_dtype" or "dtype" follow them. Parameters on the meta device have the values that `fill`
/// gives; or those that `complete` brings to each file of weights, where several processes have them.
void write_checkpoint_files(const std::filesystem::path& folder, const std::vector<NamedTensor>& parameters,
                            const std::string& config_json, const std::filesystem::path& source = {},
                            std::int64_t max_file_bytes = kMaxWeightFileBytes, const FillElements& fill = {},
                            const CompleteFile& complete = {});

/// The same as a new folder, which appears when it is complete.
/// @throws Error if `folder` exists and is not empty.
void save_checkpoint_folder(const std::filesystem::path& folder, const std::vector<NamedTensor>& parameters,
                            const std::string& config_json, const std::filesystem::path& source = {},
                            std::int64_t max_file_bytes = kMaxWeightFileBytes);

/// A new folder with the files of `source`, whose weights are changed one by one: change(name, tensor) gives a tensor
/// of the same shape and type. Files, order, headers and index stay.
/// @throws Error if `folder` exists and is not empty.
void rewrite_checkpoint_folder(const std::filesystem::path& folder, const std::filesystem::path& source,
                               const std::function<at::Tensor(const std::string&, const at::Tensor&)>& change);

}  // namespace drift
