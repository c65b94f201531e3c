#include <core/base/wildcards.h>

#include <cstddef>

namespace drift {

bool matches_wildcards(std::string_view text, std::string_view pattern) {
  std::size_t at = 0, in_pattern = 0, star = std::string_view::npos, taken = 0;  // taken: by the last star
  while (at < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      taken = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == text[at]) {
      ++in_pattern, ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

}  // namespace drift
