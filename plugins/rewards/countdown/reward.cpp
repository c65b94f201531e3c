#include "expression.h"

#include <drift/answers.h>
#include <drift/error.h>
#include <drift/plugin.h>
#include <drift/reward.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace drift::countdown {
namespace {

using Json = nlohmann::json;

// What the answer's form alone is worth where partial credit is given, as in d1.
constexpr double kPartial = 0.1;

struct Reference {
  std::multiset<std::int64_t> numbers;
  std::int64_t target = 0;
};

std::optional<Reference> parse_puzzle(const Json& json) {
  const auto is_integer = [](const Json& value) { return value.is_number_integer(); };
  if (!json.is_object() || !json.contains("target") || !is_integer(json["target"])) return std::nullopt;
  const Json numbers = json.value(json.contains("numbers") ? "numbers" : "nums", Json());
  if (!numbers.is_array() || numbers.empty()) return std::nullopt;
  if (!std::all_of(numbers.begin(), numbers.end(), is_integer)) return std::nullopt;
  return Reference{numbers.get<std::multiset<std::int64_t>>(), json["target"].get<std::int64_t>()};
}

// The puzzle of an item: {"numbers": [3, 7, 12], "target": 24}, by itself or as a record's `ground_truth_answer`; a
// published data set says `nums`.
Reference parse_reference(const TaskItem* item) {
  auto json = Json::parse(item == nullptr ? "" : item->reference, nullptr, false);
  if (json.is_object() && json.contains("ground_truth_answer")) json = Json(json["ground_truth_answer"]);
  if (auto reference = parse_puzzle(json)) return *reference;
  const bool is_bare = json.is_number() || json.is_string() || (json.is_object() && json.contains("target"));
  throw Error("cannot read the reference of " + (item == nullptr ? "no item" : "item " + item->id) +
                  (is_bare ? ": it has a target without numbers, and to repeat the target would be right" : ""),
              R"(it must hold the numbers, too: {"numbers": [3, 7, 12], "target": 24})");
}

// Where a response holds its expression.
enum class AnswerForm { kRaw, kTags, kBoxed };
constexpr Choices<AnswerForm, 3> kForms{
    {{"raw", AnswerForm::kRaw}, {"tags", AnswerForm::kTags}, {"boxed", AnswerForm::kBoxed}}};

// The expression in `response`. A last box that is not closed hides the closed ones before it unless `lenient`.
std::string_view find_answer(std::string_view response, AnswerForm form, bool lenient) {
  const auto none = [](const char* reason) { return Refusal{RewardStatus::kNoAnswer, reason}; };
  if (response.empty()) throw none("the response is empty");
  if (form == AnswerForm::kRaw) return response;
  if (form == AnswerForm::kTags) {
    const MarkedAnswer block = last_answer_block(response);
    if (!block.opened) throw none("the response has no <answer>");
    if (!block.closed) throw none("the last <answer> is not closed");
    return *block.content;
  }
  const MarkedAnswer box = last_box(response);
  if (!box.opened) throw none("the response has no \\boxed{}");
  if (!box.content || !(box.closed || lenient)) throw none("the last \\boxed{} is not closed");
  return *box.content;
}

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

/// Judges an arithmetic expression that a response holds.
class CountdownReward final : public Reward {
 public:
  explicit CountdownReward(Parameters& parameters)
      : form_(parameters(
            "answer", kForms, AnswerForm::kRaw,
            "raw: the response is the expression; tags: the last <answer> block holds it; boxed: the last \\boxed{}")),
        lenient_(parameters("unclosed", "strict",
                            "with boxed: strict: no answer if a later box is not closed; lenient: the last closed one "
                            "counts",
                            one_of({"strict", "lenient"})) == "lenient"),
        all_numbers_(parameters("use", "at_most_once", "how often each number may stand in the expression",
                                one_of({"at_most_once", "exactly_once"})) == "exactly_once"),
        intermediates_(parameters("intermediates", kIntermediates, Intermediates::kAny,
                                  "values that the steps of the calculation may have")),
        partial_(parameters("score", "exact",
                            "exact: 1 for a solution, else 0; partial: 0.1 for any other answer, as "
                            "d1 pays",
                            one_of({"exact", "partial"})) == "partial") {}

  /// @throws Error if the item's reference is not a Countdown puzzle. Any response is judged.
  void score(const RewardRequest& request, RewardResult& result) const override {
    const Reference reference = parse_reference(request.item);
    result = {};
    try {
      const Evaluation found = evaluate(find_answer(request.response, form_, lenient_), intermediates_);
      result.reason = fault(found, reference, all_numbers_);
      result.solved = result.reason.empty();
      result.status = result.solved ? RewardStatus::kOk : RewardStatus::kWrong;
      if (result.solved) result.reason = found.odd_step.empty() ? "solved" : "solved, but " + found.odd_step;
    } catch (const Refusal& refusal) {
      result.status = refusal.status;
      result.reason = refusal.reason;
    }
    const bool is_answered = result.status != RewardStatus::kNoAnswer;
    result.value = result.solved ? 1 : partial_ && is_answered ? kPartial : 0;
  }

 private:
  AnswerForm form_;
  bool lenient_;
  bool all_numbers_;
  Intermediates intermediates_;
  bool partial_;
};

}  // namespace
}  // namespace drift::countdown

DRIFT_PLUGIN("countdown", "1.0.0", "Apache-2.0") {
  registry.add<drift::countdown::CountdownReward>(
      "countdown", "Judges an arithmetic expression by exact calculation: value and numbers.");
}
