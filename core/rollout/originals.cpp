#include <core/config/nearest.h>
#include <core/config/toml_layer.h>
#include <core/io/json.h>
#include <core/rollout/originals.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

namespace drift {

using OptionValue = std::optional<Parameter::Value>;  // empty: null

struct OriginalOption {
  Parameter::Value type;  ///< the alternative that it holds
  bool nullable = false;
  OptionValue default_value;
  std::map<std::string, std::string> words;  ///< empty: any text
};

struct OriginalCase {
  std::map<std::string, OptionValue> when, unless;
  toml::table settings;
};

namespace {

constexpr const char* kNull = "null";

OptionValue value_of(const toml::node& node) {
  const auto value = toml_value(node);
  if (!value) throw Error("holds a value that no option can be");
  const auto* text = std::get_if<std::string>(&*value);
  return text != nullptr && *text == kNull ? OptionValue() : OptionValue(*value);
}

/// `value` as `type` has it: an integer is also a number.
OptionValue as_type(const Parameter::Value& value, const Parameter::Value& type) {
  if (value.index() == type.index()) return value;
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (integer != nullptr && std::holds_alternative<double>(type))
    return Parameter::Value(static_cast<double>(*integer));
  return {};
}

Parameter::Value type_of(const std::string& word) {
  for (const Parameter::Value& type :
       {Parameter::Value(std::int64_t{}), Parameter::Value(double{}), Parameter::Value(std::string())}) {
    if (type_name(type) == word) return type;
  }
  throw Error("`null` names a type: integer, number or text, not `" + word + "`");
}

OriginalOption option_of(const toml::node& node) {
  OriginalOption option;
  if (const toml::table* nullable = node.as_table()) {
    option.nullable = true;
    option.type = type_of((*nullable)["null"].value_or(std::string()));
  } else {
    option.default_value = value_of(node);
    if (!option.default_value) throw Error("an option that is null by default is { null = TYPE }");
    option.type = *option.default_value;
  }
  return option;
}

OptionValue value_of(const nlohmann::json& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return Parameter::Value(json.get<bool>());
  if (json.is_number_integer()) return Parameter::Value(json.get<std::int64_t>());
  if (json.is_number()) return Parameter::Value(json.get<double>());
  if (json.is_string()) return Parameter::Value(json.get<std::string>());
  throw Error("an option is a number, a text, true, false or null, not " + json_text(json));
}

std::string shown(const OptionValue& value) { return value ? to_toml(*value) : kNull; }

bool is_the_same(const OptionValue& value, const OptionValue& wanted) {
  if (!value || !wanted) return value.has_value() == wanted.has_value();
  return as_type(*wanted, *value) == value;
}

}  // namespace

struct Originals::Original {
  std::string name, file, rollout;
  bool takes_mask = false;
  std::map<std::string, OriginalOption> options;
  toml::table settings;
  std::vector<OriginalCase> cases;

  using Values = std::map<std::string, OptionValue>;

  std::vector<std::string> option_names() const {
    std::vector<std::string> names;
    for (const auto& [option, unused] : options) names.push_back(option);
    return names;
  }

  /// An option's value as it is given, checked.
  OptionValue checked(const std::string& option_name, const nlohmann::json& given) const {
    const auto found = options.find(option_name);
    if (found == options.end()) {
      throw Error(name + " has no option `" + option_name + "`", name_hint(option_name, option_names(), "its options"));
    }
    const OriginalOption& option = found->second;
    const OptionValue value = value_of(given);
    if (!value && option.nullable) return value;
    const OptionValue typed = value ? as_type(*value, option.type) : value;
    if (!typed) {
      throw Error("`" + option_name + "` of " + name + " is " + shown(value) + ", expected: " + type_name(option.type) +
                  (option.nullable ? " or null" : ""));
    }
    if (option.words.empty() || option.words.contains(std::get<std::string>(*typed))) return typed;
    std::vector<std::string> words;
    for (const auto& [word, unused] : option.words) words.push_back(word);
    const auto& word = std::get<std::string>(*typed);
    throw Error("`" + option_name + "` of " + name + " is \"" + word + "\"",
                name_hint(word, words, "`" + option_name + "` is one of"));
  }

  /// The value of "$OPTION", as it is called here.
  OptionValue resolved(const std::string& text, const Values& values) const {
    if (!text.starts_with('$')) return Parameter::Value(text);
    const auto found = values.find(text.substr(1));
    if (found == values.end()) throw Error(file + ": " + name + " has no option `" + text.substr(1) + "`");
    const auto& words = options.at(found->first).words;
    if (words.empty() || !found->second) return found->second;
    return Parameter::Value(words.at(std::get<std::string>(*found->second)));
  }

  void add_settings(const toml::table& table, const Values& values,
                    std::map<std::string, Parameter::Value>& made) const {
    for (const auto& [key, node] : table) {
      const OptionValue value = value_of(node);
      if (!value) continue;
      if (const auto* texts = std::get_if<std::vector<std::string>>(&*value)) {
        std::vector<std::int64_t> ids;
        for (const std::string& text : *texts) ids.push_back(std::get<std::int64_t>(resolved(text, values).value()));
        made[std::string(key.str())] = ids;
        continue;
      }
      const auto* text = std::get_if<std::string>(&*value);
      const OptionValue meant = text == nullptr ? value : resolved(*text, values);
      if (meant) made[std::string(key.str())] = *meant;
    }
  }

