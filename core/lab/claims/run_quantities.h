#pragma once

#include <core/lab/claims/claim_result.h>
#include <core/sweep/sweep_results.h>

#include <string>

namespace drift {

/// What the quantity of a claim on runs is; empty: there is none of that name. It is a number of runs.csv; `largest
/// METRIC`, the largest value of a metric over the steps; or `fall of METRIC`, its largest mean over a tenth of the
/// steps less that over the last tenth.
std::string run_quantity_doc(const std::string& quantity);

/// Fill in `measured`: for each value of the axis that the sweep compares, the finished runs in the order of the other
/// axes and seeds. Runs that are not finished are unknown, and `reason` says so.
/// @throws Error if an expectation names a value that the axis does not have
void fill_from_runs(ClaimResult& result, const SweepResults& results);

}  // namespace drift
