#pragma once

#include <drift/error.h>
#include <drift/model.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drift::nn {

extern const char* const kKeysWithoutEffect;  ///< keys_without_effect.txt: keys of config.json, one a line

/// Reads a backbone's config.json. Collects what is wrong, so that one message names all of it. Every key must be
/// known: read, checked against what the backbone computes, or declared not to affect the numbers.
class ConfigReader {
 public:
  using Json = nlohmann::json;

  /// @param family  for messages
  /// @param ignored  keys that the user says have no part in the numbers
  /// @throws Error if the text is not a JSON object.
  ConfigReader(const std::string& text, std::string family, const std::vector<std::string>& ignored)
      : json_(Json::parse(text, nullptr, false)), family_(std::move(family)), known_(ignored.begin(), ignored.end()) {
    if (!json_.is_object()) throw Error("config.json is not a JSON object");
    std::istringstream keys(kKeysWithoutEffect);
    for (std::string key; std::getline(keys, key);) known_.insert(key);
    take_rope_parameters();
  }

  bool has(const char* key) const {
    const auto found = json_.find(key);
    return found != json_.end() && !found->is_null();
  }

  /// An integer in [minimum, maximum] that must be present; else 0.
  std::int64_t integer(const char* key, std::int64_t minimum, std::int64_t maximum) {
    known_.insert(key);
    if (!has(key)) {
      problems_.push_back(std::string("`") + key + "` is missing");
      return 0;
    }
    return fitting(json_[key], std::string("`") + key + "`", minimum, maximum);
  }

  /// The tokens that end a text, all of them in [0, last]: `eos_token_id`, a number or a list, and what
  /// generation_config.json adds. Token 0 comes first, where ModelTraits wants it; else the first of config.json.
  std::vector<std::int64_t> end_ids(std::int64_t last, const std::string& generation_config) {
    constexpr const char* kKey = "eos_token_id";
    known_.insert(kKey);
    std::vector<std::int64_t> ids;
    const Json generation = generation_config.empty() ? Json::object() : Json::parse(generation_config, nullptr, false);
    if (!generation.is_object()) problems_.push_back("generation_config.json is not a JSON object");
    for (const Json* json : {&std::as_const(json_), &generation}) {
      const Json value = json->is_object() ? json->value(kKey, Json()) : Json();
      for (const Json& one : value.is_array() || value.is_null() ? value : Json::array({value})) {
        const char* file = json == &generation ? "generation_config.json: " : "";
        const std::int64_t id = fitting(one, std::string(file) + "`" + kKey + "`", 0, last);
        if (std::ranges::count(ids, id) == 0) ids.push_back(id);
      }
    }
    if (ids.empty()) problems_.push_back(std::string("`") + kKey + "` is missing");
    const std::size_t most = 1 + ModelTraits().further_end_ids.size();
    check(ids.size() <= most, std::to_string(ids.size()) + " tokens are named as `" + kKey +
                                  "`, and a model can have " + std::to_string(most));
    std::ranges::stable_partition(ids, [](std::int64_t id) { return id == 0; });
    return ids;
  }

  /// A positive number that must be present; else 1.
  double positive_number(const char* key) {
    known_.insert(key);
    if (!has(key)) {
      problems_.push_back(std::string("`") + key + "` is missing");
      return 1;
    }
    const Json& value = json_[key];
    if (value.is_number() && value.get<double>() > 0 && value.get<double>() < 1e30) return value.get<double>();
    problems_.push_back(std::string("`") + key + "` is " + shortened(value) + ", not a positive number");
    return 1;
  }

  /// A switch that may be absent.
  bool flag(const char* key, bool absent) {
    known_.insert(key);
    if (!has(key)) return absent;
    if (json_[key].is_boolean()) return json_[key].get<bool>();
    problems_.push_back(std::string("`") + key + "` is " + shortened(json_[key]) + ", not true or false");
    return absent;
  }

