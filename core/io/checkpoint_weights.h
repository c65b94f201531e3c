#pragma once

#include <core/io/safetensors.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// The weights of a checkpoint folder, opened for reading: model.safetensors, or else the shards that
/// model.safetensors.index.json names.
class CheckpointWeights {
 public:
  /// @throws Error if there are no weights, or a file cannot be read or breaks its format.
  explicit CheckpointWeights(const std::filesystem::path& folder);
  CheckpointWeights(const CheckpointWeights&) = delete;
  CheckpointWeights& operator=(const CheckpointWeights&) = delete;

  /// Whether the folder holds weights at all.
  static bool exist_in(const std::filesystem::path& folder);

  /// Sorted by name.
  const std::vector<SafetensorsFile>& files() const { return files_; }
  /// Text of the index; empty if there is a single file.
  const std::string& index() const { return index_; }
  /// The file that holds a tensor; null if none does.
  const SafetensorsFile* holder(const std::string& name) const;
  /// Where index and shards contradict each other, one sentence each.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void open_shards(const std::filesystem::path& folder);

  std::vector<SafetensorsFile> files_;
  std::string index_;
  std::map<std::string, const SafetensorsFile*> holder_;
  std::vector<std::string> problems_;
};

/// Which shard holds each tensor: the `weight_map` of an index.
/// @param file  for messages
/// @throws Error if the text is not such an index, or a shard is anything but the plain name of a .safetensors file: an
/// index is text from outside and must not lead out of its folder.
std::map<std::string, std::string> parse_weight_index(std::string_view json, const std::string& file);

inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kWeightIndexFile = "model.safetensors.index.json";

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
