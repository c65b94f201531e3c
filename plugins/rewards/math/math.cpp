#include <drift/error.h>
#include <drift/plugin.h>
#include <drift/reward.h>

#include <boost/algorithm/string/join.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <math_answers.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <locale>
#include <string>
#include <vector>

namespace {

using math_answers::Status;
using math_answers::Where;

constexpr drift::Choices<Where, 4> kPlaces{
    {{"boxed", Where::kBox}, {"tags", Where::kTags}, {"hash", Where::kHash}, {"raw", Where::kWholeResponse}}};
constexpr drift::Choices<bool, 2> kStrictness{{{"strict", false}, {"lenient", true}}};
/// What a list of truths asks for.
enum class Truths { kOne, kAll, kAny };
constexpr drift::Choices<Truths, 3> kTruths{{{"one", Truths::kOne}, {"all", Truths::kAll}, {"any", Truths::kAny}}};
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

/// Whether a reference is a list of texts. [3, 4] is an interval.
bool is_list_of_texts(const Json& value) {
  return value.is_array() && std::ranges::any_of(value, [](const Json& one) { return one.is_string(); });
}

/// What of a reference holds the answer: a field of a record, a list of texts, else the reference itself.
Json answer_field(const drift::TaskItem& item, const std::string& reference) {
  if (!reference.starts_with('{') && !reference.starts_with('[')) return reference;
  Json record;
  ExactNumbers builder(record);
  if (!Json::sax_parse(reference, &builder)) return reference;
  if (is_list_of_texts(record)) return record;
  if (!record.is_object()) return reference;
  for (const char* field : {"ground_truth_answer", "answer"}) {
    if (const auto found = record.find(field); found != record.end()) return *found;
  }
  refuse(item, "has neither `ground_truth_answer` nor `answer`",
         R"(it is the answer itself, or a record such as {"ground_truth_answer": "18"})");
}

/// A truth; of a worked solution that ends in `#### 18` what follows the last `####`.
std::string truth_in(const drift::TaskItem& item, const Json& answer) {
  if (!answer.is_string() && !answer.is_number()) {
    refuse(item, "holds an answer that is neither text nor a number",
           R"(write the answer as text: {"ground_truth_answer": "\\frac{3}{4}"})");
  }
  std::string truth = answer.is_string() ? answer.get<std::string>() : answer.dump();
  constexpr std::string_view mark = "####";
  if (const std::size_t last = truth.rfind(mark); last != std::string::npos) truth.erase(0, last + mark.size());
  boost::algorithm::trim(truth, std::locale::classic());
  if (truth.empty()) {
    refuse(item, "is empty", "leave the item out, or write its answer: nothing can equal an empty one");
  }
  return truth;
}

/// The truths of which an answer must equal one.
std::vector<std::string> truths_of(const drift::TaskItem* item, Truths wanted) {
  if (item == nullptr) throw drift::Error("reward `math` was asked to judge a response without an item");
  const Json answer = answer_field(*item, boost::algorithm::trim_copy(item->reference, std::locale::classic()));
  if (!answer.is_array()) return {truth_in(*item, answer)};
  std::vector<std::string> truths;
  for (const Json& one : answer) truths.push_back(truth_in(*item, one));
  if (truths.empty() || (truths.size() > 1 && wanted == Truths::kOne)) {
    refuse(*item, "is a list of " + std::to_string(truths.size()) + " answers",
           "write one, or truths = \"all\": the answer is the list of them; truths = \"any\": one of them is enough");
  }
  if (wanted == Truths::kAll) return {boost::algorithm::join(truths, ", ")};
  return truths;
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
                                "where the answer is: the last box, the last <answer> block, the line behind the last "
                                "####, or the whole response");
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
    truths_ = parameters("truths", kTruths, Truths::kOne,
                         "a list of several truths: one: an error; all: the answer is the list of them; any: one of "
                         "them is enough");
    legacy_ = parameters("legacy", kLegacy, false,
                         "rldf_release: extract and compare as the RLDF paper's released program does; nothing above "
                         "counts");
  }

  /// @throws drift::Error if the item has no answer to compare with. Any response is judged. An empty one, for a truth
  /// that cannot be read, is a parse error instead of no answer.
  void score(const drift::RewardRequest& request, drift::RewardResult& result) const override {
    const auto truths = truths_of(request.item, truths_);
    math_answers::Verdict verdict;
    for (const std::string& truth : truths) {
      verdict = legacy_ ? math_answers::judge_as_rldf_release(request.response, truth)
                        : math_answers::judge(request.response, truth, options_);
      if (verdict.equal() || (request.response.empty() && verdict.status == Status::kUnreadable)) break;
    }
    result = {};
    result.solved = verdict.equal();
    result.value = result.solved ? 1 : 0;
    result.status = status_of(verdict.status);
    result.reason = verdict.reason;
  }

 private:
  math_answers::Options options_;
  Truths truths_ = Truths::kOne;
  bool legacy_ = false;  // judge as rldf_release
};

}  // namespace

DRIFT_PLUGIN("math", "1.0.0", "Apache-2.0") {
  registry.add<MathReward>("math", "Compares the final answer of a response with the truth as mathematics.");
}
