#pragma once

// Where a response holds its answer, for rewards:
//
//     const drift::MarkedAnswer box = drift::last_box(request.response);
//     if (!box.closed) { /* there is none (!box.opened), or the response was cut off */ }
//     judge(*box.content);

#include <drift/export.h>

#include <optional>
#include <string_view>

namespace drift {

/// What stands between two marks of a response.
struct MarkedAnswer {
  bool opened = false;                      ///< the opening mark is there
  bool closed = false;                      ///< and so is the closing one of the last
  std::optional<std::string_view> content;  ///< of the last that is closed; part of the response
};

/// The last `\boxed{}` or `\fbox{}`; of nested ones the outermost. White space may stand before the brace, and braces
/// behind a backslash do not count. Linear in the response.
DRIFT_API MarkedAnswer last_box(std::string_view response);

/// The last `<answer>` block, its tags in upper or lower case. Where it is not closed, its content goes on to the end.
/// Linear in the response.
DRIFT_API MarkedAnswer last_answer_block(std::string_view response);

}  // namespace drift
