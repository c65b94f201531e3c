#include <core/cli/command.h>
#include <core/cli/load_run.h>
#include <core/config/document.h>
#include <core/config/nearest.h>
#include <core/report/known_words.h>

#include <boost/program_options.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <sstream>

namespace po = boost::program_options;

namespace drift {
namespace {

/// The whole text as a number of at least `least`.
template <typename Number>
Number read_number(const std::string& name, const std::string& text, Number least, const std::string& expected) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least))
    throw UsageError(name + " expects " + expected + ", found `" + text + "`");
  return value;
}

/// The options in the terms of the library that parses and prints them.
po::options_description described(const std::vector<Option>& options) {
  constexpr unsigned kWidth = 120, kDocWidth = 80;
  po::options_description all("options", kWidth, kDocWidth), settings("changes to the TOML file", kWidth, kDocWidth);
  for (const Option& option : options) {
    std::ostringstream text;
    text << option.doc;
    if (option.default_value) text << "; default: " << *option.default_value;
    const std::string doc = text.str();
    auto add = (option.is_setting ? settings : all).add_options();
    if (option.value.empty()) {
      add(option.name.c_str(), po::bool_switch(), doc.c_str());
      continue;
    }
    auto* value = po::value<std::string>();
    value->value_name(option.value_is_optional ? "[" + option.value + "]" : option.value);
    if (option.value_is_optional) value->implicit_value("");
    add(option.name.c_str(), value, doc.c_str());
  }
  if (!settings.options().empty()) all.add(settings);
  return all;
}

/// @param name   of the option or argument
/// @param value  what --help calls its value: "NAME", "PAGE"
void check_choice(const std::string& name, const std::string& value, const std::vector<std::string>& choices,
                  const std::string& chosen) {
  if (choices.empty()) return;
  std::string kind = value == "NAME" ? name : value;
  std::ranges::transform(kind, kind.begin(), [](unsigned char letter) { return std::tolower(letter); });
  require_known("there is no " + kind, chosen, choices, kind + "s");
}

/// The key of a run's file that somebody meant by an option of its name, its section's name before it or not; empty if
/// there is none.
std::string key_meant_by(const std::string& option, const std::string& command) {
  std::string found;
  for (const std::string& key : known_keys(load_plugins()->registry)) {
    const std::string name = option.find('.') == option.npos ? std::string(name_of(key)) : key;
    if (name == "name" || nearest_name(option, {name}) != name) continue;
    if (section_of(key) == command) return key;  // --lr of `train` is its own
    if (found.empty()) found = key;
  }
  return found;
}

}  // namespace

std::vector<std::string> split_list(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    parts.push_back(part);
  }
  return parts;
}

void read_value(const std::string&, const std::string& text, std::string& member) { member = text; }
void read_value(const std::string&, const std::string& text, std::optional<std::string>& member) { member = text; }
void read_value(const std::string&, const std::string& text, std::filesystem::path& member) { member = text; }
void read_value(const std::string&, const std::string& text, std::vector<std::string>& member) {
  member = split_list(text, ',');
}

void read_value(const std::string& name, const std::string& text, std::int64_t& member) {
  member = read_number<std::int64_t>(name, text, 1, "a count from 1");
}

void read_value(const std::string& name, const std::string& text, double& member) {
  member = read_number<double>(name, text, 0, "a number from 0");
}

void read_value(const std::string& name, const std::string& text, std::vector<std::int64_t>& member) {
  for (const std::string& part : split_list(text, ','))
    member.push_back(read_number<std::int64_t>(name, part, 0, "whole numbers from 0, such as 2,17,5"));
}

void require_known(const std::string& lacking, const std::string& name, const std::vector<std::string>& known,
                   const std::string& what) {
  if (std::ranges::count(known, name) == 0) throw UsageError(lacking + " `" + name + "`", name_hint(name, known, what));
}

std::string OptionList::arguments() const {
  std::string text;
  for (const Argument& argument : arguments_)
    text += (text.empty() ? "" : " ") + (argument.required ? argument.name : "[" + argument.name + "]");
  return text;
}

std::string OptionList::describe() const {
  std::vector<Option> listed = options_;
  listed.push_back({"help", "", "print this text", {}});
  std::ostringstream text;
  text << described(listed);
  return text.str();
}

void OptionList::parse(const Command& command, const std::vector<std::string>& words) const {
  const std::string own = "`drift " + command.name + "`", more = "    (drift " + command.name + " --help)";
  const auto hint = [&] {
    return "for example: drift " + with_installed_names(command.example.substr(command.example.rfind('\n') + 1));
  };
  const bool takes_settings = std::ranges::count(options_, "set", &Option::name) > 0;
  const auto known = described(options_);
  po::parsed_options parsed(&known);
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    parsed = po::command_line_parser(words).options(known).style(style).run();
  } catch (const po::unknown_option& error) {
    std::vector<std::string> names;
    for (const Option& option : options_) names.push_back("--" + option.name);
    names.push_back("--help");
    const std::string unknown = error.get_option_name();
    std::string key;
    if (takes_settings && nearest_name(unknown, names).empty())
      key = key_meant_by(unknown.substr(unknown.find_first_not_of('-')), command.name);
    throw UsageError("unknown option `" + unknown + "` of " + own, key.empty()
                                                                       ? name_hint(unknown, names, "options") + more
                                                                       : "did you mean `--set " + key + "=VALUE`?");
  } catch (const po::error& error) {
    throw UsageError(own + ": " + error.what(), hint() + more);
  }

  std::set<std::string> given;
  std::size_t arguments_given = 0;
  for (const po::option& word : parsed.options) {
    const std::string value = word.value.empty() ? "" : word.value.front();
    if (word.position_key >= 0) {
      const bool more = arguments_given == arguments_.size();
      if (more && (arguments_.empty() || !arguments_.back().repeats))
        throw UsageError(own + " has no use for `" + value + "`", takes_settings && value.find('=') != value.npos
                                                                      ? "did you mean `--set " + value + "`?"
                                                                      : hint());
      const Argument& argument = arguments_[more ? arguments_given - 1 : arguments_given++];
      check_choice(argument.name, argument.name, argument.choices, value);
      argument.take(value);
      continue;
    }
    const auto option = std::ranges::find(options_, word.string_key, &Option::name);
    if (!given.insert(option->name).second && !option->repeatable)
      throw UsageError("`--" + option->name + "` is given more than once", "once is enough" + more);
    check_choice(option->name, option->value, option->choices, value);
    option->take(value);
  }
  if (arguments_given < arguments_.size() && arguments_[arguments_given].required)
    throw UsageError(own + " expects " + arguments(), hint());
  for (const Option& option : options_) {
    if (option.required && !given.contains(option.name))
      throw UsageError(own + " expects --" + option.name + (option.value.empty() ? "" : " " + option.value), hint());
  }
}

}  // namespace drift
