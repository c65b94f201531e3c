#include <core/cli/data_source.h>
#include <core/report/format.h>
#include <core/report/terminal.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

struct StatsOptions {
  DataOptions data;
  std::int64_t items = 1000;
};

/// One set of items under its name.
struct ItemSet {
  std::string name;
  ItemStatistics statistics;
};

void print_row(const std::string& name, const std::string& value) {
  std::printf("  %-22s %s\n", name.c_str(), value.c_str());
}

std::string describe(const Spread& spread) {
  return "median " + format_integer(spread.median) + "   5 % " + format_integer(spread.p5) + "   95 % " +
         format_integer(spread.p95) + "   from " + format_integer(spread.minimum) + " to " +
         format_integer(spread.maximum);
}

void print_histogram(const Spread& spread, const std::string& unit, bool unicode) {
  constexpr std::int64_t width = 40;
  const std::int64_t most = *std::max_element(spread.bins.begin(), spread.bins.end());
  const std::string bar = unicode ? "█" : "#";
  for (std::size_t i = 0; i < spread.bins.size(); ++i) {
    const std::int64_t from = spread.first_bin + static_cast<std::int64_t>(i) * spread.bin_width;
    std::string line;
    for (std::int64_t filled = 0; filled < (spread.bins[i] * width + most - 1) / most; ++filled) line += bar;
    std::printf("  %15s %-6s %s %s\n",
                (std::to_string(from) + " - " + std::to_string(from + spread.bin_width - 1)).c_str(),
                i == 0 ? unit.c_str() : "", line.c_str(), format_integer(spread.bins[i]).c_str());
  }
}

void print_set(const ItemSet& set, bool unicode) {
  const ItemStatistics& found = set.statistics;
  std::printf("%s, items: %s\n", set.name.c_str(), format_integer(found.items).c_str());
  if (found.items == 0) return;
  print_row("question, characters", describe(found.question_characters));
  print_row("answer, characters", describe(found.reference_characters));
  if (found.prompt_tokens) print_row("prompt, tokens", describe(*found.prompt_tokens));
  std::string shapes;
  for (const auto& [shape, count] : found.answer_shapes)
    shapes += (shapes.empty() ? "" : ", ") + shape + " " + format_integer(count);
  print_row("answers", shapes);
  if (found.with_response_prefix > 0)
    print_row("with first words", format_integer(found.with_response_prefix) + " of the response");
  if (found.with_demonstration > 0) print_row("with demonstration", format_integer(found.with_demonstration));
  print_row("repeated questions", format_integer(found.repeated_questions));
  const bool tokens = found.prompt_tokens.has_value();
  print_histogram(tokens ? *found.prompt_tokens : found.question_characters, tokens ? "tokens" : "chars", unicode);
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

int print_statistics(const StatsOptions& options) {
  DataSource source(options.data);
  source.open_task();
  CountTokens count_tokens;
  if (source.prompts() != nullptr) count_tokens = [&](const TaskItem& item) { return source.count_tokens(item); };
  const auto training = source.training_items(options.items);
  const auto held_out = source.held_out_items();
  const bool listed = source.list() != nullptr;
  const std::vector<ItemSet> sets = {
      {listed ? "training" : "training (the first of this seed)", item_statistics(training, count_tokens)},
      {"held out", item_statistics(held_out, count_tokens)}};
  const auto shared = shared_questions(training, held_out);
  const auto most = source.config().section("task").get<std::int64_t>("max_prompt_tokens");
  const auto over = most == 0 || !count_tokens ? 0
                                               : std::count_if(training.begin(), training.end(),
                                                               [&](const auto& i) { return count_tokens(i) > most; });
  if (options.data.json) {
    std::cout << Json{{"task", source.task().name()},
                      {"training", to_json(sets[0].statistics)},
                      {"held_out", to_json(sets[1].statistics)},
                      {"overlap", shared},
                      {"over_max_prompt_tokens", over}}
                     .dump(2)
              << "\n";
    return 0;
  }
  const bool unicode = detect_terminal(1).unicode;
  for (const ItemSet& set : sets) print_set(set, unicode);
  std::printf("questions in both: %s\n", format_integer(shared).c_str());
  if (most > 0 && count_tokens)
    std::printf("prompts over max_prompt_tokens = %lld, which training leaves out: %s\n", static_cast<long long>(most),
                format_integer(over).c_str());
  if (!count_tokens) std::printf("tokens are not counted: %s\n", source.missing_model().c_str());
  return 0;
}

}  // namespace

Command data_stats_command() {
  return make_command<StatsOptions>(
      {"data stats", "a task's items: how many, how long, answers, duplicates",
       "Looks at every item of a list, or at the first items that a generator makes with this seed. Counts tokens if\n"
       "the file or --model names a model's folder.",
       "data stats configs/quickstart.toml"},
      print_statistics, [](OptionList& list, StatsOptions& options) {
        add_data(list, options.data);
        list.add("items", "N", "training items, if a generator makes them", options.items);
      });
}

}  // namespace drift
