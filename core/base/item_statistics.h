#pragma once

#include <drift/task.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// The distribution of some integers.
struct Spread {
  std::int64_t count = 0;
  std::int64_t minimum = 0, maximum = 0;
  double mean = 0;
  std::int64_t p5 = 0, median = 0, p95 = 0;  ///< the smallest value that so many per cent do not exceed
  /// Equally wide bins from `first_bin` on.
  std::int64_t first_bin = 0, bin_width = 1;
  std::vector<std::int64_t> bins;

  /// All zeros without values. At most `most_bins` bins, of a round width.
  static Spread of(std::vector<std::int64_t> values, std::size_t most_bins = 10);
};

/// What some items look like. Characters are code points.
struct ItemStatistics {
  std::int64_t items = 0;
  Spread question_characters, reference_characters;
  std::optional<Spread> prompt_tokens;  ///< of the whole prompt, if it can be counted
  std::int64_t with_response_prefix = 0, with_demonstration = 0;
  std::int64_t repeated_questions = 0;                ///< items whose question an earlier one has
  std::map<std::string, std::int64_t> answer_shapes;  ///< answer_shape() of the references
};

/// Tokens of an item's complete prompt; empty: they cannot be counted.
using CountTokens = std::function<std::int64_t(const TaskItem& item)>;

ItemStatistics item_statistics(const std::vector<TaskItem>& items, const CountTokens& count_tokens);

/// "integer", "decimal", "fraction", "list", "LaTeX", "letter", "text", "JSON" (an object) or "empty".
std::string answer_shape(std::string_view reference);

/// How many of `items` ask a question of `others`, by question_key().
std::int64_t shared_questions(const std::vector<TaskItem>& items, const std::vector<TaskItem>& others);

}  // namespace drift
