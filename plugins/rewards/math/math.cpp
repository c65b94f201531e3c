#include <drift/error.h>
#include <drift/plugin.h>
#include <drift/reward.h>

#include <boost/algorithm/string/trim.hpp>
#include <math_answers.h>
#include <nlohmann/json.hpp>

#include <locale>
#include <string>

namespace {

using math_answers::Status;
using math_answers::Where;

constexpr drift::Choices<Where, 3> kPlaces{
    {{"boxed", Where::kBox}, {"tags", Where::kTags}, {"raw", Where::kWholeResponse}}};
constexpr drift::Choices<bool, 2> kStrictness{{{"strict", false}, {"lenient", true}}};
constexpr drift::Choices<bool, 2> kLegacy{{{"none", false}, {"rldf_release", true}}};

[[noreturn]] void refuse(const drift::TaskItem& item, const std::string& what, const std::string& hint) {
  throw drift::Error("reward `math`: the reference of item " + item.id + " " + what, hint);
}

using Json = nlohmann::json;

/// Builds a value in which a number is the text that it is written as, where it is no integer of 64 bits: a double does
/// not have all its digits.
class ExactNumbers : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  explicit ExactNumbers(Json& value) : json_sax_dom_parser(value, /*allow_exceptions=*/false) {}
  bool number_float(double, const std::string& written) {
    std::string text = written;
    return string(text);
  }
};

/// The field of a record that holds the answer; the reference itself where it is no record.
std::string answer_field(const drift::TaskItem& item, const std::string& reference) {
  if (!reference.starts_with('{')) return reference;
  Json record;
  ExactNumbers builder(record);
  if (!Json::sax_parse(reference, &builder) || !record.is_object()) return reference;
  for (const char* field : {"ground_truth_answer", "answer"}) {
    const auto found = record.find(field);
    if (found == record.end()) continue;
    if (found->is_string()) return found->get<std::string>();
    if (found->is_number()) return found->dump();
    refuse(item, std::string("has a `") + field + "` that is neither text nor a number",
           R"(write the answer as text: {"ground_truth_answer": "\\frac{3}{4}"})");
  }
  refuse(item, "has neither `ground_truth_answer` nor `answer`",
         R"(it is the answer itself, or a record such as {"ground_truth_answer": "18"})");
}

/// The truth that an item's reference holds; of a worked solution that ends in `#### 18` what follows the last `####`.
std::string truth_of(const drift::TaskItem* item) {
  if (item == nullptr) throw drift::Error("reward `math` was asked to judge a response without an item");
  const std::string reference = boost::algorithm::trim_copy(item->reference, std::locale::classic());
  std::string truth = answer_field(*item, reference);
  constexpr std::string_view mark = "####";
  if (const std::size_t last = truth.rfind(mark); last != std::string::npos) truth.erase(0, last + mark.size());
  boost::algorithm::trim(truth, std::locale::classic());
  if (truth.empty()) {
    refuse(*item, "is empty", "leave the item out, or write its answer: nothing can equal an empty one");
  }
  return truth;
}

drift::RewardStatus status_of(Status status) {
  switch (status) {
    case Status::kEqual: return drift::RewardStatus::kOk;
    case Status::kUnequal: return drift::RewardStatus::kWrong;
    case Status::kUnreadable: return drift::RewardStatus::kParseError;
    case Status::kNoAnswer: break;
  }
  return drift::RewardStatus::kNoAnswer;
}

/// Judges the final answer of a response: 1 if it means the same as the reference, else 0.
class MathReward final : public drift::Reward {
 public:
  explicit MathReward(drift::Parameters& parameters) {
    options_.where = parameters("extraction", kPlaces, Where::kBox,
                                "where the answer is: the last box, the last <answer> block, or the whole response");
    options_.lenient_boxes =
        parameters("unclosed", kStrictness, false,
                   "strict: no answer if a box is never closed after the last closed one; lenient: that one");
    options_.join_boxes =
        parameters("join_boxes", false, "\\boxed{1}, \\boxed{2} is the list 1, 2 instead of its last member");
    options_.lenient_percent =
        parameters("percent", kStrictness, true, "lenient: 10 also equals 10%, beside 0.1; strict: only 0.1 does");
    options_.decimal_places = static_cast<int>(parameters(
        "decimal_places", 6, "a decimal equals what rounds to the same so many places; -1: only what it is exactly",
        drift::between(-1, 100)));
    options_.interval_from_inequality = parameters(
        "interval_from_inequality", false, "2 < x < 5 equals the interval (2, 5) where the truth is the interval");
    options_.vector_as_tuple = parameters("vector_as_tuple", false, "(1, 2) equals the row or column of 1 and 2");
    legacy_ = parameters("legacy", kLegacy, false,
                         "rldf_release: extract and compare as the RLDF paper's released program does; nothing above "
                         "counts");
  }

  /// @throws drift::Error if the item has no answer to compare with. Any response is judged.
  void score(const drift::RewardRequest& request, drift::RewardResult& result) const override {
    const std::string truth = truth_of(request.item);
    const auto verdict = legacy_ ? math_answers::judge_as_rldf_release(request.response, truth)
                                 : math_answers::judge(request.response, truth, options_);
    result = {};
    result.solved = verdict.equal();
    result.value = result.solved ? 1 : 0;
    result.status = status_of(verdict.status);
    result.reason = verdict.reason;
  }

 private:
  math_answers::Options options_;
  bool legacy_ = false;  // judge as rldf_release
};

}  // namespace

DRIFT_PLUGIN("math", "1.0.0", "Apache-2.0") {
  registry.add<MathReward>("math", "Compares the final answer of a response with the truth as mathematics.");
}
