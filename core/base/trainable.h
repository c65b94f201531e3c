#pragma once

#include <drift/model.h>

#include <vector>

namespace drift {

/// What a run trains: the parameters that require gradients. The others are frozen.
inline std::vector<NamedTensor> trainable_parameters(const Model& model) {
  auto parameters = model.parameters();
  std::erase_if(parameters, [](const NamedTensor& parameter) { return !parameter.tensor.requires_grad(); });
  return parameters;
}

}  // namespace drift
