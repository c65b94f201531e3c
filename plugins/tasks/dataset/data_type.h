#pragma once

#include <string>

#include "record.h"

namespace dataset {

/// Why the tests or the truth of a record are not what its type needs, empty if they are. A type that is not known asks
/// for nothing.
/// @param type   "math", "sudoku", "countdown", "code_function", "code_stdio"
/// @param truth  the column with the right answer, null if there is none
std::string fault(const Json& record, const std::string& type, const Json* truth);

}  // namespace dataset
