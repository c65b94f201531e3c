#include "comparison.h"
#include "extraction.h"
#include "rldf_release.h"

#include <math_answers.h>
#include <unicode/utf8.h>

#include <cstdint>
#include <utility>

namespace math_answers {
namespace {

/// An answer in a reason: one line, valid UTF-8, at most 80 characters.
std::string shown(std::string_view answer) {
  std::string text;
  const auto size = static_cast<std::int32_t>(answer.size());
  for (std::int32_t i = 0, characters = 0; i < size; ++characters) {
    if (characters == 80) return text + "...";
    const std::int32_t begin = i;
    UChar32 c = 0;
    U8_NEXT(answer.data(), i, size, c);
    if (c < 0) {
      text += '?';
    } else if (c < 0x20 || c == 0x7f) {
      text += ' ';
    } else {
      text += answer.substr(begin, i - begin);
    }
  }
  return text;
}

std::string boxed(std::string_view answer) { return "\\boxed{" + shown(answer) + "}"; }

}  // namespace

Verdict judge(std::string_view response, std::string_view truth, const Options& options) {
  Extracted extracted = extract(response, options);
  if (response.empty() && !compare_answers(truth, truth).truth_parsed) {
    return {Status::kUnreadable, "the truth cannot be read as mathematics: " + shown(truth)};
  }
  if (!extracted.fault.empty()) return {extracted.status, std::move(extracted.fault)};
  Comparison comparison = compare_answers(truth, extracted.answer, options);
  if (comparison.equal) {
    const bool in_box = options.where == Where::kBox;
    return {Status::kEqual, (in_box ? boxed(extracted.answer) : shown(extracted.answer)) + " equals " + shown(truth)};
  }
  return {comparison.prediction_parsed ? Status::kUnequal : Status::kUnreadable, std::move(comparison.reason)};
}

Verdict judge_as_rldf_release(std::string_view response, std::string_view truth) {
  const auto answer = rldf_release_boxed_answer(response);
  if (!answer) return {Status::kNoAnswer, "the original finds no closed \\boxed{...}"};
  const bool equal = rldf_release_equal(*answer, truth);
  return {equal ? Status::kEqual : Status::kUnequal,
          "to the original, " + boxed(*answer) + (equal ? " equals " : " is not ") + shown(truth)};
}

}  // namespace math_answers
