#pragma once

#include "item.h"
#include "judge.h"

#include <string>

namespace drift::code {

enum class OutputComparison {
  kCollapsed,   ///< equal when all white space counts as one space
  kExactLines,  ///< the same lines, except for spaces at their ends and empty lines at the end
};

bool same_output(std::string_view printed, std::string_view expected, OutputComparison comparison);

/// Run the program once for each input, in a new process each time. One verdict for each.
/// @throws InfrastructureError
std::vector<Verdict> run_program(const Sandbox& sandbox, const SandboxLimits& limits, const std::string& source,
                                 const Item& item, double cpu_seconds, OutputComparison comparison);

}  // namespace drift::code
