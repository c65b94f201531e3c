#include <core/io/adapter_files.h>

#include <core/base/adapters.h>
#include <core/base/quote.h>
#include <core/io/atomic.h>
#include <core/io/checkpoint.h>
#include <core/io/file_error.h>
#include <core/io/json.h>
#include <core/io/safetensors.h>

#include <drift/error.h>

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

namespace drift {

extern const char* const kAdapterKeys;  ///< adapter_keys.txt

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kConfigFile = "adapter_config.json";
constexpr const char* kTensorFile = "adapter_model.safetensors";
constexpr std::string_view kPrefix = "base_model.model.";
constexpr double kLargestRank = 1 << 30;

/// Initialisations that leave the base weights as they are.
const std::set<Json> kPlainInitializations = {true, false, nullptr, "gaussian", "orthogonal", "eva"};

bool is_off(const Json& value) {
  return value.is_null() || value == false || ((value.is_object() || value.is_array()) && value.empty());
}

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw Error(file.string() + ": " + what,
              "Drift computes plain LoRA: peft_type LORA, one rank and alpha above 0 for all modules");
}

void check_kind(const Json& json, const fs::path& file) {
  if (json.value("peft_type", Json()) != "LORA")
    refuse(file, "peft_type is " + json_text(json.value("peft_type", Json())));
  if (json.value("bias", Json("none")) != "none") refuse(file, "bias is " + json_text(json["bias"]));
  const Json initialization = json.value("init_lora_weights", Json(true));
  if (!kPlainInitializations.contains(initialization))
    refuse(file, "init_lora_weights is " + json_text(initialization) + ", which changes the base weights");
}

void check_keys(const Json& json, const fs::path& file) {
  std::set<std::string> known;
  std::istringstream lines(kAdapterKeys);
  for (std::string line; std::getline(lines, line);) known.insert(line);
  for (const auto& [key, value] : json.items()) {
    if (is_off(value) || known.contains(key)) continue;
    if (known.contains("! " + key)) refuse(file, key + " is " + json_text(value));
    refuse(file, quoted_name(key) + " = " + json_text(value) + " is unknown; if it changes no number, take it out");
  }
}

/// Of a key that every adapter has. @throws Error that names it
double number_at(const Json& json, const char* key, const fs::path& file) {
  const Json value = json.value(key, Json());
  if (value.is_number()) return value.get<double>();
  throw Error(
      file.string() + ": " + key + (value.is_null() ? " is missing" : " is " + json_text(value) + ", no number"),
      "fetch or write it again");
}

/// MODULE of base_model.model.MODULE.lora_A.weight; empty if the name is not like that.
std::string module_of(const std::string& tensor, std::string_view ending) {
  if (!tensor.starts_with(kPrefix) || !tensor.ends_with(ending)) return {};
  return tensor.substr(kPrefix.size(), tensor.size() - kPrefix.size() - ending.size());
}

std::string list_of(const std::vector<std::string>& problems) {
  constexpr std::size_t kShown = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(problems.size(), kShown); ++i) list += "\n  " + problems[i];
  if (problems.size() > kShown) list += "\n  … and " + std::to_string(problems.size() - kShown) + " more";
  return list;
}

/// a [rank, in] and b [out, rank] of a module, as the file has them.
struct Factors {
  at::Tensor a, b;
};

std::map<std::string, Factors> factors_of(const SafetensorsFile& file, const AdapterDescription& adapter) {
  std::map<std::string, Factors> factors;
  for (const std::string& module : adapter.modules) {
    const std::string name = std::string(kPrefix) + module;
    factors[module] = {file.tensor(name + std::string(kAdapterEndingA)),
                       file.tensor(name + std::string(kAdapterEndingB))};
  }
  return factors;
}

void check_fit(const std::map<std::string, Factors>& factors, const fs::path& checkpoint, const fs::path& adapter) {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for_each_weight(checkpoint, [&](const SafetensorsEntry& entry) { shapes[entry.name] = entry.shape; });
  std::vector<std::string> problems;
  for (const auto& [module, both] : factors) {
    const auto found = shapes.find(module + ".weight");
    const std::vector<std::int64_t> product = {both.b.size(0), both.a.size(1)};
    if (found == shapes.end()) {
      problems.push_back("missing: " + quoted_name(module + ".weight"));
    } else if (found->second != product) {
      problems.push_back("shape: " + quoted_name(module + ".weight") + " is " + shape_text(found->second) +
                         " in the checkpoint, and " + shape_text(product) + " of the adapter");
    }
  }
  if (!problems.empty())
    throw Error("the adapter in " + adapter.string() + " is not one of the checkpoint " + checkpoint.string() +
                    list_of(problems),
                "check that it was trained on this checkpoint");
}

