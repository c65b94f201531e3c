#include "reference.h"

#include <drift/error.h>

#include <boost/algorithm/string/trim.hpp>
#include <nlohmann/json.hpp>

#include <locale>

namespace math_reward {
namespace {

[[noreturn]] void refuse(const drift::TaskItem& item, const std::string& what, const std::string& hint) {
  throw drift::Error("reward `math`: the reference of item " + item.id + " " + what, hint);
}

/// The field of a record that holds the answer; the reference itself where it is no record.
std::string answer_field(const drift::TaskItem& item, const std::string& reference) {
  if (!reference.starts_with('{')) return reference;
  const auto record = nlohmann::json::parse(reference, nullptr, false);
  if (!record.is_object()) return reference;
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

}  // namespace

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

}  // namespace math_reward
