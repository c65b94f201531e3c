#include <core/io/checkpoint.h>

#include <core/io/atomic.h>
#include <core/io/checkpoint_weights.h>
#include <core/io/file_error.h>
#include <core/io/json_text.h>
#include <core/io/safetensors.h>

#include <drift/error.h>

#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <system_error>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr std::string_view kTrainingState = "training_state.";

void require_folder(const fs::path& folder) {
  std::error_code failed;
  if (fs::is_directory(folder, failed)) return;
  throw Error("there is no checkpoint folder " + folder.string(),
              "give the folder that holds config.json and model.safetensors");
}

std::string describe(at::IntArrayRef shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

// What keeps the weights from filling the parameters, one line each.
std::vector<std::string> compare(const CheckpointWeights& weights, const std::vector<NamedTensor>& parameters) {
  std::vector<std::string> problems = weights.problems();
  std::set<std::string> wanted;
  for (const NamedTensor& parameter : parameters) {
    wanted.insert(parameter.name);
    const SafetensorsFile* holder = weights.holder(parameter.name);
    if (holder == nullptr) {
      problems.push_back("missing: " + quoted_name(parameter.name) + " " + describe(parameter.tensor.sizes()));
      continue;
    }
    const SafetensorsEntry& entry = *holder->find(parameter.name);
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
  for (const SafetensorsFile& file : weights.files()) {
    for (const SafetensorsEntry& entry : file.entries()) {
      if (weights.holder(entry.name) == &file && !wanted.contains(entry.name)) {
        problems.push_back("surplus: " + quoted_name(entry.name) + " " + describe(entry.shape));
      }
    }
  }
  return problems;
}

void add(const SafetensorsEntry& entry, WeightTotal& total) {
  const auto bytes = static_cast<std::int64_t>(entry.end - entry.begin);
  ++total.tensors;
  total.bytes += bytes;
  total.parameters += bytes / static_cast<std::int64_t>(c10::elementSize(entry.dtype));
}

WeightTotal& of_type(at::ScalarType dtype, std::vector<WeightTypeSummary>& types) {
  for (WeightTypeSummary& type : types) {
    if (type.dtype == dtype) return type.total;
  }
  return types.emplace_back(WeightTypeSummary{dtype, {}}).total;
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
  const fs::path path = folder / kConfig;
  std::string text = read_json_text(path);
  parse_json_object(text, path.string());
  return text;
}

CheckpointSummary summarize_checkpoint(const fs::path& folder) {
  require_folder(folder);
  const CheckpointWeights weights(folder);
  if (!weights.problems().empty()) {
    std::string what = "the weights in " + folder.string() + " contradict their index";
    for (const std::string& problem : weights.problems()) what += "\n  " + problem;
    throw Error(what, "the folder is incomplete or mixed up: fetch it again");
  }
  CheckpointSummary summary;
  for (const SafetensorsFile& file : weights.files()) {
    WeightFileSummary& shard = summary.files.emplace_back();
    shard.name = file.path().filename().string();
    for (const SafetensorsEntry& entry : file.entries()) {
      add(entry, shard.total);
      add(entry, summary.total);
      add(entry, of_type(entry.dtype, summary.types));
    }
  }
  std::stable_sort(summary.types.begin(), summary.types.end(),
                   [](const auto& a, const auto& b) { return a.total.bytes > b.total.bytes; });
  return summary;
}

void load_parameters(const fs::path& folder, const std::vector<NamedTensor>& parameters) {
  require_folder(folder);
  const CheckpointWeights weights(folder);
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
    target.copy_(weights.holder(parameter.name)->tensor(parameter.name));
  }
}

void write_checkpoint_files(const fs::path& folder, const std::vector<NamedTensor>& parameters,
                            const std::string& config_json, const fs::path& source) {
  if (!source.empty()) carry_files(source, folder);
  write_file_atomically(folder / kConfig, config_json);
  write_safetensors(folder / kWeightsFile, parameters);
}

void save_checkpoint_folder(const fs::path& folder, const std::vector<NamedTensor>& parameters,
                            const std::string& config_json, const fs::path& source) {
  AtomicFolder fresh(folder);
  write_checkpoint_files(fresh.path(), parameters, config_json, source);
  fresh.publish();
}

}  // namespace drift
