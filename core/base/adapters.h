#pragma once

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

/// What a checkpoint of the model without its adapters holds.
inline std::vector<NamedTensor> base_parameters(const Model& model) {
  auto parameters = model.parameters();
  std::set<std::string> names;
  for (const NamedTensor& adapter : adapter_parameters(model)) names.insert(adapter.name);
  if (!names.empty()) std::erase_if(parameters, [&](const NamedTensor& one) { return names.contains(one.name); });
  return parameters;
}

}  // namespace drift
