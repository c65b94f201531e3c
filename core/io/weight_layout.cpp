#include <core/io/checkpoint_weights.h>

#include <core/base/trainable.h>
#include <core/io/atomic.h>
#include <core/io/json.h>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <string>

namespace drift {
namespace {

namespace fs = std::filesystem;

const SafetensorsEntry* entry_of(const CheckpointWeights& weights, const std::string& name) {
  const SafetensorsFile* file = weights.holder(name);
  return file == nullptr ? nullptr : file->find(name);
}

bool have_same_names_and_shapes(const CheckpointWeights& weights, const std::vector<NamedTensor>& parameters) {
  std::size_t entries = 0;
  for (const SafetensorsFile& file : weights.files()) entries += file.entries().size();
  if (!weights.problems().empty() || entries != parameters.size()) return false;
  for (const auto& [name, tensor] : parameters) {
    const SafetensorsEntry* entry = entry_of(weights, name);
    if (entry == nullptr || at::IntArrayRef(entry->shape) != tensor.sizes()) return false;
  }
  return true;
}

bool have_same_types(const CheckpointWeights& weights, const std::vector<NamedTensor>& parameters) {
  for (const auto& [name, tensor] : parameters) {
    if (entry_of(weights, name)->dtype != tensor.scalar_type()) return false;
  }
  return true;
}

void write_like(const CheckpointWeights& source, const fs::path& folder, const std::vector<NamedTensor>& parameters,
                const FillElements& fill, const CompleteFile& complete) {
  for (const SafetensorsFile& file : source.files()) {
    write_safetensors_like(folder / file.path().filename(), file, parameters, fill, complete);
  }
  if (source.index().empty()) return;
  const std::string total = std::to_string(bytes_of(parameters));
  write_file_atomically(folder / kWeightIndexFile,
                        replace_json_value(source.index(), {"metadata", "total_size"}, total));
}

std::string shard_name(std::size_t number, std::size_t count) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "model-%05zu-of-%05zu.safetensors", number, count);
  return name.data();
}

std::vector<std::vector<NamedTensor>> split(const std::vector<NamedTensor>& parameters, std::int64_t max_file_bytes) {
  std::vector<std::vector<NamedTensor>> shards(1);
  std::int64_t filled = 0;
  for (const NamedTensor& parameter : parameters) {
    const auto bytes = static_cast<std::int64_t>(parameter.tensor.nbytes());
    if (!shards.back().empty() && filled + bytes > max_file_bytes) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back(parameter);
    filled += bytes;
  }
  return shards;
}

void write_afresh(const fs::path& folder, const std::vector<NamedTensor>& parameters, std::int64_t max_file_bytes,
                  const FillElements& fill, const CompleteFile& complete) {
  const auto shards = split(parameters, max_file_bytes);
  if (shards.size() == 1) return write_safetensors(folder / kWeightsFile, parameters, kPlainMetadata, fill, complete);
  nlohmann::json index = {{"metadata", {{"total_size", bytes_of(parameters)}}}};
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(i + 1, shards.size());
    write_safetensors(folder / name, shards[i], kPlainMetadata, fill, complete);
    for (const NamedTensor& tensor : shards[i]) index["weight_map"][tensor.name] = name;
  }
  write_file_atomically(folder / kWeightIndexFile, index.dump(2, ' ', true) + "\n");
}

}  // namespace

bool write_weights(const fs::path& folder, const std::vector<NamedTensor>& parameters, const fs::path& source,
                   std::int64_t max_file_bytes, const FillElements& fill, const CompleteFile& complete) {
  if (!source.empty() && CheckpointWeights::exist_in(source)) {
    const CheckpointWeights weights(source);
    if (have_same_names_and_shapes(weights, parameters)) {
      write_like(weights, folder, parameters, fill, complete);
      return have_same_types(weights, parameters);
    }
  }
  write_afresh(folder, parameters, max_file_bytes, fill, complete);
  return false;
}

}  // namespace drift
