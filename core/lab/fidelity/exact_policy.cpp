#include <core/lab/fidelity/exact_policy.h>

#include <core/base/trainable.h>
#include <core/boundary/checked.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <optional>

namespace drift {
namespace {

constexpr std::int64_t kStatesAtOnce = 4096;

/// [n, m, V] of some states of a pattern, with their graph if gradients are enabled.
at::Tensor score(const Model& model, const ResponseSpace& space, Pattern pattern, const at::Tensor& tokens_NL) {
  const std::int64_t count = tokens_NL.size(0);
  const auto prompt_NP = at::tensor(space.prompt(), at::kLong).expand({count, -1});
  const std::int64_t prompt_length = prompt_NP.size(1), sequence = prompt_length + space.length();
  const std::int64_t shift = space.traits().prediction_row == PredictionRow::kPrevious ? 1 : 0;
  const auto positions = at::tensor(space.masked_positions(pattern), at::kLong) + (prompt_length - shift);
  ForwardInput input;
  input.tokens_BS = at::cat({prompt_NP, tokens_NL}, 1).to(model.device());
  input.rows_N = (at::arange(count, at::kLong).unsqueeze(1) * sequence + positions).reshape({-1}).to(model.device());
  const auto logits_NV = checked_forward(model, input).matmul(model.lm_head_VH().t());
  return logits_NV.to(at::kCPU, at::kDouble).log_softmax(-1).view({count, positions.size(0), -1});
}

/// body(pattern, first state, tokens_NL) for all unfinished states, some at a time.
template <class Body>
void for_states(const ResponseSpace& space, const Body& body) {
  for (Pattern pattern = 1; pattern <= space.all_masked(); ++pattern) {
    const auto tokens_NL = space.tokens_NL(pattern);
    for (std::int64_t first = 0; first < tokens_NL.size(0); first += kStatesAtOnce) {
      body(pattern, first, tokens_NL.narrow(0, first, std::min(kStatesAtOnce, tokens_NL.size(0) - first)));
    }
  }
}

}  // namespace

StateScores score_states(const Model& model, const ResponseSpace& space) {
  const at::NoGradGuard no_gradient;
  std::vector<std::vector<at::Tensor>> parts(static_cast<std::size_t>(space.all_masked()) + 1);
  for_states(space, [&](Pattern pattern, std::int64_t, const at::Tensor& tokens_NL) {
    parts[pattern].push_back(score(model, space, pattern, tokens_NL));
  });
  StateScores scores;
  for (const auto& of_pattern : parts) scores.push_back(of_pattern.empty() ? at::Tensor() : at::cat(of_pattern, 0));
  return scores;
}

// First by the scores, which are few; then through the model, some states at a time.
ExactGradient exact_gradient(const Model& model, const ResponseSpace& space, const Decoder& decoder,
                             const StateScores& scores, const at::Tensor& reward) {
  StateScores leaves = scores;
  for (std::size_t pattern = 1; pattern < leaves.size(); ++pattern)
    leaves[pattern] = leaves[pattern].detach().clone().set_requires_grad(true);
  const auto probability = response_probabilities(space, decoder, leaves);
  const auto expected = (probability * reward).sum();
  auto score_gradients =
      torch::autograd::grad({expected}, std::vector<at::Tensor>(leaves.begin() + 1, leaves.end()), {}, std::nullopt,
                            /*create_graph=*/false, /*allow_unused=*/true);

  std::vector<at::Tensor> parameters, sums;
  for (const auto& parameter : trainable_parameters(model)) {
    parameters.push_back(parameter.tensor);
    sums.push_back(at::zeros({parameter.tensor.numel()}, at::kDouble));
  }
  for_states(space, [&](Pattern pattern, std::int64_t first, const at::Tensor& tokens_NL) {
    const auto& gradient = score_gradients[pattern - 1];
    if (!gradient.defined()) return;
    const auto output = score(model, space, pattern, tokens_NL);
    const auto parts = torch::autograd::grad({output}, parameters, {gradient.narrow(0, first, tokens_NL.size(0))},
                                             std::nullopt, /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (!parts[p].defined()) continue;
      const auto dense = parts[p].is_sparse() ? parts[p].to_dense() : parts[p];
      sums[p] += dense.detach().reshape({-1}).to(at::kCPU, at::kDouble);
    }
  });
  return {expected.item<double>(), probability.detach(), at::cat(sums)};
}

std::vector<ParameterRange> parameter_ranges(const Model& model) {
  std::vector<ParameterRange> ranges;
  std::int64_t begin = 0;
  for (const auto& parameter : trainable_parameters(model)) {
    ranges.push_back({parameter.name, begin, parameter.tensor.numel()});
    begin += parameter.tensor.numel();
  }
  return ranges;
}

}  // namespace drift
