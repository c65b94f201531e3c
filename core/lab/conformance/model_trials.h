#pragma once

// What the rules of models have in common: inputs, weights and comparisons.

#include <core/boundary/made.h>

#include <drift/model.h>

#include <functional>
#include <string>

namespace drift {

constexpr std::int64_t kTrialRows = 3, kTrialTokens = 7;
constexpr double kStateRounding = 1e-3;  // of float32 states, whose size is about 1

/// Initialised, then every trained parameter moved a little: adapters may begin at 0.
void set_weights(Model& model);

/// [kTrialRows, kTrialTokens] of responses, masked tokens among them. None is padding: to that a family
/// may give no gradient.
ForwardInput made_up_forward(const Model& model);
/// Row `row` of it alone.
ForwardInput one_row(const ForwardInput& input, std::int64_t row);

/// Without gradients: [B, S, H], or [N, H] where the input names rows.
at::Tensor states_of(const Model& model, const ForwardInput& input);

/// @throws Error "forward: WHAT: they differ by 0.2"
void require_close(const at::Tensor& got, const at::Tensor& expected, const std::string& what,
                   double tolerance = kStateRounding);

/// What drift/model.h promises of Adapters.
/// @param make  a model with the adapters that an adapter_config.json describes, or without ("")
/// @return "7 modules"
/// @throws RuleNotChecked if the model has no Adapters
std::string check_adapters(const std::function<Made<Model>(const std::string& adapter_json, at::Device device)>& make);

}  // namespace drift
