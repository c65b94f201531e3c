#pragma once

#include "item.h"
#include "judge.h"

#include <string>

namespace drift::code {

enum class OutputComparison {
  kCollapsed,   ///< equal when all white space counts as one space
  kExactLines,  ///< the same lines, except for spaces at their ends and empty lines at the end
};

/// @param tolerance  with kCollapsed: how far a number may be from an expected decimal, absolutely or relatively;
///                   0: the same text
bool same_output(std::string_view printed, std::string_view expected, OutputComparison comparison, double tolerance);

/// Run the program once for each input, in a new process each time. One verdict for each. `source`: as for Worker
/// @throws InfrastructureError
std::vector<Verdict> run_program(const Sandbox& sandbox, const SandboxLimits& limits, const std::string& source,
                                 const Item& item, double cpu_seconds, OutputComparison comparison, double tolerance);

}  // namespace drift::code
