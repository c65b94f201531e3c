#pragma once

#include "record.h"

#include <string_view>

namespace drift::dataset {

/// The value of a JSON text, in time that grows with its length alone. Members keep their order; of a name that occurs
/// twice the last value counts. A number that neither an integer nor a double holds is kept as the text that it is.
/// @throws Error with what is wrong
Json parse_value(std::string_view text);

}  // namespace drift::dataset
