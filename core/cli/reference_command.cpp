#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/plugin/plugin_json.h>
#include <core/plugin/plugin_report.h>
#include <core/report/key_reference.h>
#include <core/report/known_words.h>
#include <core/report/metric_reference.h>
#include <core/report/section_reference.h>

#include <algorithm>

namespace drift {
namespace {

ShortForms short_forms() {
  std::map<std::string, std::vector<std::string>> commands;
  std::map<std::string, std::string> options;
  for (const Command& command : all_commands()) {
    for (const Option& option : command.options.options()) {
      if (option.key.empty()) continue;
      options[option.key] = "--" + option.name + " " + option.value;
      commands[option.key].push_back("drift " + command.name);
    }
  }
  ShortForms forms;
  for (const auto& [key, option] : options) forms[key] = option + "    (" + joined(commands[key]) + ")";
  return forms;
}

[[noreturn]] void unknown_topic(const Registry& registry, const std::string& word) {
  const std::vector<std::string> commands = next_words("");
  std::vector<std::string> known = commands;
  for (const SectionSchema& section : config_sections()) known.push_back(section.name);
  for (const std::string& metric : metric_names()) known.push_back(metric);
  for (const std::string& key : known_keys(registry))
    known.emplace_back(word.find('.') == word.npos ? name_of(key) : key);
  for (const std::string& name : known_names(registry)) known.push_back(name);
  const std::string nearest = nearest_name(word, known);
  const std::string help = std::ranges::count(commands, nearest) > 0 ? "" : "help ";
  throw UsageError("there is no command, key or metric `" + word + "`",
                   (nearest.empty() ? "" : "did you mean `drift " + help + nearest + "`?\n  = ") +
                       "drift --help lists the commands, drift config docs the keys");
}

std::string commands_page() {
  std::string text =
      "# Commands\n\n"
      "What `drift COMMAND --help` prints, for every command. Exit status: 0; 1 if something went wrong; 2 if the "
      "command line or\n"
      "the configuration is wrong; 128 + the signal's number for a run that a signal stopped.\n";
  for (const Command& command : all_commands()) {
    if (!command.hidden) text += "\n## drift " + command.name + "\n\n```\n" + help_of(command) + "```\n";
  }
  return text;
}

int print_page(const std::string& page) {
  if (page == "configuration") {
    std::cout << configuration_page(load_plugins()->registry);
  } else if (page == "metrics") {
    std::cout << metrics_page();
  } else {
    std::cout << commands_page();
  }
  return 0;
}

}  // namespace

int print_topic(const std::string& word, bool json) {
  const auto plugins = load_plugins();
  const Registry& registry = plugins->registry;
  const bool is_registered = std::ranges::count(known_names(registry), word) > 0;
  if (json) {
    auto topic = is_registered ? plugin_info_json(registry, word) : Json();
    if (documented_section(word) != nullptr) topic.update(sections_json(registry, word));
    if (auto keys = key_json(registry, word); !keys.empty()) topic["keys"] = std::move(keys);
    if (auto metrics = metric_json(word); !metrics.empty()) topic["metrics"] = std::move(metrics);
    if (topic.empty()) unknown_topic(registry, word);
    std::cout << json_text(topic, 1) << "\n";
    return 0;
  }
  std::vector<std::string> texts;
  if (documented_section(word) != nullptr) texts.push_back(section_text(registry, word));
  texts.push_back(key_text(registry, word, short_forms()));
  texts.push_back(metric_text(word));
  if (is_registered) texts.push_back(plugin_info(registry, plugins->loader, word));
  std::erase(texts, "");
  if (texts.empty()) unknown_topic(registry, word);
  std::cout << joined(texts, "\n");
  return 0;
}

Command reference_command() {
  return make_command<std::string>(
      {"reference", "a page of the reference, as Markdown",
       "PAGE is configuration, metrics or commands. For one key or metric: drift help KEY, for example\n"
       "drift help train.learning_rate, drift help temperature, drift help live --json.",
       "reference configuration", /*hidden=*/true},
      print_page, [](OptionList& list, std::string& page) {
        list.argument("PAGE", page).choices = {"configuration", "metrics", "commands"};
      });
}

}  // namespace drift
