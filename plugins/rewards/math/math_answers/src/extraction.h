#pragma once

#include <math_answers.h>

#include <string>
#include <string_view>

namespace math_answers {

/// The answer that a response gives, or why it gives none.
struct Extracted {
  std::string answer;  ///< without white space around it and without a full stop at its end; empty if there is none
  std::string fault;   ///< for people; empty if there is an answer
  Status status = Status::kNoAnswer;  ///< if there is no answer: kNoAnswer or kUnreadable
};

/// A box is `\boxed{…}` or `\fbox{…}`, white space allowed before the brace, or `\boxed 5` with a number. Braces after
/// a backslash do not count. Of nested boxes the outermost is the answer, without the commands of the inner ones. Time
/// and memory are linear in the response.
Extracted extract(std::string_view response, const Options& options);

}  // namespace math_answers
