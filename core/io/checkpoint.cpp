#include <core/io/checkpoint.h>

#include <core/base/quote.h>
#include <core/io/atomic.h>
#include <core/io/checkpoint_weights.h>
#include <core/io/checksum.h>
#include <core/io/file_error.h>
#include <core/io/json.h>
#include <core/io/safetensors.h>

#include <drift/error.h>
#include <drift/parallel.h>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <set>
#include <system_error>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr std::string_view kTrainingState = "training_state.";

void require_folder(const fs::path& folder) {
  std::error_code failed;
  if (is_there(folder) && fs::is_directory(folder, failed)) return;
  throw Error(
      "there is no checkpoint folder " + folder.string(),
      "give the folder that contains config.json and model.safetensors; docs/models.md says where published ones are");
}

struct Piece {
  const SafetensorsFile* file = nullptr;
  const SafetensorsEntry* entry = nullptr;
  std::int64_t first = 0;  ///< element of the entry
  at::Tensor target;
};

// In the order of the files, for the sake of disks.
std::vector<Piece> pieces_of(const CheckpointWeights& weights, const std::vector<NamedTensor>& parameters) {
  std::map<std::string_view, at::Tensor> by_name;
  for (const NamedTensor& parameter : parameters) by_name.emplace(parameter.name, parameter.tensor);
  std::vector<Piece> pieces;
  for (const SafetensorsFile& file : weights.files()) {
    for (const SafetensorsEntry& entry : file.entries()) {
      const auto wanted = by_name.find(entry.name);
      if (wanted == by_name.end() || wanted->second.is_meta()) continue;
      std::int64_t first = 0;
      for (const at::Tensor& target : tensor_pieces(wanted->second)) {
        pieces.push_back({&file, &entry, first, target});
        first += target.numel();
      }
    }
  }
  return pieces;
}

}  // namespace

// Each thread takes the next piece as it becomes free.
void read_parameters(const CheckpointWeights& weights, const std::vector<NamedTensor>& parameters) {
  const std::vector<Piece> pieces = pieces_of(weights, parameters);
  const at::NoGradGuard no_grad;
  const auto workers = static_cast<std::int64_t>(at::get_num_threads());
  std::atomic<std::size_t> next = 0;
  parallel_rows(workers, workers, [&](std::int64_t, std::int64_t, std::int64_t) {
    for (std::size_t i = next++; i < pieces.size(); i = next++) {
      pieces[i].file->read_elements(*pieces[i].entry, pieces[i].first, pieces[i].target);
    }
  });
}

namespace {

// A matrix that the model reads under another name, stored again: a head that is tied to the embedding.
bool is_stored_twice(const SafetensorsFile& file, const SafetensorsEntry& entry, const CheckpointWeights& weights,
                     const std::set<std::string>& wanted) {
  if (entry.shape.size() != 2) return false;
  return std::ranges::any_of(wanted, [&](const std::string& name) {
    const SafetensorsFile* holder = weights.holder(name);
    if (holder == nullptr) return false;
    const SafetensorsEntry& other = *holder->find(name);
    return other.shape == entry.shape && other.dtype == entry.dtype &&
           at::equal(holder->tensor(name), file.tensor(entry.name));
  });
}

// What keeps the weights from filling the parameters, one line each.
std::vector<std::string> compare(const CheckpointWeights& weights, const std::vector<NamedTensor>& parameters) {
  std::vector<std::string> problems = weights.problems();
  std::set<std::string> wanted;
  for (const NamedTensor& parameter : parameters) {
    wanted.insert(parameter.name);
    const SafetensorsFile* holder = weights.holder(parameter.name);
    if (holder == nullptr) {
      problems.push_back("missing: " + quoted_name(parameter.name) + " " + shape_text(parameter.tensor.sizes()));
      continue;
    }
    const SafetensorsEntry& entry = *holder->find(parameter.name);
    if (at::IntArrayRef(entry.shape) != parameter.tensor.sizes()) {
      problems.push_back("shape: " + quoted_name(parameter.name) + " is " + shape_text(entry.shape) +
                         " in the checkpoint, the model has " + shape_text(parameter.tensor.sizes()));
    }
    const at::ScalarType dtype = parameter.tensor.scalar_type();
    if (entry.dtype != dtype && !(at::isFloatingType(entry.dtype) && at::isFloatingType(dtype))) {
      problems.push_back("type: " + quoted_name(parameter.name) + " is " + safetensors_dtype_name(entry.dtype) +
                         " in the checkpoint, the model has " + safetensors_dtype_name(dtype));
    }
  }
  for (const SafetensorsFile& file : weights.files()) {
    for (const SafetensorsEntry& entry : file.entries()) {
      if (weights.holder(entry.name) == &file && !wanted.contains(entry.name) &&
          !is_stored_twice(file, entry, weights, wanted)) {
        problems.push_back("surplus: " + quoted_name(entry.name) + " " + shape_text(entry.shape));
      }
    }
  }
  return problems;
}

void add(const SafetensorsEntry& entry, WeightTotal& total) {
  ++total.tensors;
  total.bytes += static_cast<std::int64_t>(entry.end - entry.begin);
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
  return !weights && name != kConfig && name != kCardFile && !name.starts_with(kTrainingState) &&
         !name.starts_with(".");
}

void carry_file(const fs::path& from, const fs::path& to) {
  AtomicFile output(to);
  for_each_piece(from, [&](std::string_view piece) {
    output.write(piece.data(), piece.size());
    return true;
  });
  output.commit();
}

void carry_files(const fs::path& source, const fs::path& folder) {
  for (const fs::path& entry : entries_of(source)) {
    std::error_code ignored;
    if (fs::is_regular_file(entry, ignored) && is_carried(entry)) carry_file(entry, folder / entry.filename());
  }
}

// The config's text with the type that its floating-point tensors have; as it is if it names none, or they have
// several.
std::string name_type(std::string config_json, const std::vector<NamedTensor>& parameters) {
  std::set<std::string> types;
  for (const NamedTensor& parameter : parameters) {
    const at::ScalarType type = parameter.tensor.scalar_type();
    if (at::isFloatingType(type)) types.insert('"' + c10::getDtypeNames(type).first + '"');
  }
  if (types.size() != 1) return config_json;
  for (const char* key : {"torch_dtype", "dtype"}) config_json = replace_json_value(config_json, {key}, *types.begin());
  return config_json;
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
    std::string what = "the weights in " + folder.string() + " do not match their index";
    for (const std::string& problem : weights.problems()) what += "\n  " + problem;
    throw Error(what, "the folder is incomplete or has files of another checkpoint: fetch it again");
  }
  CheckpointSummary summary;
  for (const SafetensorsFile& file : weights.files()) {
    summary.files.push_back(file.path().filename().string());
    for (const SafetensorsEntry& entry : file.entries()) {
      add(entry, summary.total);
      add(entry, of_type(entry.dtype, summary.types));
    }
  }
  std::stable_sort(summary.types.begin(), summary.types.end(),
                   [](const auto& a, const auto& b) { return a.total.bytes > b.total.bytes; });
  return summary;
}

