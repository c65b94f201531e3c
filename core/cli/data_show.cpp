#include <core/base/quote.h>
#include <core/cli/data_source.h>
#include <core/io/json.h>
#include <core/text/chat.h>
#include <core/text/utf8.h>

#include <nlohmann/json.hpp>

#include <iostream>
#include <ranges>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

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

void print_items(const DataSource& source, std::int64_t count, const std::string& id, bool json) {
  for (const ListedItem& shown : choose(source, count, id)) json ? print_json(source, shown) : print(source, shown);
}

}  // namespace drift
