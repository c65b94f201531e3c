#include <core/update/generalised_advantages.h>

#include <core/base/unknown.h>
#include <core/update/view_rows.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <map>
#include <vector>

namespace drift {
namespace {

double variance(const at::Tensor& numbers) { return numbers.sub(numbers.mean()).square().mean().item<double>(); }

/// Targets that were written together, as places in [F, L].
using Step = std::vector<std::int64_t>;

/// Of each response its steps, in their order.
std::vector<std::map<std::int64_t, Step>> steps_of_responses(const MaskPlan& plan, std::int64_t responses) {
  const bool* const target = plan.target_FL.const_data_ptr<bool>();
  const std::int64_t length = plan.target_FL.size(1);
  std::vector<std::map<std::int64_t, Step>> steps(static_cast<std::size_t>(responses));
  for (std::int64_t f = 0; f < plan.response_F.size(0); ++f) {
    const auto response = static_cast<std::size_t>(plan.response_F.const_data_ptr<std::int64_t>()[f]);
    for (std::int64_t place = f * length; place < (f + 1) * length; ++place) {
      if (!target[place]) continue;
      const std::int64_t step = plan.target_step_FL.defined()
                                    ? plan.target_step_FL.const_data_ptr<std::int64_t>()[place]
                                    : plan.term_F.const_data_ptr<std::int64_t>()[f];
      if (step >= 0) steps[response][step].push_back(place);
    }
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
                                       const RewardDiscount& discount, const at::Tensor& reward_BL) {
  const std::int64_t responses = reward_B.size(0), length = plan.target_FL.size(1);
  require_one_view_of_each_token(plan, responses);
  const auto zero_BL = at::zeros({responses, length}, value_FL.options());
  TokenAdvantages tokens{zero_BL.clone(), zero_BL.clone(), zero_BL.clone()};
  tokens.value_BL.index_add_(0, plan.response_F, value_FL * plan.target_FL);
  const auto steps = steps_of_responses(plan, responses);
  for (std::int64_t b = 0; b < responses; ++b) {
    // Of the step after: its return, the mean of its estimates, its advantage. Nothing comes after the last one.
    double return_after = 0, value_after = 0, advantage_after = 0;
    const auto& own = steps[static_cast<std::size_t>(b)];
    for (auto step = own.rbegin(); step != own.rend(); ++step) {
      const auto place_E = index_tensor(step->second), position_E = place_E.remainder(length);
      const auto value_E = value_FL.view({-1}).index_select(0, place_E);
      const double at_end = step == own.rbegin() ? reward_B[b].item<double>() : 0;
      const auto reward_E =
          reward_BL.defined() ? reward_BL[b].index_select(0, position_E) : at::full_like(value_E, at_end, at::kDouble);
      const double reward = reward_BL.defined() ? reward_E.mean().item<double>() : at_end;
      const double later = discount.gamma * value_after + discount.gamma * discount.lambda * advantage_after;
      const auto put = [&](at::Tensor& to_BL, const at::Tensor& number_E) {
        to_BL[b].index_copy_(0, position_E, number_E.to(to_BL.scalar_type()));
      };
      put(tokens.return_BL, reward_E + discount.gamma * return_after);
      put(tokens.advantage_BL, (reward_E + later).to(value_E.scalar_type()) - value_E);
      const double value = value_E.mean().item<double>();
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