namespace {

void require_fit(const CheckpointWeights& weights, const std::vector<NamedTensor>& parameters, const fs::path& folder) {
  const std::vector<std::string> problems = compare(weights, parameters);
  if (problems.empty()) return;
  std::string what = "the weights in " + folder.string() + " do not fit the model (" + std::to_string(problems.size()) +
                     (problems.size() == 1 ? " problem)" : " problems)");
  for (const std::string& problem : problems) what += "\n  " + problem;
  throw Error(what, "check that this is the right checkpoint and that its config.json belongs to it");
}

}  // namespace

void check_parameters(const fs::path& folder, const std::vector<NamedTensor>& parameters) {
  require_folder(folder);
  require_fit(CheckpointWeights(folder), parameters, folder);
}

std::string checkpoint_checksum(const fs::path& folder) {
  constexpr std::array<std::string_view, 3> kExtensions = {".json", ".safetensors", ".txt"};
  std::string text;
  for (const fs::path& file : entries_of(folder)) {
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored) && std::ranges::count(kExtensions, file.extension().string()) > 0)
      text += file.filename().string() + " " + file_checksum(file) + "\n";
  }
  return checksum(text);
}

void load_parameters(const fs::path& folder, const std::vector<NamedTensor>& parameters, const TakeWeight& take) {
  require_folder(folder);
  const CheckpointWeights weights(folder);
  require_fit(weights, parameters, folder);
  read_parameters(weights, parameters);
  at::Tensor room;
  for (const auto& [name, tensor] : parameters) {
    if (!tensor.is_meta()) continue;
    const auto options = tensor.options().device(at::kCPU).requires_grad(false);
    if (!room.defined() || room.numel() < tensor.numel()) room = at::empty({tensor.numel()}, options);
    const at::Tensor weight = room.narrow(0, 0, tensor.numel()).view(tensor.sizes());
    read_parameters(weights, {{name, weight}});
    take(name, weight);
  }
}

void write_checkpoint_files(const fs::path& folder, const std::vector<NamedTensor>& parameters,
                            const std::string& config_json, const fs::path& source, std::int64_t max_file_bytes,
                            const FillElements& fill, const CompleteFile& complete) {
  if (!source.empty()) carry_files(source, folder);
  const bool same_types = write_weights(folder, parameters, source, max_file_bytes, fill, complete);
  write_file_atomically(folder / kConfig, same_types ? config_json : name_type(config_json, parameters));
}

void for_each_weight(const fs::path& folder, const std::function<void(const SafetensorsEntry&)>& use) {
  require_folder(folder);
  const CheckpointWeights weights(folder);
  for (const SafetensorsFile& file : weights.files()) std::ranges::for_each(file.entries(), use);
}

void rewrite_checkpoint_folder(const fs::path& folder, const fs::path& source,
                               const std::function<at::Tensor(const std::string&, const at::Tensor&)>& change) {
  const std::string config_json = read_config_json(source);
  const CheckpointWeights weights(source);
  AtomicFolder fresh(folder);
  carry_files(source, fresh.path());
  for (const SafetensorsFile& file : weights.files())
    rewrite_safetensors(fresh.path() / file.path().filename(), file, change);
  if (!weights.index().empty()) write_file_atomically(fresh.path() / kWeightIndexFile, weights.index());
  write_file_atomically(fresh.path() / kConfig, config_json);
  fresh.publish();
}

void save_checkpoint_folder(const fs::path& folder, const std::vector<NamedTensor>& parameters,
                            const std::string& config_json, const fs::path& source, std::int64_t max_file_bytes) {
  AtomicFolder fresh(folder);
  write_checkpoint_files(fresh.path(), parameters, config_json, source, max_file_bytes);
  fresh.publish();
}

}  // namespace drift
