#pragma once

// What the rules of models have in common: inputs, weights and comparisons.

#include <drift/model.h>

#include <functional>
#include <memory>
#include <string>

namespace drift {

using ModelPointer = std::unique_ptr<Model>;

constexpr std::int64_t kTrialRows = 3, kTrialTokens = 7;
constexpr double kStateRounding = 1e-3;  // of float32 states, whose size is about 1

/// Small numbers in [-size, size), float64, a function of the name.
at::Tensor noise(const std::string& name, at::IntArrayRef sizes, double size);

/// Initialised, then every trained parameter moved a little: adapters may begin at 0.
void set_weights(Model& model);

/// [kTrialRows, kTrialTokens] of responses, masked tokens among them. None is padding: to that a family
/// may give no gradient.
ForwardInput made_up_input(const Model& model);

/// Without gradients. @throws Error if the model changed what it was lent.
at::Tensor states_of(const Model& model, const ForwardInput& input);

/// @throws Error "forward: WHAT: they differ by 0.2"
void require_close(const at::Tensor& got, const at::Tensor& expected, double tolerance, const std::string& what);

/// What drift/model.h promises of Adapters.
/// @param make  a model with the adapters that an adapter_config.json describes, or without ("")
/// @return "7 modules"
/// @throws RuleNotChecked if the model has no Adapters
std::string check_adapters(const std::function<ModelPointer(const std::string& adapter_json, at::Device device)>& make);

}  // namespace drift
