#pragma once

#include <drift/mask_plan.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

/// What a loss did with the scored tokens of a plan, over the optimizer steps of one rollout: all that a loss tells of
/// a token is the slope by its log-probability. On the CPU; 0 where a view does not score the position.
struct LossTreatment {
  at::Tensor gradient_FL;  ///< float32, d loss / d log-prob, added up over the optimizer steps
  at::Tensor steps_F;      ///< int64, optimizer steps that used the view
  at::Tensor zero_FL;      ///< int64, those of them in which the slope was 0 …
  at::Tensor dropped_FL;   ///< bool, … also in the first one of all, which the policy that wrote the responses takes

  explicit LossTreatment(const MaskPlan& plan);

  /// One optimizer step on some views of the plan.
  /// @param gradient_NL  [views, L], on any device
  /// @param is_first     no optimizer step came before it
  void add(const std::vector<std::int64_t>& views, const at::Tensor& gradient_NL, bool is_first);

 private:
  at::Tensor target_FL_;
};

}  // namespace drift
