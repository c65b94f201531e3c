#include <core/base/quote.h>
#include <core/cli/command.h>
#include <core/cli/shell_table.h>

#include <algorithm>
#include <cctype>

namespace drift {
namespace {

/// What the name of a value says: "CONFIG.toml", "FOLDER|NAME", "float32|bfloat16".
std::string follows_by_name(const std::string& name) {
  std::string follows;
  if (name.find(',') != name.npos || name == "LIST") follows += " commas";
  for (const std::string& part : split_list(name, '|')) {
    const auto dot = part.rfind('.');
    const bool is_word = std::ranges::none_of(part, [](unsigned char letter) { return std::isupper(letter) != 0; });
    if (part == "KEY=VALUE") follows += " settings";
    if (part == "FILE" || part == "PATH" || part == "RESULTS") follows += " files:any";
    if (part == "DIR" || part == "FOLDER" || part == "RUN" || part.ends_with("_DIR")) follows += " folders";
    if (dot != part.npos && dot + 1 < part.size() && !is_word) follows += " files:" + part.substr(dot + 1);
    if (is_word && name.find('|') != name.npos) follows += " word:" + part;
  }
  return follows;
}

std::string follows(const std::string& name, const std::string& candidates, const std::string& key) {
  std::string text = follows_by_name(name);
  if (candidates.find('|') != candidates.npos) {
    for (const std::string& word : split_list(candidates, '|')) text += " word:" + word;
  } else if (!candidates.empty()) {
    text += " ask:" + candidates;
  } else if (!key.empty() && name.find("NAME") != name.npos) {
    text += " ask:" + key;
  }
  return text.empty() ? "none" : text.substr(1);
}

std::string row(const std::string& command, const std::string& word, const std::string& follows,
                const std::string& doc) {
  return command + "\t" + word + "\t" + follows + "\t" + on_one_line(doc) + "\n";
}

}  // namespace

std::string shell_table() {
  std::string table;
  for (const Command& command : all_commands()) {
    table += row(command.name, ".", "command", command.summary);
    int place = 0;
    for (const Argument& argument : command.options.argument_list()) {
      const std::string name = argument.repeats ? argument.name.substr(0, argument.name.find("...")) : argument.name;
      table += row(command.name, argument.repeats ? "+" : std::to_string(++place),
                   follows(name, argument.candidates, ""), argument.name);
    }
    for (const Option& option : command.options.options()) {
      // An option that may stand without its value does not take the next word as one.
      const bool alone = option.value.empty() || option.value_is_optional;
      table += row(command.name, "--" + option.name,
                   alone ? "switch" : follows(option.value, option.candidates, option.key), option.doc);
    }
    table += row(command.name, "--help", "switch", "print this text");
  }
  return table;
}

}  // namespace drift