/// @throws Error if the sum has values that no model computes with
void check_sum(const at::Tensor& sum, const at::Tensor& weight, const Factors& factors, const std::string& name) {
  const auto is_finite = [](const at::Tensor& tensor) { return at::isfinite(tensor).all().item<bool>(); };
  if (is_finite(sum)) return;
  const bool weight_is = is_finite(weight), adapter_is = is_finite(factors.a) && is_finite(factors.b);
  throw Error(quoted_name(name) + " would not be finite: " +
                  (!weight_is    ? "the checkpoint's is not"
                   : !adapter_is ? "the adapter is not"
                                 : "it exceeds its type"),
              "training diverged: take an earlier checkpoint");
}

}  // namespace

bool holds_adapter(const fs::path& folder) {
  std::error_code ignored;
  return is_there(folder / kConfigFile) && fs::is_regular_file(folder / kConfigFile, ignored);
}

std::string adapter_json(const AdapterDescription& adapter) {
  const bool whole = adapter.alpha == std::floor(adapter.alpha) && std::abs(adapter.alpha) < 1e9;
  const Json json = {{"base_model_name_or_path", adapter.base.empty() ? Json() : Json(adapter.base)},
                     {"bias", "none"},
                     {"fan_in_fan_out", false},
                     {"inference_mode", true},
                     {"init_lora_weights", true},
                     {"lora_alpha", whole ? Json(static_cast<std::int64_t>(adapter.alpha)) : Json(adapter.alpha)},
                     {"lora_dropout", adapter.dropout},
                     {"modules_to_save", nullptr},
                     {"peft_type", "LORA"},
                     {"r", adapter.rank},
                     {"target_modules", adapter.modules},
                     {"task_type", nullptr},
                     {"use_dora", false},
                     {"use_rslora", false}};
  return json_text(json, 2) + "\n";
}

AdapterDescription read_adapter(const fs::path& folder) {
  if (!holds_adapter(folder)) {
    const fs::path last = folder / "checkpoints" / "last";  // of a run
    throw Error("there is no adapter in " + folder.string() + ": it has no " + kConfigFile,
                holds_adapter(last) ? "that is the folder of a run; give its checkpoint: " + last.string()
                                    : "give a folder that peft or a run of Drift with [adapter] wrote");
  }
  const fs::path path = folder / kConfigFile;
  const Json json = read_json_object(path);
  check_kind(json, path);
  AdapterDescription adapter;
  const double rank = number_at(json, "r", path);
  if (rank < 1 || rank > kLargestRank || rank != std::floor(rank)) refuse(path, "r is " + json_text(json["r"]));
  adapter.rank = static_cast<std::int64_t>(rank);
  adapter.alpha = number_at(json, "lora_alpha", path);
  if (adapter.alpha <= 0) refuse(path, "lora_alpha is " + json_text(json["lora_alpha"]));
  if (json.contains("lora_dropout")) adapter.dropout = number_at(json, "lora_dropout", path);
  check_keys(json, path);
  if (json.contains("base_model_name_or_path") && json["base_model_name_or_path"].is_string())
    adapter.base = json["base_model_name_or_path"].get<std::string>();
  const SafetensorsFile file(folder / kTensorFile);
  std::vector<std::string> problems;
  for (const SafetensorsEntry& entry : file.entries()) {
    const std::string module_a = module_of(entry.name, kAdapterEndingA),
                      module_b = module_of(entry.name, kAdapterEndingB);
    const auto partner = std::string(kPrefix) + (module_a.empty() ? module_b + std::string(kAdapterEndingA)
                                                                  : module_a + std::string(kAdapterEndingB));
    if (module_a.empty() && module_b.empty()) {
      problems.push_back("surplus: " + quoted_name(entry.name));
    } else if (file.find(partner) == nullptr) {
      problems.push_back("missing: " + quoted_name(partner));
    } else if (entry.shape.size() != 2 || entry.shape[module_a.empty() ? 1 : 0] != adapter.rank) {
      problems.push_back("shape: " + quoted_name(entry.name) + " is " + shape_text(entry.shape) + ", and the rank " +
                         std::to_string(adapter.rank));
    }
    if (!module_a.empty()) adapter.modules.push_back(module_a);
  }
  if (adapter.modules.empty() && problems.empty()) problems.push_back("there are no tensors");
  if (!problems.empty())
    throw Error(
        file.path().string() + " does not hold the adapter that " + kConfigFile + " describes" + list_of(problems),
        "fetch or write it again");
  return adapter;
}

