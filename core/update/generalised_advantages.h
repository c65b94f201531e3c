#pragma once

#include <core/config/training_settings.h>

#include <drift/mask_plan.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift {

/// What tokens have of their own, [B, L]; undefined: each token has its response's advantage.
struct TokenAdvantages {
  at::Tensor advantage_BL;
  at::Tensor value_BL;   ///< a value model's estimate; undefined without one
  at::Tensor return_BL;  ///< what the estimate is trained towards; undefined without a value model
};

/// The tokens of `responses` responses that some view scores, bool [B, L].
at::Tensor scored_tokens(const MaskPlan& plan, std::int64_t responses);

/// Generalised advantages over the denoising steps of each response (docs/algorithms.md): MaskPlan::target_step_FL, or
/// its views in the order of their forwards. The reward comes with the tokens of the last one. A target of a negative
/// step belongs to none: its return and its advantage are 0.
/// @param value_FL  estimates at the targets, before any update with this rollout
/// @param reward_B  of each response, usually its advantage in the group
/// @param reward_BL  of each token, in place of reward_B; undefined: none
/// @return as value_FL's type; 0 where no view scores the token
/// @throws Error if two views of a response score the same token: its step is then unknown
TokenAdvantages generalised_advantages(const MaskPlan& plan, const at::Tensor& value_FL, const at::Tensor& reward_B,
                                       const RewardDiscount& discount, const at::Tensor& reward_BL = {});

/// Of the returns of the scored tokens, what the estimates before the update foresaw; unknown where all are the same.
double explained_variance(const TokenAdvantages& tokens, const MaskPlan& plan);

}  // namespace drift
