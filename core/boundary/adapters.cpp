#include <core/boundary/adapters.h>

#include <core/base/adapters.h>
#include <core/config/nearest.h>

#include <drift/error.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

namespace drift {
namespace {

/// Whether the text is the pattern, in which * stands for any characters, none included.
bool matches_wildcards(std::string_view text, std::string_view pattern) {
  std::size_t at = 0, in_pattern = 0, star = std::string_view::npos, taken = 0;  // taken: by the last star
  while (at < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      taken = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == text[at]) {
      ++in_pattern, ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

bool is_target(const std::string& target, const std::string& module) {
  return matches_wildcards(module, target) || matches_wildcards(module, "*." + target);
}

std::string_view module_of(std::string_view name, std::string_view ending) {
  return name.substr(0, name.size() - ending.size());
}

void fill_uniform(const at::Tensor& tensor, double bound, const RandomStream& random) {
  auto values = at::empty(tensor.sizes(), at::kFloat);
  float* data = values.data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i)
    data[i] = static_cast<float>(bound * (2.0 * random.uniform({0, 0, i, 0}) - 1.0));
  tensor.copy_(values);
}

}  // namespace

bool has_adapter(const RunConfig& config) {
  return config.has("adapter") && config.get<AdapterSettings>().has_adapter();
}

std::vector<std::string> last_words(const std::vector<std::string>& modules) {
  std::vector<std::string> words;
  for (const std::string& module : modules) {
    const std::string word = module.substr(module.rfind('.') + 1);
    if (std::ranges::count(words, word) == 0) words.push_back(word);
  }
  return words;
}

bool drops_inputs(const RunConfig& config) { return has_adapter(config) && config.get<AdapterSettings>().dropout > 0; }

std::vector<std::string> target_modules(const std::vector<std::string>& targets,
                                        const std::vector<std::string>& available) {
  for (const std::string& target : targets) {
    if (std::ranges::any_of(available, [&](const std::string& module) { return is_target(target, module); })) continue;
    const auto words = last_words(available);
    std::string hint = name_hint(target, words, "projections of each layer");
    // A name in full is compared with such names, which are too many for a list.
    if (const auto whole = did_you_mean(target, available); !whole.empty() && did_you_mean(target, words).empty())
      hint = whole + "\n  = " + hint;
    if (target.find('.') != target.npos) hint += "\n  = the first in full: " + available.front();
    throw Error("adapter.targets: `" + target + "` is none of the model's projections", hint);
  }
  std::vector<std::string> modules;
  for (const std::string& module : available) {
    if (std::ranges::any_of(targets, [&](const std::string& target) { return is_target(target, module); }))
      modules.push_back(module);
  }
  if (modules.empty()) throw Error("adapter.targets is empty", "targets = [\"*\"] names every projection");
  return modules;
}

AdapterDescription described_adapter(const RunConfig& config) {
  const auto settings = config.get<AdapterSettings>();
  AdapterDescription adapter{settings.rank, settings.alpha, 0, {}, {}};
  if (!settings.path.empty()) adapter = read_adapter(settings.path);
  adapter.dropout = settings.dropout;
  return adapter;
}

std::vector<std::string> modules_of(const AdapterDescription& adapter, const RunConfig& config,
                                    const std::vector<std::string>& available) {
  const auto settings = config.get<AdapterSettings>();
  if (settings.path.empty()) return target_modules(settings.targets, available);
  for (const std::string& module : adapter.modules) {
    if (std::ranges::count(available, module) > 0) continue;
    throw Error(
        "the adapter in " + settings.path + " is not one of this model, which has no `" + module + "`",
        adapter.base.empty() ? "check that it was trained on this checkpoint" : "it was trained on " + adapter.base);
  }
  return adapter.modules;
}

void initialize_adapters(const std::vector<NamedTensor>& adapter_parameters, const RandomStream& random) {
  const at::NoGradGuard no_gradient;
  for (const auto& [name, tensor] : adapter_parameters) {
    if (name.ends_with(kAdapterEndingB)) {
      tensor.zero_();
    } else {
      fill_uniform(tensor, 1.0 / std::sqrt(static_cast<double>(tensor.size(1))), random.child(name));
    }
  }
}

std::string excess_rank(const std::vector<NamedTensor>& adapter_parameters) {
  std::map<std::string_view, std::int64_t> inputs;  // by module
  std::vector<std::string> modules;
  std::int64_t rank = 0, smallest_side = std::numeric_limits<std::int64_t>::max();
  for (const auto& [name, tensor] : adapter_parameters) {
    if (name.ends_with(kAdapterEndingA)) inputs[module_of(name, kAdapterEndingA)] = tensor.size(1);
  }
  for (const auto& [name, tensor] : adapter_parameters) {
    if (!name.ends_with(kAdapterEndingB)) continue;
    const auto module = module_of(name, kAdapterEndingB);
    const std::int64_t side = std::min(tensor.size(0), inputs.at(module));
    if (tensor.size(1) <= side) continue;
    modules.emplace_back(module);
    rank = tensor.size(1);
    smallest_side = std::min(smallest_side, side);
  }
  if (modules.empty()) return "";
  std::string names;
  for (const std::string& word : last_words(modules)) names += (names.empty() ? "" : ", ") + word;
  return "adapter.rank = " + std::to_string(rank) + " is more than " + names +
         " can use: " + std::to_string(smallest_side) +
         " is the smaller side of the smallest of these weights, and no change has a higher rank";
}

}  // namespace drift
