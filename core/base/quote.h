#pragma once

#include <string>
#include <string_view>

namespace drift {

/// A name that came out of a file, fit for a message: in backticks, control characters escaped, very long names cut.
std::string quoted_name(std::string_view name);

}  // namespace drift
