#pragma once

#include <drift/error.h>
#include <drift/model.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// What follows a module's name in the names of its adapter's tensors: Adapters::adapter_parameters().
inline constexpr std::string_view kAdapterEndingA = ".lora_A.weight", kAdapterEndingB = ".lora_B.weight";

/// The adapters of a model; none if it has none, or cannot have any.
inline std::vector<NamedTensor> adapter_parameters(const Model& model) {
  const auto* adapters = capability<Adapters>(model);
  return adapters == nullptr ? std::vector<NamedTensor>() : adapters->adapter_parameters();
}

/// The modules of a model's adapters. @throws Error if a tensor is called otherwise than the interface demands.
inline std::vector<std::string> adapted_modules(const std::vector<NamedTensor>& adapter_parameters) {
  std::vector<std::string> modules;
  for (const auto& [name, tensor] : adapter_parameters) {
    if (name.ends_with(kAdapterEndingA)) {
      modules.push_back(name.substr(0, name.size() - kAdapterEndingA.size()));
    } else if (!name.ends_with(kAdapterEndingB)) {
      throw Error("adapter_parameters: `" + name + "` ends neither in " + std::string(kAdapterEndingA) + " nor in " +
                      std::string(kAdapterEndingB),
                  "drift/model.h: Adapters");
    }
  }
  return modules;
}

/// What a checkpoint of the model without its adapters holds.
inline std::vector<NamedTensor> base_parameters(const Model& model) {
  auto parameters = model.parameters();
  std::set<std::string> names;
  for (const NamedTensor& adapter : adapter_parameters(model)) names.insert(adapter.name);
  if (!names.empty()) std::erase_if(parameters, [&](const NamedTensor& one) { return names.contains(one.name); });
  return parameters;
}

}  // namespace drift
