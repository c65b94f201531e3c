#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// The candidate that `name` was most likely meant to be: ours for a word of other programs ("lr"), else by edit
/// distance (a swap of neighbours counts as one edit); empty if none is near enough to suggest.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// "did you mean `x`?"; empty if no candidate is near enough.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// The hint of an error about a name that is not known: "did you mean `x`?", then "losses: x, y, z".
/// @param what  what the candidates are: "losses"
std::string name_hint(std::string_view name, const std::vector<std::string>& candidates, const std::string& what);

/// "a, b, c"
std::string joined(const std::vector<std::string>& names, const std::string& separator = ", ");

}  // namespace drift
