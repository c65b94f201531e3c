#include <core/config/nearest.h>
#include <core/io/json.h>
#include <core/rollout/originals.h>

#include <drift/error.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace drift {
namespace {

using Json = nlohmann::json;

std::vector<std::string> names_in(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : object.items()) names.push_back(name);
  return names;
}

Parameter::Value value_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.empty() || json[0].is_string()) return json.get<std::vector<std::string>>();
  return json.get<std::vector<std::int64_t>>();
}

/// An integer is also a number.
bool is_like(const Json& value, const Json& example) {
  if (value.is_number() && example.is_number()) return value.is_number_integer() || example.is_number_float();
  return value.type() == example.type();
}

/// An option as it is given, checked. @param described  its default; or an object with it, `like` and `words`
Json checked_option(const std::string& option, const Json& given, const Json& described) {
  const bool is_whole = described.is_object();
  const Json default_value = is_whole ? described.at("default") : described;
  const Json& example = is_whole && described.contains("like") ? described["like"] : default_value;
  if (given.is_null() && default_value.is_null()) return given;
  if (!is_like(given, example)) {
    throw Error(option + " is " + json_text(given) + ", expected: " + type_name(value_of(example)) +
                (default_value.is_null() ? " or null" : ""));
  }
  if (is_whole && described.contains("words") && !described["words"].contains(given.get<std::string>())) {
    throw Error(option + " is " + json_text(given),
                name_hint(given.get<std::string>(), names_in(described["words"]), option + " is one of"));
  }
  return example.is_number_float() ? Json(given.get<double>()) : given;
}

/// What "$OPTION" stands for; all that is not written so stands for itself.
Json meaning(const Json& written, const Json& options, const Json& values) {
  if (written.is_array()) {
    Json list = Json::array();
    for (const Json& one : written) list.push_back(meaning(one, options, values));
    return list;
  }
  if (!written.is_string() || !written.get_ref<const std::string&>().starts_with('$')) return written;
  const std::string option = written.get_ref<const std::string&>().substr(1);
  const Json& value = values.at(option);
  const Json& described = options.at(option);
  const bool has_words = described.is_object() && described.contains("words");
  return has_words && value.is_string() ? described["words"].at(value.get<std::string>()) : value;
}

std::optional<std::int64_t> count_of(const Json& object, const char* key) {
  if (!object.contains(key) || object[key].is_null()) return {};
  if (!object[key].is_number_integer()) throw Error(std::string("`") + key + "` is no integer");
  return object[key].get<std::int64_t>();
}

constexpr std::array kFacts{"nfe", "mask_id", "pad_id", "draw"};  // beside the options

/// `nfe_rows`, or `nfe_prefill`, `nfe_denoise` and `nfe_store` of all rows.
std::vector<std::array<std::int64_t, 3>> forwards_by_kind(const Json& given) {
  if (given.contains("nfe_rows")) return given["nfe_rows"].get<std::vector<std::array<std::int64_t, 3>>>();
  if (!given.contains("nfe_denoise")) return {};
  return {{given.at("nfe_prefill").get<std::int64_t>(), given["nfe_denoise"].get<std::int64_t>(),
           given.at("nfe_store").get<std::int64_t>()}};
}

}  // namespace

Original::Original(const std::filesystem::path& file, const std::string& name) : file_(file.string()), name_(name) {
  const Json whole = read_json_object(file);
  const Json known = whole.contains("originals") ? whole["originals"] : Json::object();
  if (!known.contains(name))
    throw Error("no original decoder is called `" + name + "`", name_hint(name, names_in(known), "originals"));
  described_ = known[name];
}

OriginalSettings Original::translate(const Json& given, const std::string& where) const {
  const bool is_case = given.contains("settings");
  const Json& taken = is_case ? given["settings"] : given;
  OriginalSettings made;
  try {
    if (!taken.is_object()) throw Error("`settings` is no object");
    if (is_case && given.contains("algorithm") && given["algorithm"] != name_)
      throw Error("these are settings of " + json_text(given["algorithm"]) + ", not of " + name_);
    made.rollout = described_.at("rollout").get<std::string>();
    made.takes_mask = described_.value("takes_mask", false);
    made.mask_id = count_of(taken, "mask_id");
    made.pad_id = count_of(taken, "pad_id");
    made.forwards = count_of(taken, "nfe");
    if (is_case && !made.forwards) made.forwards = count_of(given, "nfe");
    made.forwards_by_kind = forwards_by_kind(given);
    made.counts_denoising = described_.value("counts_denoising", false);
    made.ends_early = described_.value("ends_early", false);
    made.draws_most_probable = taken.value("draw", "").starts_with("argmax");

    const Json& options = described_.at("options");
    Json values = options;
    for (Json& value : values) {
      if (value.is_object()) value = Json(value.at("default"));
    }
    for (const auto& [option, value] : taken.items()) {
      if (std::ranges::find(kFacts, option) != kFacts.end()) continue;
      if (!options.contains(option))
        throw Error(name_ + " has no option `" + option + "`", name_hint(option, names_in(options), "its options"));
      values[option] = checked_option("`" + option + "` of " + name_, value, options[option]);
    }

    const Json limits = described_.value("at_most", Json::object());
    for (const auto& [option, quotient] : limits.items()) {
      const auto number = [&](const Json& name) { return values.at(name.get<std::string>()).get<std::int64_t>(); };
      values[option] = std::min(number(option), number(quotient[0]) / std::max<std::int64_t>(number(quotient[1]), 1));
    }
    const auto add_to = [&](std::map<std::string, Parameter::Value>& section, const Json& settings) {
      for (const auto& [key, written] : settings.items()) {
        if (const Json value = meaning(written, options, values); !value.is_null()) section[key] = value_of(value);
      }
    };
    const auto add = [&](const Json& settings) { add_to(made.settings, settings); };
    add(described_.at("settings"));
    add_to(made.model, described_.value("model", Json::object()));
    for (const Json& one : described_.value("cases", Json::array())) {
      const auto holds = [&](const auto& wanted) { return values.at(wanted.first) == wanted.second; };
      const auto wanted = one.value("if", Json::object_t()), unwanted = one.value("unless", Json::object_t());
      if (std::ranges::all_of(wanted, holds) && std::ranges::none_of(unwanted, holds)) add(one.at("settings"));
    }
  } catch (const Error& error) {
    throw Error(where + ": " + error.what(), error.hint());
  } catch (const Json::exception& error) {
    throw Error(file_ + ": " + name_ + ": " + json_problem(error), "see tests/golden/data/originals.json");
  }
  return made;
}

}  // namespace drift
