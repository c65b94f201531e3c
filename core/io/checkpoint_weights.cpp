#include <core/io/checkpoint_weights.h>

#include <core/base/quote.h>
#include <core/io/file_error.h>
#include <core/io/json.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <set>

namespace drift {
namespace {

namespace fs = std::filesystem;

std::string shard_name(const nlohmann::json& value, const std::string& index) {
  const std::string name = value.is_string() ? value.get<std::string>() : "";
  if (!name.ends_with(".safetensors") || name.find('/') != std::string::npos || name.find('\0') != std::string::npos) {
    throw Error(index + ": weight_map must name a .safetensors file in the same folder for every tensor, not " +
                quoted_name(json_text(value)));
  }
  return name;
}

}  // namespace

std::map<std::string, std::string> parse_weight_index(std::string_view json, const std::string& file) {
  const nlohmann::json index = parse_json_object(json, file);
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object()) throw Error(file + " has no object weight_map");
  std::map<std::string, std::string> shard_of;
  for (const auto& [tensor, shard] : map->items()) shard_of[tensor] = shard_name(shard, file);
  return shard_of;
}

bool CheckpointWeights::exist_in(const fs::path& folder) {
  return is_there(folder / kWeightsFile) || is_there(folder / kWeightIndexFile);
}

CheckpointWeights::CheckpointWeights(const fs::path& folder) {
  if (is_there(folder / kWeightsFile)) {
    const SafetensorsFile& file = files_.emplace_back(folder / kWeightsFile);
    for (const SafetensorsEntry& entry : file.entries()) holder_[entry.name] = &file;
  } else if (is_there(folder / kWeightIndexFile)) {
    open_shards(folder);
  } else {
    throw Error("there are no weights in " + folder.string() + ": neither " + kWeightsFile + " nor " + kWeightIndexFile,
                "Drift reads safetensors; convert other formats first");
  }
}

void CheckpointWeights::open_shards(const fs::path& folder) {
  const fs::path path = folder / kWeightIndexFile;
  index_ = read_json_text(path);
  const auto shard_of = parse_weight_index(index_, path.string());
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : shard_of) shards.insert(shard);
  for (const std::string& shard : shards) {
    if (!is_there(folder / shard))
      throw Error(path.string() + " names " + quoted_name(shard) + ", which is missing",
                  "the folder is incomplete: fetch it again");
  }
  files_.reserve(shards.size());
  std::map<std::string, const SafetensorsFile*> opened;
  for (const std::string& shard : shards) opened[shard] = &files_.emplace_back(folder / shard);
  for (const auto& [tensor, shard] : shard_of) {
    if (opened[shard]->find(tensor) != nullptr) {
      holder_[tensor] = opened[shard];
    } else {
      problems_.push_back(quoted_name(tensor) + " is not in " + quoted_name(shard) + ", where the index places it");
    }
  }
  for (const auto& [shard, file] : opened) {
    for (const SafetensorsEntry& entry : file->entries()) {
      const auto placed = shard_of.find(entry.name);
      if (placed == shard_of.end() || placed->second != shard) {
        problems_.push_back(quoted_name(entry.name) + " is in " + quoted_name(shard) +
                            ", where the index does not place it");
      }
    }
  }
}

const SafetensorsFile* CheckpointWeights::holder(const std::string& name) const {
  const auto found = holder_.find(name);
  return found == holder_.end() ? nullptr : found->second;
}

}  // namespace drift
