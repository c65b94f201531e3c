#pragma once

// Whether a response ends in the right answer to a mathematical problem:
//
//     using math_answers::judge;
//     const auto verdict = judge("The sum is $\\boxed{3/4}$.", "\\frac{6}{8}");
//     verdict.equal();                                             // true
//     verdict.reason;                                              // \boxed{3/4} equals \frac{6}{8}
//     judge("so \\boxed{x=3}", "y=3").reason;                      // x=3 is not y=3
//     judge("so x is 3", "3").status;                              // math_answers::Status::kNoAnswer
//
//     math_answers::Options options;
//     options.where = math_answers::Where::kWholeResponse;         // there is nothing but the answer
//     judge("7i - 2", "-2 + 7i", options).equal();                 // true
//
// What is read, and what equals what: README.md.

#include <string>
#include <string_view>

namespace math_answers {

/// Where the answer stands in a response.
enum class Where {
  kBox,           ///< the last \boxed{…} or \fbox{…}
  kTags,          ///< the last <answer>…</answer>: the box in it, or all of it if it has none
  kHash,          ///< the line behind the last ####: the box in it, or all of it if it has none
  kWholeResponse  ///< nothing stands around it
};

struct Options {
  Where where = Where::kBox;
  /// A box that is opened after the last closed one and never closed. False: no answer, since the response was cut off
  /// and the closed box may hold an intermediate result. True: the closed one counts.
  bool lenient_boxes = false;
  bool join_boxes = false;                ///< `\boxed{1}, \boxed{2}` is the list `1, 2`, not its last member
  bool lenient_percent = true;            ///< 10 is also accepted for 10\%, and 10\% for 10, not 0.5\% for 0.5
  int decimal_places = 6;                 ///< a decimal equals what rounds to the same so many places; -1: never
  bool interval_from_inequality = false;  ///< accept -2 < x < 7 where the truth is (-2, 7)
  bool vector_as_tuple = false;  ///< accept (1, 2) where the truth is a column or row of 1 and 2, and the reverse
};

enum class Status {
  kEqual,
  kUnequal,
  kUnreadable,  ///< the answer cannot be read as mathematics, and is not written as the truth is
  kNoAnswer     ///< no box, an empty one, one that is never closed
};

struct Verdict {
  Status status = Status::kUnequal;
  std::string reason;  ///< one line of valid UTF-8 for people

  bool equal() const { return status == Status::kEqual; }
};

/// Judge the answer that `response` gives. Both are written in LaTeX or plainly, in UTF-8. It is not symmetric: the
/// truth decides what kind of answer is wanted (an inequality may be answered by an interval, not the reverse). An
/// empty response is kUnreadable instead of kNoAnswer where the truth cannot be read: so a truth is checked.
///
/// Nothing is thrown, whatever the bytes. The same texts have the same verdict: it depends on no clock. Any number of
/// threads may call it; what FLINT keeps for a thread goes when the thread ends.
Verdict judge(std::string_view response, std::string_view truth, const Options& options = {});

/// `text` with its signs in ASCII, without those that cannot be seen: − as -, × as *, １２ as 12, （ as (. Those
/// without a sign of the same meaning there stay, and so do bytes that are no UTF-8.
std::string in_ascii(std::string_view text);

/// The verdict of rldf_release, the released program of the RLDF paper, with its mistakes: what it boxes, how it
/// compares texts. Never kUnreadable.
Verdict judge_as_rldf_release(std::string_view response, std::string_view truth);

}  // namespace math_answers