  bool holds(const OriginalCase& one, const Values& values) const {
    const auto is = [&](const auto& wanted) { return is_the_same(values.at(wanted.first), wanted.second); };
    return std::ranges::all_of(one.when, is) && std::ranges::none_of(one.unless, is);
  }
};

namespace {

std::map<std::string, OptionValue> values_of(const toml::table* table) {
  std::map<std::string, OptionValue> values;
  if (table == nullptr) return values;
  for (const auto& [key, node] : *table) values[std::string(key.str())] = value_of(node);
  return values;
}

const toml::table& table_of(const toml::table& within, const char* key) {
  const toml::table* table = within[key].as_table();
  if (table == nullptr) throw Error(std::string("`") + key + "` is missing, or no table");
  return *table;
}

OriginalCase case_of(const toml::table& described, const std::map<std::string, OriginalOption>& options) {
  OriginalCase made{values_of(described["if"].as_table()), values_of(described["unless"].as_table()),
                    table_of(described, "settings")};
  for (const auto* values : {&made.when, &made.unless}) {
    for (const auto& [option, unused] : *values) {
      if (!options.contains(option)) throw Error("a case asks for `" + option + "`, which is no option");
    }
  }
  return made;
}

void read_words(const toml::table& table, std::map<std::string, OriginalOption>& options) {
  for (const auto& [option, node] : table) {
    const toml::table* words = node.as_table();
    const auto found = options.find(std::string(option.str()));
    if (words == nullptr || found == options.end() || !std::holds_alternative<std::string>(found->second.type))
      throw Error("`words` has `" + std::string(option.str()) + "`, which is no option that is a text");
    for (const auto& [word, meaning] : *words)
      found->second.words[std::string(word.str())] = meaning.value_or(std::string());
  }
}

std::string file_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw Error("cannot read " + file.string());
  return text.str();
}

}  // namespace

Originals::Originals(const std::vector<std::filesystem::path>& folders) {
  for (const auto& folder : folders) {
    const auto file = folder / "originals.toml";
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored)) continue;
    toml::table whole;
    try {
      whole = parse_toml(file_text(file), file.string());
    } catch (const toml::parse_error& error) {
      throw Error(file.string() + ": " + toml_syntax_message(error));
    }
    for (const auto& [name, node] : whole) {
      auto original = std::make_unique<Original>();
      original->name = name.str();
      original->file = file.string();
      if (std::ranges::count(names(), original->name) > 0) continue;  // the folder that is looked into first
      try {
        const toml::table* table = node.as_table();
        if (table == nullptr) throw Error("is no table");
        original->rollout = (*table)["rollout"].value_or(std::string());
        original->takes_mask = (*table)["takes_mask"].value_or(false);
        for (const auto& [option, described] : table_of(*table, "options"))
          original->options[std::string(option.str())] = option_of(described);
        if (table->contains("words")) read_words(table_of(*table, "words"), original->options);
        original->settings = table_of(*table, "settings");
        if (const toml::array* cases = (*table)["case"].as_array()) {
          for (const toml::node& one : *cases) original->cases.push_back(case_of(*one.as_table(), original->options));
        }
      } catch (const Error& error) {
        throw Error(file.string() + ": [" + original->name + "]: " + error.what(), error.hint());
      }
      originals_.push_back(std::move(original));
    }
  }
}

Originals::~Originals() = default;

std::vector<std::string> Originals::names() const {
  std::vector<std::string> names;
  for (const auto& original : originals_) names.push_back(original->name);
  return names;
}

const Originals::Original& Originals::find(const std::string& name) const {
  const auto found = std::ranges::find(originals_, name, [](const auto& original) { return original->name; });
  if (found == originals_.end())
    throw Error("no original decoder is called `" + name + "`", name_hint(name, names(), "originals"));
  return **found;
}

OriginalSettings Originals::translate(const std::string& name, const nlohmann::json& given,
                                      const std::string& where) const {
  const Original& original = find(name);
  const bool is_case = given.contains("settings");
  const nlohmann::json& options = is_case ? given["settings"] : given;
  OriginalSettings made;
  made.rollout = original.rollout;
  made.takes_mask = original.takes_mask;
  try {
    if (!options.is_object()) throw Error("`settings` is no object");
    if (is_case && given.contains("algorithm") && given["algorithm"] != name)
      throw Error("these are settings of " + json_text(given["algorithm"]) + ", not of " + name);
    Original::Values values;
    for (const auto& [option, described] : original.options) values[option] = described.default_value;
    const auto read_count = [&](const nlohmann::json& from, const char* key, std::optional<std::int64_t>& count) {
      if (!from.contains(key) || from[key].is_null()) return;
      if (!from[key].is_number_integer()) throw Error(std::string("`") + key + "` is no integer");
      count = from[key].get<std::int64_t>();
    };
    if (is_case) read_count(given, "nfe", made.forwards);
    read_count(options, "nfe", made.forwards);
    read_count(options, "mask_id", made.mask_id);
    read_count(options, "pad_id", made.pad_id);
    for (const auto& [option, value] : options.items()) {
      if (option != "nfe" && option != "mask_id" && option != "pad_id")
        values[option] = original.checked(option, value);
    }
    original.add_settings(original.settings, values, made.settings);
    for (const OriginalCase& one : original.cases) {
      if (original.holds(one, values)) original.add_settings(one.settings, values, made.settings);
    }
  } catch (const Error& error) {
    throw Error(where + ": " + error.what(), error.hint());
  }
  return made;
}

}  // namespace drift
