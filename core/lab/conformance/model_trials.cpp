#include <core/lab/conformance/model_trials.h>

#include <core/base/trainable.h>
#include <core/boundary/checked.h>
#include <core/lab/conformance/inputs.h>
#include <core/lab/conformance/watches.h>

#include <drift/error.h>
#include <drift/random.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdio>

namespace drift {

void set_weights(Model& model) {
  checked_initialize(model, RandomStream(7, "weights"));
  const at::NoGradGuard no_gradient;
  for (const NamedTensor& parameter : trainable_parameters(model)) {
    at::Tensor tensor = parameter.tensor;
    tensor.add_(made_up_numbers(parameter.name, tensor.sizes(), -0.02, 0.02).to(tensor.scalar_type()));
  }
}

ForwardInput made_up_forward(const Model& model) {
  const ModelTraits& traits = model.traits();
  ForwardInput input;
  input.tokens_BS = at::empty({kTrialRows, kTrialTokens}, at::kLong);
  auto* const tokens = input.tokens_BS.mutable_data_ptr<std::int64_t>();
  const std::int64_t ids = std::min<std::int64_t>(traits.vocabulary_size, 997);
  for (std::int64_t i = 0; i < kTrialRows * kTrialTokens; ++i) {
    tokens[i] = i % 3 == 2 ? traits.mask_id : (17 * i + 5) % ids;
    if (tokens[i] == traits.pad_id) tokens[i] = (tokens[i] + 1) % ids;
  }
  return input;
}

ForwardInput one_row(const ForwardInput& input, std::int64_t row) {
  ForwardInput one;
  one.tokens_BS = input.tokens_BS.narrow(0, row, 1).clone();
  if (input.dropout_key_B.defined()) one.dropout_key_B = input.dropout_key_B.narrow(0, row, 1).clone();
  return one;
}

at::Tensor states_of(const Model& model, const ForwardInput& input) {
  const at::NoGradGuard no_gradient;
  const at::Tensor hidden_NH = checked_forward(model, input);
  return input.rows_N.defined() ? hidden_NH : hidden_NH.view({input.tokens_BS.size(0), input.tokens_BS.size(1), -1});
}

void require_close(const at::Tensor& got, const at::Tensor& expected, const std::string& what, double tolerance) {
  const double difference = largest_difference(got, expected);
  if (difference <= tolerance) return;
  char text[64];
  std::snprintf(text, sizeof text, ": they differ by %.2g", difference);
  throw Error("forward: " + what + text);
}

}  // namespace drift
