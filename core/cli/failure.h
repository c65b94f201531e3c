#pragma once

#include <core/ranks/ranks.h>

#include <functional>

namespace drift {

/// Print the error that is being handled, which ends the program. @return the exit status
int report_failure();

/// body() on every rank, and the end of all communication. Of several ranks the first one reports an error, and all
/// end; another rank tells the first one, and prints only if that does not end the run.
/// @return what body() returned
int ended_together(Ranks& ranks, const std::function<int()>& body);

}  // namespace drift
