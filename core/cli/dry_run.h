#pragma once

#include <core/cli/load_run.h>
#include <core/train/policy_training.h>

namespace drift {

using MakeComponents = PolicyComponents (*)(const LoadedRun& run, Loaded<Task> task);

/// `drift train --dry-run`: check everything but the weights' bytes, print the plan, write nothing.
/// @return 0, or 1 if something would not fit.
int run_dry(const CommandLine& line, const MakeComponents& make_components);

}  // namespace drift
