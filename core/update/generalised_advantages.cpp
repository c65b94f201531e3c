#include <core/update/generalised_advantages.h>

#include <core/base/unknown.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace drift {
namespace {

double variance(const at::Tensor& numbers) { return numbers.sub(numbers.mean()).square().mean().item<double>(); }

using Views = std::vector<std::int64_t>;

/// Of each response its views with a target, in the order of their forwards.
std::vector<Views> steps_of_responses(const MaskPlan& plan, std::int64_t responses) {
  const auto targets_F = plan.target_FL.sum(1);
  const std::int64_t* const targets = targets_F.const_data_ptr<std::int64_t>();
  const std::int64_t* const response = plan.response_F.const_data_ptr<std::int64_t>();
  const std::int64_t* const forward = plan.term_F.const_data_ptr<std::int64_t>();
  std::vector<Views> steps(static_cast<std::size_t>(responses));
  for (std::int64_t f = 0; f < plan.response_F.size(0); ++f) {
    if (targets[f] > 0) steps[static_cast<std::size_t>(response[f])].push_back(f);
  }
  for (Views& views : steps) {
    std::ranges::stable_sort(views, {}, [&](std::int64_t f) { return forward[f]; });
  }
  return steps;
}

/// In how many views each token is scored.
at::Tensor views_of_tokens(const MaskPlan& plan, std::int64_t responses) {
  return at::zeros({responses, plan.target_FL.size(1)}, at::kLong)
      .index_add_(0, plan.response_F, plan.target_FL.to(at::kLong));
}

void require_one_view_of_each_token(const MaskPlan& plan, std::int64_t responses) {
  const auto count_BL = views_of_tokens(plan, responses);
  if (count_BL.numel() == 0 || count_BL.max().item<std::int64_t>() <= 1) return;
  throw Error(
      "a value model needs the denoising step of each token, and this masking strategy scores tokens in several views",
      "choose one that follows the denoising trajectory (docs/algorithms.md), or set value.enabled = false");
}

}  // namespace

at::Tensor scored_tokens(const MaskPlan& plan, std::int64_t responses) { return views_of_tokens(plan, responses) > 0; }

TokenAdvantages generalised_advantages(const MaskPlan& plan, const at::Tensor& value_FL, const at::Tensor& reward_B,
                                       const RewardDiscount& discount) {
  const std::int64_t responses = reward_B.size(0), length = plan.target_FL.size(1);
  require_one_view_of_each_token(plan, responses);
  const auto zero_BL = at::zeros({responses, length}, value_FL.options());
  TokenAdvantages tokens{zero_BL.clone(), zero_BL.clone(), zero_BL.clone()};
  const auto steps = steps_of_responses(plan, responses);
  for (std::int64_t b = 0; b < responses; ++b) {
    const Views& views = steps[static_cast<std::size_t>(b)];
    // Of the step after: its return, the mean of its estimates, its advantage. Nothing comes after the last one.
    double return_after = 0, value_after = 0, advantage_after = 0;
    for (auto view = views.rbegin(); view != views.rend(); ++view) {
      const double reward = view == views.rbegin() ? reward_B[b].item<double>() : 0;
      const auto target_L = plan.target_FL[*view];
      const auto value_L = value_FL[*view];
      const double later = discount.gamma * value_after + discount.gamma * discount.lambda * advantage_after;
      tokens.value_BL[b].add_(value_L * target_L);
      tokens.return_BL[b].add_(target_L, reward + discount.gamma * return_after);
      tokens.advantage_BL[b].add_((reward + later - value_L) * target_L);
      const double value = value_L.masked_select(target_L).mean().item<double>();
      return_after = reward + discount.gamma * return_after;
      advantage_after = reward + later - value;
      value_after = value;
    }
  }
  return tokens;
}

double explained_variance(const TokenAdvantages& tokens, const MaskPlan& plan) {
  const auto scored_BL = scored_tokens(plan, tokens.value_BL.size(0));
  const auto return_E = tokens.return_BL.masked_select(scored_BL), value_E = tokens.value_BL.masked_select(scored_BL);
  const double of_returns = variance(return_E);
  return of_returns > 0 ? 1 - variance(return_E - value_E) / of_returns : kUnknown;
}

}  // namespace drift