  /// A key that, if present, must have one of these values because another would change the numbers.
  void expect(const char* key, const std::vector<Json>& allowed) {
    known_.insert(key);
    const auto found = json_.find(key);
    if (found == json_.end()) return;
    for (const Json& value : allowed) {
      if (*found == value) return;
    }
    refuse(key, *found, allowed.front().dump());
  }

  /// Keys that have no part in the numbers.
  void ignore(const std::vector<std::string_view>& keys) { known_.insert(keys.begin(), keys.end()); }

  /// A condition on values that have been read; checked only if all of them were valid.
  void check(bool holds, const std::string& problem) {
    if (problems_.empty() && !holds) problems_.push_back(problem);
  }
  bool in_order() const { return problems_.empty(); }

  /// @throws Error naming every key that is missing, of the wrong type or value, or unknown.
  void finish() {
    for (const auto& [key, value] : json_.items()) {
      if (!known_.contains(key)) {
        problems_.push_back("`" + shortened(key) + "` is unknown: it may change what the model computes");
      }
    }
    if (problems_.empty()) return;
    constexpr std::size_t kMostShown = 20;
    std::string list;
    for (std::size_t i = 0; i < std::min(problems_.size(), kMostShown); ++i) list += "\n  " + problems_[i];
    if (problems_.size() > kMostShown) list += "\n  … and " + std::to_string(problems_.size() - kMostShown) + " more";
    throw Error("config.json does not describe a " + family_ + " model that this plugin can compute:" + list,
                "compare it with the config.json of the published model; a key that does not affect "
                "the numbers can be listed in [model] ignored_settings");
  }

 private:
  /// 0, and a problem, unless it is an integer in [minimum, maximum].
  std::int64_t fitting(const Json& value, const std::string& name, std::int64_t minimum, std::int64_t maximum) {
    // Compared as a double: a number beyond 64 bits must not wrap round.
    const bool fits = value.is_number_integer() && value.get<double>() >= static_cast<double>(minimum) &&
                      value.get<double>() <= static_cast<double>(maximum);
    if (fits) return value.get<std::int64_t>();
    problems_.push_back(name + " is " + shortened(value) + ", not an integer from " + std::to_string(minimum) + " to " +
                        std::to_string(maximum));
    return 0;
  }

  /// As transformers 5 writes what earlier versions called `rope_theta` and `rope_scaling`.
  void take_rope_parameters() {
    const std::string name = "rope_parameters";
    known_.insert(name);
    const Json parameters = json_.value(name, Json());
    if (!parameters.is_object() && !parameters.is_null()) refuse(name, parameters, "an object");
    for (const auto& [key, value] : parameters.items()) {
      if (key == "rope_theta" && has("rope_theta") && json_[key] != value) {
        problems_.push_back("`rope_theta` and `" + name + "." + key + "` contradict each other");
      } else if (key == "rope_theta") {
        json_[key] = value;
      } else if (key == "rope_type" || key == "type") {
        if (value != "default") refuse(name + "." + key, value, "\"default\"");
      } else if (key != "partial_rotary_factor" || value != 1) {
        refuse(name + "." + key, value, "rope_theta and rope_type");
      }
    }
  }

  void refuse(const std::string& key, const Json& value, const std::string& supported) {
    problems_.push_back("`" + shortened(key) + "` = " + shortened(value) + " is not supported (only " + supported +
                        ")");
  }

  static std::string shortened(const Json& value) {
    return shortened(value.dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  static std::string shortened(const std::string& text) { return text.size() <= 60 ? text : text.substr(0, 57) + "…"; }

  Json json_;
  std::string family_;
  std::set<std::string, std::less<>> known_;
  std::vector<std::string> problems_;
};

/// @param ids  as ConfigReader::end_ids() gives them
inline void set_end_ids(const std::vector<std::int64_t>& ids, ModelTraits& traits) {
  traits.end_id = ids.front();
  std::ranges::copy(ids.begin() + 1, ids.end(), traits.further_end_ids.begin());
}

}  // namespace drift::nn
