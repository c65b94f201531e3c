#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// The candidate that `name` was most likely meant to be, by edit distance (a swap of neighbours counts as one edit);
/// empty if none is near enough to suggest.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// "a, b, c"
std::string joined(const std::vector<std::string>& names);

}  // namespace drift
