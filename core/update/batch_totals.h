#pragma once

#include <drift/loss_estimator.h>
#include <drift/mask_plan.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift {

/// Totals of one optimizer step on the views of `plan`.
BatchTotals batch_totals(const MaskPlan& plan, std::int64_t responses, std::int64_t group_size,
                         std::int64_t optimizer_steps);

/// LossInput::scored_B: for each of B responses, the positions that at least one view scores.
at::Tensor scored_positions(const MaskPlan& plan, std::int64_t responses);

}  // namespace drift
