#pragma once

// What the tests of an update begin with: views of responses, an optimizer.

#include "tests/support/tensors.h"

#include <core/update/optimizer.h>
#include <core/update/policy_gradient.h>

#include <cstdint>

namespace drift::test {

/// AdamW that neither clips nor decays, with steps of one size.
inline OptimizerSettings constant_adamw(double learning_rate, double beta2 = 0.999) {
  OptimizerSettings settings;
  settings.gradient_clip = 0;
  settings.learning_rate = learning_rate;
  settings.schedule = "constant";
  settings.beta1 = 0.9;
  settings.beta2 = beta2;
  settings.epsilon = 1e-8;
  return settings;
}

/// `views` of each response: all masked, what is not there after one step, after two, … All that is masked and valid is
/// scored.
inline MaskPlan views_of_steps(const Trajectories& trajectories, std::int64_t views) {
  const std::int64_t responses = trajectories.step_BL.size(0);
  MaskPlan plan;
  plan.terms = views;
  plan.response_F = at::arange(responses, at::kLong).repeat_interleave(views);
  plan.term_F = at::arange(views, at::kLong).repeat({responses});
  plan.masked_FL = trajectories.step_BL.index_select(0, plan.response_F).to(at::kLong) >= plan.term_F.unsqueeze(1);
  plan.target_FL = plan.masked_FL.logical_and(trajectories.valid_BL.index_select(0, plan.response_F));
  return plan;
}

}  // namespace drift::test
