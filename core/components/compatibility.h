#pragma once

#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/registry.h>

#include <string>

namespace drift {

/// Why the loss cannot work on the strategy's plans, as the end of a sentence that names both; empty: it can.
std::string mismatch(const MaskingStrategy& masking, const LossEstimator& loss);

/// Every registered strategy with every registered loss, with their default parameters: a Markdown table that lines up.
std::string compatibility_table(const Registry& registry);

}  // namespace drift
