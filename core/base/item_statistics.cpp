#include <core/base/item_statistics.h>
#include <core/base/question_key.h>

#include <unicode/utf8.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <unordered_set>

namespace drift {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !U8_IS_TRAIL(c); });
}

/// The smallest of 1, 2, 5, 10, 20, 50, … that is at least `width`.
std::int64_t round_width(std::int64_t width) {
  for (std::int64_t power = 1;; power *= 10) {
    for (const std::int64_t step : {1, 2, 5}) {
      if (step * power >= width) return step * power;
    }
  }
}

/// Digits, perhaps with commas between thousands.
bool is_natural(std::string_view text) {
  return !text.empty() && is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == ','; });
}

}  // namespace

Spread Spread::of(std::vector<std::int64_t> values, std::size_t most_bins) {
  Spread spread;
  spread.count = static_cast<std::int64_t>(values.size());
  if (values.empty()) return spread;
  std::sort(values.begin(), values.end());
  const auto percentile = [&](std::size_t percent) { return values[(values.size() * percent + 99) / 100 - 1]; };
  spread.minimum = values.front();
  spread.maximum = values.back();
  spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  spread.p5 = percentile(5);
  spread.median = percentile(50);
  spread.p95 = percentile(95);
  const std::int64_t range = spread.maximum - spread.minimum + 1, most = static_cast<std::int64_t>(most_bins);
  spread.bin_width = round_width((range + most - 1) / most);
  spread.first_bin = spread.minimum / spread.bin_width * spread.bin_width;
  spread.bins.resize(static_cast<std::size_t>((spread.maximum - spread.first_bin) / spread.bin_width + 1));
  for (const std::int64_t value : values) {
    ++spread.bins[static_cast<std::size_t>((value - spread.first_bin) / spread.bin_width)];
  }
  return spread;
}

ItemStatistics item_statistics(const std::vector<TaskItem>& items, const CountTokens& count_tokens) {
  ItemStatistics statistics;
  std::vector<std::int64_t> questions, references, tokens;
  std::unordered_set<std::string> seen;
  for (const TaskItem& item : items) {
    questions.push_back(count_characters(item.prompt));
    references.push_back(count_characters(item.reference));
    if (count_tokens) tokens.push_back(count_tokens(item));
    statistics.with_response_prefix += !item.response_prefix.empty();
    statistics.with_demonstration += !item.demonstration.empty();
    statistics.repeated_questions += !seen.insert(question_key(item.prompt)).second;
    ++statistics.answer_shapes[answer_shape(item.reference)];
  }
  statistics.items = static_cast<std::int64_t>(items.size());
  statistics.question_characters = Spread::of(std::move(questions));
  statistics.reference_characters = Spread::of(std::move(references));
  if (count_tokens) statistics.prompt_tokens = Spread::of(std::move(tokens));
  return statistics;
}

std::string answer_shape(std::string_view reference) {
  while (!reference.empty() && is_space(reference.front())) reference.remove_prefix(1);
  while (!reference.empty() && is_space(reference.back())) reference.remove_suffix(1);
  if (reference.empty()) return "empty";
  if (reference.front() == '{' && nlohmann::json::accept(reference)) return "JSON";
  std::string_view digits = reference;
  if (digits.front() == '-') digits.remove_prefix(1);
  if (is_natural(digits)) return "integer";
  const std::size_t point = digits.find_first_of("./");
  if (point != std::string_view::npos && is_natural(digits.substr(point + 1)) &&
      (is_natural(digits.substr(0, point)) || point == 0)) {
    return digits[point] == '.' ? "decimal" : "fraction";
  }
  if (reference.find_first_of("\\^$_") != std::string_view::npos) return "LaTeX";
  if (reference.find(',') != std::string_view::npos && reference.find_first_of("([") != std::string_view::npos)
    return "list";
  return count_characters(reference) == 1 ? "letter" : "text";
}

std::int64_t shared_questions(const std::vector<TaskItem>& items, const std::vector<TaskItem>& others) {
  std::unordered_set<std::string> keys;
  for (const TaskItem& other : others) keys.insert(question_key(other.prompt));
  return std::count_if(items.begin(), items.end(),
                       [&](const TaskItem& item) { return keys.contains(question_key(item.prompt)); });
}

}  // namespace drift
