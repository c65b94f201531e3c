#pragma once

#include <drift/nearest.h>

#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// "did you mean `x`?"; empty if no candidate is near enough.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// The hint of an error about a name that is not known: "did you mean `x`?", then "losses: x, y, z".
/// @param what  what the candidates are: "losses"
std::string name_hint(std::string_view name, const std::vector<std::string>& candidates, const std::string& what);

/// "a, b, c"
std::string joined(const std::vector<std::string>& names, const std::string& separator = ", ");

}  // namespace drift
