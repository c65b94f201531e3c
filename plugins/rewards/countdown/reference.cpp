#include "reference.h"

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace countdown {
namespace {

using Json = nlohmann::json;

bool is_integer(const Json& value) { return value.is_number_integer(); }

std::optional<Reference> parse_puzzle(const Json& json) {
  if (!json.is_object() || !json.contains("target") || !is_integer(json["target"])) return std::nullopt;
  const Json numbers = json.value(json.contains("numbers") ? "numbers" : "nums", Json());
  if (!numbers.is_array() || numbers.empty()) return std::nullopt;
  if (!std::all_of(numbers.begin(), numbers.end(), is_integer)) return std::nullopt;
  return Reference{numbers.get<std::multiset<std::int64_t>>(), json["target"].get<std::int64_t>()};
}

}  // namespace

Reference parse_reference(const drift::TaskItem* item) {
  auto json = Json::parse(item == nullptr ? "" : item->reference, nullptr, false);
  if (json.is_object() && json.contains("ground_truth_answer")) json = Json(json["ground_truth_answer"]);
  if (auto reference = parse_puzzle(json)) return *reference;
  const bool is_bare = json.is_number() || json.is_string() || (json.is_object() && json.contains("target"));
  throw drift::Error("cannot read the reference of " + (item == nullptr ? "no item" : "item " + item->id) +
                         (is_bare ? ": it has a target without numbers, and to repeat the target would be right" : ""),
                     R"(it must hold the numbers, too: {"numbers": [3, 7, 12], "target": 24})");
}

}  // namespace countdown