std::string trained_elsewhere(const fs::path& folder, const fs::path& checkpoint) {
  const std::string base = read_adapter(folder).base;
  std::error_code ignored;
  if (!fs::is_directory(base, ignored) || fs::equivalent(base, checkpoint, ignored)) return {};
  return "the adapter in " + folder.string() + " was trained on " + base + ", not on " + checkpoint.string();
}

void require_trained_base(const fs::path& folder, const fs::path& checkpoint) {
  const fs::path state = folder / "training_state.json";
  std::string trained_on;
  if (is_there(state))
    trained_on = read_json_object(state).value(Json::json_pointer("/settings/model.path"), trained_on);
  if (!trained_on.starts_with("content ") || trained_on == "content " + checkpoint_checksum(checkpoint)) return;
  throw Error(
      "the adapter in " + folder.string() + " was trained on other weights than those in " + checkpoint.string(),
      "name the checkpoint that it was trained on; training_state.json has the checksum of its files");
}

void load_adapter(const fs::path& folder, const std::vector<NamedTensor>& parameters) {
  const SafetensorsFile file(folder / kTensorFile);
  std::vector<std::string> problems;
  std::set<std::string> wanted;
  for (const auto& [name, tensor] : parameters) {
    const std::string stored = *wanted.insert(std::string(kPrefix) + name).first;
    const SafetensorsEntry* entry = file.find(stored);
    if (entry == nullptr) {
      problems.push_back("missing: " + quoted_name(stored));
    } else if (at::IntArrayRef(entry->shape) != tensor.sizes()) {
      problems.push_back("shape: " + quoted_name(stored) + " is " + shape_text(entry->shape) + ", the model has " +
                         shape_text(tensor.sizes()));
    }
  }
  for (const SafetensorsEntry& entry : file.entries()) {
    if (!wanted.contains(entry.name)) problems.push_back("surplus: " + quoted_name(entry.name));
  }
  if (!problems.empty())
    throw Error("the adapter in " + folder.string() + " does not fit the model" + list_of(problems),
                "check that it was trained on this checkpoint");
  const at::NoGradGuard no_gradient;
  for (const auto& [name, tensor] : parameters) file.read_elements(*file.find(std::string(kPrefix) + name), 0, tensor);
}

void write_adapter_files(const fs::path& folder, const AdapterDescription& adapter,
                         const std::vector<NamedTensor>& parameters) {
  std::vector<NamedTensor> stored;
  for (const auto& [name, tensor] : parameters) stored.push_back({std::string(kPrefix) + name, tensor.detach()});
  write_safetensors(folder / kTensorFile, stored);
  write_file_atomically(folder / kConfigFile, adapter_json(adapter));
}

std::size_t merge_adapter(const fs::path& checkpoint, const fs::path& adapter, const fs::path& folder) {
  const at::NoGradGuard no_gradient;
  const AdapterDescription description = read_adapter(adapter);
  const SafetensorsFile file(adapter / kTensorFile);
  const auto factors = factors_of(file, description);
  check_fit(factors, checkpoint, adapter);
  const double scale = description.alpha / static_cast<double>(description.rank);
  std::size_t changed = 0;
  rewrite_checkpoint_folder(folder, checkpoint, [&](const std::string& name, const at::Tensor& weight) {
    constexpr std::string_view kWeight = ".weight";
    const auto found =
        name.ends_with(kWeight) ? factors.find(name.substr(0, name.size() - kWeight.size())) : factors.end();
    if (found == factors.end()) return weight;
    const auto type = at::toOpMathType(weight.scalar_type());
    const auto& [a, b] = found->second;
    const at::Tensor sum =
        at::addmm(weight.to(type), b.to(type), a.to(type), /*beta=*/1, /*alpha=*/scale).to(weight.scalar_type());
    check_sum(sum, weight, found->second, name);
    if (!at::equal(sum, weight)) ++changed;
    return sum;
  });
  std::error_code ignored;
  const fs::path card = adapter / kCardFile;
  write_file_atomically(folder / kCardFile, "# " + checkpoint.filename().string() +
                                                " with an adapter\n\nThe weights of `" + checkpoint.string() +
                                                "` with the adapter `" + adapter.string() +
                                                "` merged into them by `drift model merge`.\n" +
                                                (fs::exists(card, ignored) ? "\n" + read_whole_file(card) : ""));
  return changed;
}

}  // namespace drift
