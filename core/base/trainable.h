#pragma once

#include <drift/error.h>
#include <drift/model.h>

#include <cstdint>
#include <vector>

namespace drift {

/// What a run trains: the parameters that require gradients. The others are frozen.
/// @throws Error if all are.
inline std::vector<NamedTensor> trainable_parameters(const Model& model) {
  auto parameters = model.parameters();
  std::erase_if(parameters, [](const NamedTensor& parameter) { return !parameter.tensor.requires_grad(); });
  if (parameters.empty())
    throw Error("the model has no parameters to train: none requires gradients", "drift/model.h: NamedTensor");
  return parameters;
}

inline std::int64_t bytes_of(const std::vector<NamedTensor>& tensors) {
  std::int64_t bytes = 0;
  for (const NamedTensor& one : tensors) bytes += static_cast<std::int64_t>(one.tensor.nbytes());
  return bytes;
}

}  // namespace drift
