#pragma once

#include <drift/export.h>

#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// The candidate that `name` was most likely meant to be: ours for a word of other programs ("lr"), else by edit
/// distance (a swap of neighbours counts as one edit); empty if none is near enough to suggest.
DRIFT_API std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace drift
