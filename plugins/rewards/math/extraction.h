#pragma once

#include <drift/reward.h>

#include <string>
#include <string_view>

namespace math_reward {

/// Which box is the answer where that is a matter of taste.
struct BoxOptions {
  /// A box that is opened after the last closed one and never closed: false: no answer, since the response was cut off
  /// and the closed box may be an intermediate result; true: the closed one counts.
  bool lenient = false;
  /// `\boxed{1}, \boxed{2}` is the list `1, 2`; otherwise the last box counts alone.
  bool join = false;
};

/// The answer that a response gives, or why it gives none.
struct Extracted {
  std::string answer;  ///< without white space around it and without a full stop at its end; empty if there is none
  drift::RewardStatus status = drift::RewardStatus::kOk;  ///< kOk if there is an answer
  std::string fault;                                      ///< for people; empty if there is an answer
  bool unclosed_last_box = false;                         ///< a box that is never closed follows the last closed one
};

/// The content of the last closed box. A box is `\boxed{…}` or `\fbox{…}`, white space allowed before the brace, or
/// `\boxed 5` with a number. Braces after a backslash do not count. Of nested boxes the outermost is the answer,
/// without the commands of the inner ones. Time and memory are linear in the response.
Extracted extract_box(std::string_view response, const BoxOptions& options);

/// The last closed <answer> block: the last box in it, or all of it if it has none.
Extracted extract_tags(std::string_view response, const BoxOptions& options);

/// The whole response.
Extracted extract_all(std::string_view response);

}  // namespace math_reward
