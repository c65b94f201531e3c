#pragma once

#include <string_view>

namespace drift {

/// Whether the text is the pattern, in which * stands for any characters, none included.
bool matches_wildcards(std::string_view text, std::string_view pattern);

}  // namespace drift
