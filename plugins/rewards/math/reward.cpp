#include "reward.h"

#include <unicode/utf8.h>

#include "legacy.h"
#include "reference.h"

namespace math_reward {
namespace {

using drift::RewardResult;
using drift::RewardStatus;

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

void decide(RewardResult& result, RewardStatus status, std::string reason) {
  result.solved = status == RewardStatus::kOk;
  result.value = result.solved ? 1 : 0;
  result.status = status;
  result.reason = std::move(reason);
}

}  // namespace

drift::ParamSpecs MathReward::parameters() {
  using drift::one_of;
  return {
      {"extraction", "boxed", "where the answer is: the last box, the last <answer> block, or the whole response",
       one_of({"boxed", "tags", "raw"})},
      {"unclosed", "strict", "strict: no answer if a box is never closed after the last closed one; lenient: that one",
       one_of({"strict", "lenient"})},
      {"join_boxes", false, "\\boxed{1}, \\boxed{2} is the list 1, 2 instead of its last member"},
      {"percent", "lenient", "lenient: 10 also equals 10%, beside 0.1; strict: only 0.1 does",
       one_of({"lenient", "strict"})},
      {"decimal_places", 6, "a decimal equals what rounds to the same so many places; -1: only what it is exactly",
       drift::between(-1, 100)},
      {"interval_from_inequality", false, "2 < x < 5 equals the interval (2, 5) where the truth is the interval"},
      {"vector_as_tuple", false, "(1, 2) equals the row or column of 1 and 2"},
      {"legacy", "none",
       "rldf_release: extract and compare as the RLDF paper's released program does; nothing above counts",
       one_of({"none", "rldf_release"})}};
}

MathReward::MathReward(const drift::Params& params) : legacy_(params.get<std::string>("legacy") == "rldf_release") {
  const auto extraction = params.get<std::string>("extraction");
  extraction_ = extraction == "boxed"  ? Extraction::kBoxed
                : extraction == "tags" ? Extraction::kTags
                                       : Extraction::kRaw;
  boxes_.lenient = params.get<std::string>("unclosed") == "lenient";
  boxes_.join = params.get<bool>("join_boxes");
  equivalence_.lenient_percent = params.get<std::string>("percent") == "lenient";
  equivalence_.decimal_places = static_cast<int>(params.get<std::int64_t>("decimal_places"));
  equivalence_.interval_from_inequality = params.get<bool>("interval_from_inequality");
  equivalence_.vector_as_tuple = params.get<bool>("vector_as_tuple");
}

Extracted MathReward::extract(std::string_view response) const {
  switch (extraction_) {
    case Extraction::kBoxed: return extract_box(response, boxes_);
    case Extraction::kTags: return extract_tags(response, boxes_);
    case Extraction::kRaw: break;
  }
  return extract_all(response);
}

void MathReward::score(const drift::RewardRequest& request, RewardResult& result) const {
  result = {};
  const std::string truth = truth_of(request.item);
  if (legacy_) return judge_as_rldf_release(request.response, truth, result);
  const Extracted extracted = extract(request.response);
  if (extracted.status != RewardStatus::kOk) return decide(result, extracted.status, extracted.fault);
  Comparison comparison = compare_answers(truth, extracted.answer, equivalence_);
  if (comparison.equal) {
    const bool in_box = extraction_ == Extraction::kBoxed;
    const std::string answer = in_box ? boxed(extracted.answer) : shown(extracted.answer);
    return decide(result, RewardStatus::kOk, answer + " equals " + shown(truth));
  }
  decide(result, comparison.prediction_parsed ? RewardStatus::kWrong : RewardStatus::kParseError,
         std::move(comparison.reason));
}

void MathReward::judge_as_rldf_release(std::string_view response, const std::string& truth,
                                       RewardResult& result) const {
  const auto answer = rldf_release_boxed_answer(response);
  if (!answer) return decide(result, RewardStatus::kNoAnswer, "the original finds no closed \\boxed{...}");
  const bool equal = rldf_release_equal(*answer, truth);
  decide(result, equal ? RewardStatus::kOk : RewardStatus::kWrong,
         "to the original, " + boxed(*answer) + (equal ? " equals " : " is not ") + shown(truth));
}

}  // namespace math_reward
