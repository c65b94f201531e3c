#pragma once

#include <core/record/metrics_reader.h>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace drift {

/// A chart for every quantity that the steps have, one <figure> after the other. Empty without a step. `summary` gives
/// the evaluation before the first step.
std::string html_curves(const std::vector<StepRecord>& steps, const nlohmann::ordered_json& summary);

}  // namespace drift
