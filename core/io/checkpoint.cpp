#include <core/io/checkpoint.h>

#include <core/io/atomic.h>
#include <core/io/file_error.h>
#include <core/io/safetensors.h>

#include <drift/error.h>

#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <system_error>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr const char* kWeights = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::string_view kTrainingState = "training_state.";

nlohmann::json read_json_object(const fs::path& path) {
  const std::string text = read_whole_file(path);
  // Without recursion and exceptions: a file that is not JSON gives a discarded value.
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    throw Error(path.string() + " is not a JSON object", "the file is damaged: fetch or write it again");
  return json;
}

void require_folder(const fs::path& folder) {
  std::error_code failed;
  if (fs::is_directory(folder, failed)) return;
  throw Error("there is no checkpoint folder " + folder.string(),
              "give the folder that holds config.json and model.safetensors");
}

/// The weights of a checkpoint: one file or several, and which of them holds a tensor.
struct Weights {
  std::vector<SafetensorsFile> files;
  std::map<std::string, const SafetensorsFile*> holder;
  std::vector<std::string> problems;
};

// The index is text from outside: a shard is a plain name in the same folder, never a path.
std::string shard_name(const nlohmann::json& value, const fs::path& index) {
  const std::string name = value.is_string() ? value.get<std::string>() : "";
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    throw Error(index.string() + ": weight_map must name a file in the same folder for every tensor, not " +
                quoted_name(value.dump()));
  }
  return name;
}

void open_shards(const fs::path& folder, Weights& weights) {
  const fs::path index = folder / kIndex;
  const nlohmann::json json = read_json_object(index);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) throw Error(index.string() + " has no object weight_map");
  std::map<std::string, std::string> shard_of;
  std::set<std::string> shards;
  for (const auto& [tensor, file] : map->items()) shards.insert(shard_of[tensor] = shard_name(file, index));
  weights.files.reserve(shards.size());
  std::map<std::string, const SafetensorsFile*> opened;
  for (const std::string& shard : shards) opened[shard] = &weights.files.emplace_back(folder / shard);
  for (const auto& [tensor, shard] : shard_of) {
    if (opened[shard]->find(tensor) != nullptr) {
      weights.holder[tensor] = opened[shard];
    } else {
      weights.problems.push_back(quoted_name(tensor) + " is not in " + shard + ", where the index places it");
    }
  }
  for (const auto& [shard, file] : opened) {
    for (const SafetensorsEntry& entry : file->entries()) {
      const auto placed = shard_of.find(entry.name);
      if (placed == shard_of.end() || placed->second != shard) {
        weights.problems.push_back(quoted_name(entry.name) + " is in " + shard + ", where the index does not place it");
      }
    }
  }
}

Weights open_weights(const fs::path& folder) {
  Weights weights;
  std::error_code ignored;
  if (fs::exists(folder / kWeights, ignored)) {
    const SafetensorsFile& file = weights.files.emplace_back(folder / kWeights);
    for (const SafetensorsEntry& entry : file.entries()) weights.holder[entry.name] = &file;
  } else if (fs::exists(folder / kIndex, ignored)) {
    open_shards(folder, weights);
  } else {
    throw Error("there are no weights in " + folder.string() + ": neither " + kWeights + " nor " + kIndex,
                "Drift reads safetensors; convert other formats first");
  }
  return weights;
}

std::string describe(at::IntArrayRef shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

// What keeps the weights from filling the parameters, one line each.
std::vector<std::string> compare(const Weights& weights, const std::vector<NamedTensor>& parameters) {
  std::vector<std::string> problems = weights.problems;
  std::set<std::string> wanted;
  for (const NamedTensor& parameter : parameters) {
    wanted.insert(parameter.name);
    const auto holder = weights.holder.find(parameter.name);
    if (holder == weights.holder.end()) {
      problems.push_back("missing: " + quoted_name(parameter.name) + " " + describe(parameter.tensor.sizes()));
      continue;
    }
    const SafetensorsEntry& entry = *holder->second->find(parameter.name);
    if (at::IntArrayRef(entry.shape) != parameter.tensor.sizes()) {
      problems.push_back("shape: " + quoted_name(parameter.name) + " is " + describe(entry.shape) +
                         " in the checkpoint, the model has " + describe(parameter.tensor.sizes()));
    }
    const at::ScalarType dtype = parameter.tensor.scalar_type();
    if (entry.dtype != dtype && !(at::isFloatingType(entry.dtype) && at::isFloatingType(dtype))) {
      problems.push_back("type: " + quoted_name(parameter.name) + " is " + safetensors_dtype_name(entry.dtype) +
                         " in the checkpoint, the model has " + safetensors_dtype_name(dtype));
    }
  }
  for (const auto& [name, file] : weights.holder) {
    if (!wanted.contains(name))
      problems.push_back("surplus: " + quoted_name(name) + " " + describe(file->find(name)->shape));
  }
  return problems;
}

bool is_carried(const fs::path& path) {
  static constexpr std::array<std::string_view, 9> kWeightEndings{
      ".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".pt", ".pth", ".gguf", ".h5", ".msgpack"};
  const std::string name = path.filename().string();
  const bool weights = std::any_of(kWeightEndings.begin(), kWeightEndings.end(),
                                   [&](std::string_view ending) { return name.ends_with(ending); });
  return !weights && name != kConfig && !name.starts_with(kTrainingState) && !name.starts_with(".");
}

void carry_files(const fs::path& source, const fs::path& folder) {
  std::error_code failed;
  fs::directory_iterator entry(source, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    if (entry->is_regular_file(failed) && is_carried(entry->path())) {
      write_file_atomically(folder / entry->path().filename(), read_whole_file(entry->path()));
    }
  }
  if (failed) throw_file_error("read", source, failed.value());
}

}  // namespace

std::string read_config_json(const fs::path& folder) {
  require_folder(folder);
  read_json_object(folder / kConfig);
  return read_whole_file(folder / kConfig);
}

void load_parameters(const fs::path& folder, const std::vector<NamedTensor>& parameters) {
  require_folder(folder);
  const Weights weights = open_weights(folder);
  const std::vector<std::string> problems = compare(weights, parameters);
  if (!problems.empty()) {
    std::string what = "the weights in " + folder.string() + " do not fit the model (" +
                       std::to_string(problems.size()) + (problems.size() == 1 ? " problem)" : " problems)");
    for (const std::string& problem : problems) what += "\n  " + problem;
    throw Error(what, "is this the right checkpoint, and does its config.json belong to it?");
  }
  const at::NoGradGuard no_grad;
  for (const NamedTensor& parameter : parameters) {
    at::Tensor target = parameter.tensor;
    target.copy_(weights.holder.at(parameter.name)->tensor(parameter.name));
  }
}

void write_checkpoint_files(const fs::path& folder, const std::vector<NamedTensor>& parameters,
                            const std::string& config_json, const fs::path& source) {
  if (!source.empty()) carry_files(source, folder);
  write_file_atomically(folder / kConfig, config_json);
  write_safetensors(folder / kWeights, parameters);
}

void save_checkpoint_folder(const fs::path& folder, const std::vector<NamedTensor>& parameters,
                            const std::string& config_json, const fs::path& source) {
  AtomicFolder fresh(folder);
  write_checkpoint_files(fresh.path(), parameters, config_json, source);
  fresh.publish();
}

}  // namespace drift
