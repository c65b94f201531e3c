#pragma once

#include <string>
#include <string_view>

namespace drift::code {

/// How to treat a block that is never closed.
enum class Unclosed { kStrict, kLenient };

struct Extraction {
  bool found = false;
  std::string code;
  std::string rule;  ///< for the user: where the code comes from, or why there is none
};

/// The code in a response. A block begins with a line of ``` and `python`, `py` or `python3`, and ends with a line of
/// ```.
/// @param prefix  the text before the response. If it opens a block, the response continues that block, unless
///                it has a complete block of its own that defines what the tests call.
/// @param tests   text in which the names of tested functions occur; empty: any name counts
Extraction extract_code(std::string_view response, std::string_view prefix, std::string_view tests, Unclosed unclosed);

/// What of `prefix` is code: all after the line that opens its last block; nothing if that is closed or there is none.
struct PrefixCode {
  bool open = false;
  std::string_view code;
};
PrefixCode code_of_prefix(std::string_view prefix);

}  // namespace drift::code
