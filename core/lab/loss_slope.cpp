#include <core/lab/loss_slope.h>

#include <core/boundary/checked.h>
#include <core/boundary/plugin_call.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string_view>

namespace drift {
namespace {

constexpr double kStep = 1e-5;       // of a log-probability or entropy
constexpr double kTolerance = 1e-5;  // relative to the larger of the slope and the mean slope

/// What the gradient is taken by, in the order of DifferentiatedLoss::gradients.
struct Variable {
  const char* name;
  at::Tensor LogProbs::*tensor;
};
constexpr Variable kVariables[] = {{"current", &LogProbs::current_FL}, {"entropy", &LogProbs::entropy_FL}};

thread_local std::size_t g_detached = 0;

std::unique_ptr<at::ObserverContext> count_detached(const at::RecordFunction& function) {
  if (!function.inputs().empty() && function.inputs()[0].isTensor() &&
      function.inputs()[0].toTensor().requires_grad() && std::string_view(function.name()) == "aten::detach")
    ++g_detached;
  return nullptr;
}

/// Calls of detach() on what has a gradient, while body() runs on this thread.
std::size_t detached_in(const std::function<void()>& body) {
  g_detached = 0;
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&count_detached).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  try {
    body();
  } catch (...) {
    at::removeCallback(handle);
    throw;
  }
  at::removeCallback(handle);
  return g_detached;
}

double value_with(const LossEstimator& loss, const LossInput& input, const Variable& variable, std::int64_t at,
                  double change) {
  LossInput changed = input;
  at::Tensor& tensor = changed.log_probs.*(variable.tensor);
  tensor = tensor.detach().clone();
  tensor.view({-1})[at] += change;
  return checked_loss(loss, changed).value.item<double>();
}

}  // namespace

DifferentiatedLoss differentiate(const LossEstimator& loss, const LossInput& input) {
  LossInput leaves = input;
  std::vector<at::Tensor> by;
  for (const Variable& variable : kVariables) {
    at::Tensor& tensor = leaves.log_probs.*(variable.tensor);
    if (!tensor.defined()) continue;
    tensor = tensor.detach().clone().set_requires_grad(true);
    by.push_back(tensor);
  }
  DifferentiatedLoss result{checked_loss(loss, leaves), {}};
  if (result.loss.value.requires_grad()) {
    in_plugin(loss, "gradient", [&] {
      result.gradients = torch::autograd::grad({result.loss.value}, by, {}, std::nullopt, false, /*allow_unused=*/true);
      if (std::ranges::none_of(result.gradients, [](const at::Tensor& one) { return one.defined(); }))
        throw Error("the loss has a gradient, but not by the log-probabilities",
                    "compute it from log_probs.current_FL, without detach() on the way");
    });
  }
  result.gradients.resize(by.size());
  for (std::size_t i = 0; i < by.size(); ++i) {
    if (!result.gradients[i].defined()) result.gradients[i] = at::zeros_like(by[i].detach());
  }
  return result;
}

SlopeComparison compare_slopes(const LossEstimator& loss, const LossInput& input) {
  SlopeComparison comparison;
  DifferentiatedLoss found;
  comparison.detached = detached_in([&] { found = differentiate(loss, input); });
  const double value = found.loss.value.item<double>();
  const at::Tensor target_FL = input.plan.target_FL.contiguous();
  const std::int64_t length = target_FL.size(1);
  std::size_t which = 0;
  for (const Variable& variable : kVariables) {
    if (!(input.log_probs.*(variable.tensor)).defined()) continue;
    const at::Tensor gradient_FL = found.gradients[which++].to(at::kDouble).contiguous();
    const double usual = gradient_FL.abs().sum().item<double>() /
                         std::max<double>(1, static_cast<double>(input.plan.target_FL.sum().item<std::int64_t>()));
    for (std::int64_t at = 0; at < target_FL.numel(); ++at) {
      if (!target_FL.const_data_ptr<bool>()[at]) continue;
      const double right = (value_with(loss, input, variable, at, kStep) - value) / kStep;
      const double left = (value - value_with(loss, input, variable, at, -kStep)) / kStep;
      const double gradient = gradient_FL.const_data_ptr<double>()[at], slope = (left + right) / 2;
      const double allowed = kTolerance * std::max({std::abs(slope), usual, 1e-4});
      // One-sided differences of a smooth function differ by the step times its curvature.
      if (std::abs(left - right) > 100 * std::max(allowed, kStep * std::abs(slope))) {
        ++comparison.kinks;
        continue;
      }
      ++comparison.compared;
      if (std::abs(gradient - slope) > allowed)
        comparison.differences.push_back({variable.name, at / length, at % length, gradient, slope});
    }
  }
  return comparison;
}

}  // namespace drift
