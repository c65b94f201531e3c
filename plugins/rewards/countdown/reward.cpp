#include "reward.h"

#include <string>

#include "reference.h"

namespace countdown {
namespace {

using drift::RewardResult;
using drift::RewardStatus;

// What the answer's form alone is worth where partial credit is given, as in d1.
constexpr double kPartial = 0.1;

// Which rule the expression breaks; empty if it is a solution.
std::string fault(const Evaluation& found, const Reference& reference, bool all_numbers) {
  auto left = reference.numbers;
  for (const std::int64_t number : found.numbers) {
    const auto at = left.find(number);
    if (at == left.end()) {
      const bool is_given = reference.numbers.count(number) > 0;
      return std::to_string(number) + (is_given ? " is used more often than it is given" : " is not given");
    }
    left.erase(at);
  }
  if (all_numbers && !left.empty()) return std::to_string(*left.begin()) + " is not used";
  const std::string target = std::to_string(reference.target);
  if (found.value != reference.target) return "the value is " + found.value.str() + ", not " + target;
  if (found.claimed && *found.claimed != reference.target) {
    return "ends in = " + std::to_string(*found.claimed) + ", not = " + target;
  }
  return {};
}

}  // namespace

drift::ParamSpecs CountdownReward::parameters() {
  using drift::one_of;
  return {{"answer", "raw",
           "raw: the response is the expression; tags: the last <answer> block holds it; boxed: the last \\boxed{}",
           one_of({"raw", "tags", "boxed"})},
          {"unclosed", "strict",
           "with boxed: strict: no answer if a later box is not closed; lenient: the last closed one counts",
           one_of({"strict", "lenient"})},
          {"use", "at_most_once", "how often each number may stand in the expression",
           one_of({"at_most_once", "exactly_once"})},
          {"intermediates", "any", "values that the steps of the calculation may have",
           one_of({"any", "positive_integer"})},
          {"score", "exact", "exact: 1 for a solution, else 0; partial: 0.1 for any other answer, as d1 pays",
           one_of({"exact", "partial"})}};
}

CountdownReward::CountdownReward(const drift::Params& params)
    : lenient_(params.get<std::string>("unclosed") == "lenient"),
      all_numbers_(params.get<std::string>("use") == "exactly_once"),
      partial_(params.get<std::string>("score") == "partial"),
      intermediates_(params.get<std::string>("intermediates") == "any" ? Intermediates::kAny
                                                                       : Intermediates::kPositiveInteger) {
  const auto answer = params.get<std::string>("answer");
  form_ = answer == "tags" ? AnswerForm::kTags : answer == "boxed" ? AnswerForm::kBoxed : AnswerForm::kRaw;
}

void CountdownReward::score(const drift::RewardRequest& request, RewardResult& result) const {
  const Reference reference = parse_reference(request.item);
  result = {};
  const auto answer = find_answer(request.response, form_, lenient_, result);
  if (!answer) return;
  try {
    const Evaluation found = evaluate(*answer, intermediates_);
    result.reason = fault(found, reference, all_numbers_);
    result.solved = result.reason.empty();
    result.status = result.solved ? RewardStatus::kOk : RewardStatus::kWrong;
    if (result.solved) result.reason = found.odd_step.empty() ? "solved" : "solved, but " + found.odd_step;
  } catch (const Refusal& refusal) {
    result.status = refusal.status;
    result.reason = refusal.reason;
  }
  result.value = result.solved ? 1 : partial_ ? kPartial : 0;
}

}  // namespace countdown
