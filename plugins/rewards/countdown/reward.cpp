#include "reward.h"

#include <drift/error.h>

#include <boost/algorithm/string/find.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace countdown {
namespace {

using drift::RewardResult;
using drift::RewardStatus;

// What the answer's form alone is worth where partial credit is given, as in d1.
constexpr double kPartial = 0.1;

struct Reference {
  std::multiset<std::int64_t> numbers;
  std::int64_t target = 0;
};

Reference parse_reference(const drift::TaskItem* item) {
  const auto json = nlohmann::json::parse(item == nullptr ? "" : item->reference, nullptr, false);
  const auto is_integer = [](const nlohmann::json& value) { return value.is_number_integer(); };
  const bool fits = json.is_object() && json.contains("target") && is_integer(json["target"]) &&
                    json.contains("numbers") && json["numbers"].is_array() && !json["numbers"].empty() &&
                    std::all_of(json["numbers"].begin(), json["numbers"].end(), is_integer);
  if (!fits) {
    const std::string name = item == nullptr ? "no item" : "item " + item->id;
    throw drift::Error("reward `countdown` cannot read the reference of " + name,
                       R"(it must hold the numbers, too: {"numbers": [3, 7, 12], "target": 24})");
  }
  return {json["numbers"].get<std::multiset<std::int64_t>>(), json["target"].get<std::int64_t>()};
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

}  // namespace

drift::ParamSpecs CountdownReward::parameters() {
  using drift::one_of;
  return {{"answer", "raw", "raw: the response is the expression; tags: the last <answer> block holds it",
           one_of({"raw", "tags"})},
          {"use", "at_most_once", "how often each number may stand in the expression",
           one_of({"at_most_once", "exactly_once"})},
          {"intermediates", "any", "values that the steps of the calculation may have",
           one_of({"any", "positive_integer"})},
          {"score", "exact", "exact: 1 for a solution, else 0; partial: 0.1 for any other answer, as d1 pays",
           one_of({"exact", "partial"})}};
}

CountdownReward::CountdownReward(const drift::Params& params)
    : tags_(params.get<std::string>("answer") == "tags"),
      all_numbers_(params.get<std::string>("use") == "exactly_once"),
      partial_(params.get<std::string>("score") == "partial"),
      intermediates_(params.get<std::string>("intermediates") == "any" ? Intermediates::kAny
                                                                       : Intermediates::kPositiveInteger) {}

void CountdownReward::score(const drift::RewardRequest& request, RewardResult& result) const {
  const Reference reference = parse_reference(request.item);
  result = {};
  const auto answer = find_answer(request.response, result);
  if (!answer) return;
  try {
    result.reason = fault(evaluate(*answer, intermediates_), reference, all_numbers_);
    result.solved = result.reason.empty();
    result.status = result.solved ? RewardStatus::kOk : RewardStatus::kWrong;
    if (result.solved) result.reason = "solved";
  } catch (const Refusal& refusal) {
    result.status = refusal.status;
    result.reason = refusal.reason;
  }
  result.value = result.solved ? 1 : partial_ ? kPartial : 0;
}

std::optional<std::string_view> CountdownReward::find_answer(std::string_view response, RewardResult& result) const {
  const auto none = [&](const char* reason) {
    result.status = RewardStatus::kNoAnswer;
    result.reason = reason;
    return std::nullopt;
  };
  if (response.empty()) return none("the response is empty");
  if (!tags_) return response;
  const auto open = boost::algorithm::ifind_last(response, "<answer>");
  if (open.empty()) return none("the response has no <answer>");
  const std::string_view block(open.end(), response.end());
  const auto close = boost::algorithm::ifind_first(block, "</answer>");
  if (close.empty()) return none("the last <answer> is not closed");
  return std::string_view(block.begin(), close.begin());
}

}  // namespace countdown
