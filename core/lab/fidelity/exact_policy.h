#pragma once

#include <drift/model.h>

#include <core/lab/fidelity/decoder.h>
#include <core/lab/fidelity/response_space.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// What the model says in every state, without gradients.
StateScores score_states(const Model& model, const ResponseSpace& space);

/// The exact policy gradient.
struct ExactGradient {
  double expected_reward = 0;  ///< J = sum over responses y of p(y) r(y)
  at::Tensor probability;      ///< p, float64 [responses]
  at::Tensor gradient_P;       ///< dJ / d(parameters), float64, all that are trained one after the other
};

/// @param reward  float64 [responses]
/// @param scores  score_states() of the same model
ExactGradient exact_gradient(const Model& model, const ResponseSpace& space, const Decoder& decoder,
                             const StateScores& scores, const at::Tensor& reward);

/// Where a parameter is in a flat gradient.
struct ParameterRange {
  std::string name;
  std::int64_t begin = 0, size = 0;
};
std::vector<ParameterRange> parameter_ranges(const Model& model);

}  // namespace drift
