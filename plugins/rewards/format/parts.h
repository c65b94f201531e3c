#pragma once

#include <string_view>

namespace drift::format {

inline constexpr std::string_view kSpaces = " \t\r\n\v\f";

/// What a look at a response says, in words: "the last \boxed{} is not closed".
struct Finding {
  double value = 0;  ///< in [0, 1]
  std::string_view reason;
};

/// 1 if the last \boxed{} or \fbox{} is closed; braces after a backslash do not count. Linear in the response, as all
/// of these.
Finding find_box(std::string_view response);

/// 1 if the last <answer> is closed; in any case.
Finding find_answer_tags(std::string_view response);

/// 1 if there is a block of Python and the last one is closed. It begins with a line of ```python (or py, python3, in
/// any case) and ends with a line of ```.
Finding find_code_block(std::string_view response);

}  // namespace drift::format
