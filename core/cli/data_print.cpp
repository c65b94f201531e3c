#include <core/cli/data_source.h>
#include <core/cli/printing.h>
#include <core/text/chat.h>

#include <algorithm>
#include <ranges>

namespace drift {
namespace {

std::string describe(const Spread& spread) {
  return "median " + format_integer(spread.median) + "   5 % " + format_integer(spread.p5) + "   95 % " +
         format_integer(spread.p95) + "   from " + format_integer(spread.minimum) + " to " +
         format_integer(spread.maximum);
}

void print_set(const std::string& name, const ItemStatistics& found) {
  std::cout << name << ", items: " << format_integer(found.items) << "\n";
  if (found.items == 0) return;
  TextTable table{.rows = {{"question, characters", describe(found.question_characters)},
                           {"answer, characters", describe(found.reference_characters)}}};
  if (found.prompt_tokens) table.rows.push_back({"prompt, tokens", describe(*found.prompt_tokens)});
  std::vector<std::string> shapes;
  for (const auto& [shape, count] : found.answer_shapes) shapes.push_back(shape + " " + format_integer(count));
  table.rows.push_back({"answers", joined(shapes)});
  if (found.with_response_prefix > 0)
    table.rows.push_back({"with first words", format_integer(found.with_response_prefix) + " of the response"});
  if (found.with_demonstration > 0)
    table.rows.push_back({"with demonstration", format_integer(found.with_demonstration)});
  table.rows.push_back({"repeated questions", format_integer(found.repeated_questions)});
  std::cout << to_text(table, /*unicode=*/true, "  ");
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

/// The whole text before the response; without a model, the user's words alone.
std::string prompt_of(const DataSource& source, const TaskItem& item) {
  if (const PromptEncoder* prompts = source.prompts()) return prompts->render(item);
  return fill_instruction(source.config().get<PromptSettings>().instruction, item.prompt);
}

void print_text(const std::string& name, const std::string& text) {
  if (text.empty()) return;
  std::cout << name << "\n";
  const std::string safe = printable(text);
  std::string_view rest = safe;
  while (true) {
    const std::size_t end = rest.find('\n');
    std::cout << "| " << rest.substr(0, end) << "\n";
    if (end == std::string_view::npos) return;
    rest.remove_prefix(end + 1);
  }
}

void print(const DataSource& source, const ListedItem& shown) {
  const bool whole = source.prompts() != nullptr;
  std::cout << shown.set << " item " << printable(shown.item.id) << "\n";
  print_text(whole ? "prompt, " + std::to_string(source.count_tokens(shown.item)) + " tokens"
                   : "the user's words (without the model's turns: " + source.missing_model() + ")",
             prompt_of(source, shown.item));
  if (!whole) print_text("the turns before them", shown.item.earlier_turns);
  if (!whole) print_text("the response begins with", shown.item.response_prefix);
  print_text("reference", shown.item.reference);
  print_text("demonstration", shown.item.demonstration);
  std::cout << "\n";
}

void print_json(const DataSource& source, const ListedItem& shown) {
  Json json = {{"set", shown.set},
               {"id", shown.item.id},
               {"question", shown.item.prompt},
               {"earlier_turns", shown.item.earlier_turns},
               {"prompt", source.prompts() ? Json(prompt_of(source, shown.item)) : Json()},
               {"response_prefix", shown.item.response_prefix},
               {"reference", shown.item.reference},
               {"demonstration", shown.item.demonstration}};
  if (source.prompts()) json["token_ids"] = source.prompts()->ids(shown.item);
  std::cout << json_text(json) << "\n";
}

/// The first `count` of each set, or the one with this id.
std::vector<ListedItem> choose(const DataSource& source, std::int64_t count, const std::string& id) {
  if (!id.empty()) return {item_with_id(source.task(), source.run().seed(), id)};
  std::vector<ListedItem> chosen;
  const auto take = [&](const std::string& set, const std::vector<TaskItem>& items) {
    for (const TaskItem& item : items | std::views::take(count)) chosen.push_back({set, item});
  };
  take("training", source.training_items(count));
  take("held-out", source.held_out_items());
  return chosen;
}

}  // namespace

void print_statistics(const DataSource& source, bool json) {
  CountTokens count_tokens;
  if (source.prompts() != nullptr) count_tokens = [&](const TaskItem& item) { return source.count_tokens(item); };
  const auto training = source.training_items(kFirstItems);
  const auto held_out = source.held_out_items();
  const ItemStatistics of_training = item_statistics(training, count_tokens),
                       of_held_out = item_statistics(held_out, count_tokens);
  const auto shared = shared_questions(training, held_out);
  const auto most = source.config().get<TaskSettings>().max_prompt_tokens;
  const auto over = most == 0 || !count_tokens ? 0
                                               : std::count_if(training.begin(), training.end(),
                                                               [&](const auto& i) { return count_tokens(i) > most; });
  if (json) {
    const Json facts = {{"task", source.task().name()},
                        {"training", to_json(of_training)},
                        {"held_out", to_json(of_held_out)},
                        {"overlap", shared},
                        {"over_max_prompt_tokens", over}};
    std::cout << json_text(facts, 2) << "\n";
    return;
  }
  print_set(source.list() != nullptr ? "training" : "training (the first of this seed)", of_training);
  print_set("held out", of_held_out);
  std::cout << "questions in both: " << format_integer(shared) << "\n";
  if (most > 0 && count_tokens)
    std::cout << "prompts over max_prompt_tokens = " << most << ", which training leaves out: " << format_integer(over)
              << "\n";
  if (!count_tokens) std::cout << "tokens are not counted: " << printable(source.missing_model()) << "\n";
}

void print_items(const DataSource& source, std::int64_t count, const std::string& id, bool json) {
  for (const ListedItem& shown : choose(source, count, id)) json ? print_json(source, shown) : print(source, shown);
}

}  // namespace drift
