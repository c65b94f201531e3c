#include <core/conformance/model_trials.h>

#include <core/base/trainable.h>
#include <core/conformance/watches.h>

#include <drift/error.h>
#include <drift/random.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdio>

namespace drift {

at::Tensor noise(const std::string& name, at::IntArrayRef sizes, double size) {
  const RandomStream random = RandomStream(11, "conformance").child(name);
  at::Tensor made = at::empty(sizes, at::kDouble);
  double* const values = made.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < made.numel(); ++i) values[i] = size * (2 * random.uniform({0, 0, i, 0}) - 1);
  return made;
}

void set_weights(Model& model) {
  const at::NoGradGuard no_gradient;  // as a run does
  model.initialize(RandomStream(7, "weights"));
  for (const NamedTensor& parameter : trainable_parameters(model)) {
    at::Tensor tensor = parameter.tensor;
    tensor.add_(noise(parameter.name, tensor.sizes(), 0.02).to(tensor.scalar_type()));
  }
}

ForwardInput made_up_input(const Model& model) {
  const ModelTraits& traits = model.traits();
  ForwardInput input;
  input.tokens_BS = at::zeros({kTrialRows, kTrialTokens}, at::kLong);
  auto* const tokens = input.tokens_BS.mutable_data_ptr<std::int64_t>();
  const std::int64_t ids = std::min<std::int64_t>(traits.vocabulary_size, 997);
  for (std::int64_t i = 0; i < kTrialRows * kTrialTokens; ++i) {
    tokens[i] = i % 3 == 2 ? traits.mask_id : (17 * i + 5) % ids;
    if (tokens[i] == traits.pad_id) tokens[i] = (tokens[i] + 1) % ids;
  }
  return input;
}

at::Tensor states_of(const Model& model, const ForwardInput& input) {
  const at::NoGradGuard no_gradient;
  const at::Tensor before = input.tokens_BS.clone();
  const at::Tensor hidden_NH = model.forward(input);
  if (!same_bits(input.tokens_BS, before)) throw Error("forward: it changed `tokens_BS`, which is only lent to it");
  return hidden_NH;
}

void require_close(const at::Tensor& got, const at::Tensor& expected, double tolerance, const std::string& what) {
  const double difference = largest_difference(got, expected);
  if (difference <= tolerance) return;
  char text[64];
  std::snprintf(text, sizeof text, ": they differ by %.2g", difference);
  throw Error("forward: " + what + text);
}

}  // namespace drift
