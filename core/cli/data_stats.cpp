#include <core/base/quote.h>
#include <core/cli/data_source.h>
#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/terminal.h>
#include <core/report/text_table.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

/// One set of items under its name.
struct ItemSet {
  std::string name;
  ItemStatistics statistics;
};

std::string describe(const Spread& spread) {
  return "median " + format_integer(spread.median) + "   5 % " + format_integer(spread.p5) + "   95 % " +
         format_integer(spread.p95) + "   from " + format_integer(spread.minimum) + " to " +
         format_integer(spread.maximum);
}

TextTable histogram(const Spread& spread, const std::string& unit, bool unicode) {
  constexpr std::int64_t width = 40;
  const std::int64_t most = *std::max_element(spread.bins.begin(), spread.bins.end());
  TextTable table{.is_number = {true}};
  for (std::size_t i = 0; i < spread.bins.size(); ++i) {
    const std::int64_t from = spread.first_bin + static_cast<std::int64_t>(i) * spread.bin_width;
    std::string line;
    for (std::int64_t filled = 0; filled < (spread.bins[i] * width + most - 1) / most; ++filled)
      line += unicode ? "█" : "#";
    table.rows.push_back({std::to_string(from) + " - " + std::to_string(from + spread.bin_width - 1),
                          i == 0 ? unit : "", line + " " + format_integer(spread.bins[i])});
  }
  return table;
}

void print_set(const ItemSet& set, bool unicode) {
  const ItemStatistics& found = set.statistics;
  std::cout << set.name << ", items: " << format_integer(found.items) << "\n";
  if (found.items == 0) return;
  TextTable table{.rows = {{"question, characters", describe(found.question_characters)},
                           {"answer, characters", describe(found.reference_characters)}}};
  if (found.prompt_tokens) table.rows.push_back({"prompt, tokens", describe(*found.prompt_tokens)});
  std::string shapes;
  for (const auto& [shape, count] : found.answer_shapes)
    shapes += (shapes.empty() ? "" : ", ") + shape + " " + format_integer(count);
  table.rows.push_back({"answers", shapes});
  if (found.with_response_prefix > 0)
    table.rows.push_back({"with first words", format_integer(found.with_response_prefix) + " of the response"});
  if (found.with_demonstration > 0)
    table.rows.push_back({"with demonstration", format_integer(found.with_demonstration)});
  table.rows.push_back({"repeated questions", format_integer(found.repeated_questions)});
  const bool tokens = found.prompt_tokens.has_value();
  std::cout << to_text(table, /*unicode=*/true, "  ")
            << to_text(histogram(tokens ? *found.prompt_tokens : found.question_characters, tokens ? "tokens" : "chars",
                                 unicode),
                       /*unicode=*/true, "  ");
}

Json to_json(const Spread& spread) {
  return {{"minimum", spread.minimum},
          {"p5", spread.p5},
          {"median", spread.median},
          {"p95", spread.p95},
          {"maximum", spread.maximum},
          {"mean", spread.mean},
          {"first_bin", spread.first_bin},
          {"bin_width", spread.bin_width},
          {"bins", spread.bins}};
}

Json to_json(const ItemStatistics& found) {
  Json json = {{"items", found.items},
               {"question_characters", to_json(found.question_characters)},
               {"answer_characters", to_json(found.reference_characters)},
               {"answer_shapes", found.answer_shapes},
               {"with_response_prefix", found.with_response_prefix},
               {"with_demonstration", found.with_demonstration},
               {"repeated_questions", found.repeated_questions}};
  if (found.prompt_tokens) json["prompt_tokens"] = to_json(*found.prompt_tokens);
  return json;
}

}  // namespace

void print_statistics(const DataSource& source, bool json) {
  CountTokens count_tokens;
  if (source.prompts() != nullptr) count_tokens = [&](const TaskItem& item) { return source.count_tokens(item); };
  const auto training = source.training_items(kFirstItems);
  const auto held_out = source.held_out_items();
  const bool listed = source.list() != nullptr;
  const std::vector<ItemSet> sets = {
      {listed ? "training" : "training (the first of this seed)", item_statistics(training, count_tokens)},
      {"held out", item_statistics(held_out, count_tokens)}};
  const auto shared = shared_questions(training, held_out);
  const auto most = source.config().get<TaskSettings>().max_prompt_tokens;
  const auto over = most == 0 || !count_tokens ? 0
                                               : std::count_if(training.begin(), training.end(),
                                                               [&](const auto& i) { return count_tokens(i) > most; });
  if (json) {
    const Json facts = {{"task", source.task().name()},
                        {"training", to_json(sets[0].statistics)},
                        {"held_out", to_json(sets[1].statistics)},
                        {"overlap", shared},
                        {"over_max_prompt_tokens", over}};
    std::cout << json_text(facts, 2) << "\n";
    return;
  }
  const bool unicode = detect_terminal(1).unicode;
  for (const ItemSet& set : sets) print_set(set, unicode);
  std::cout << "questions in both: " << format_integer(shared) << "\n";
  if (most > 0 && count_tokens)
    std::cout << "prompts over max_prompt_tokens = " << most << ", which training leaves out: " << format_integer(over)
              << "\n";
  if (!count_tokens) std::cout << "tokens are not counted: " << printable(source.missing_model()) << "\n";
}

}  // namespace drift
