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

  bool has(const std::string& key) const { return !value(key).is_null(); }

  /// The key's value; null: it is absent, or null. From now on the key is known.
  Json take(const std::string& key) {
    known_.insert(key);
    return value(key);
  }
  /// The same of a key that may stay unknown.
  Json value(const std::string& key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? Json() : *found;
  }

  /// The tokens that end a text, all of them in [0, last]: `value`, a number or a list, which is called `name`, and
  /// what generation_config.json adds. Token 0 comes first, where ModelTraits wants it; else the first of `value`.
  std::vector<std::int64_t> end_ids(const Json& value, const std::string& name, std::int64_t last,
                                    const std::string& generation_config) {
    std::vector<std::int64_t> ids;
    const Json generation = generation_config.empty() ? Json::object() : Json::parse(generation_config, nullptr, false);
    if (!generation.is_object()) problem("generation_config.json is not a JSON object");
    const auto add = [&](const Json& ends, const std::string& called) {
      for (const Json& one : ends.is_array() || ends.is_null() ? ends : Json::array({ends})) {
        const std::int64_t id = fitting(one, called, 0, last);
        if (std::ranges::count(ids, id) == 0) ids.push_back(id);
      }
    };
    add(value, name);
    if (generation.is_object()) add(generation.value("eos_token_id", Json()), "generation_config.json: `eos_token_id`");
    if (ids.empty()) problem(name + " is missing");
    const std::size_t most = 1 + ModelTraits().further_end_ids.size();
    check(ids.size() <= most, std::to_string(ids.size()) + " tokens are named as " + name + ", and a model can have " +
                                  std::to_string(most));
    std::ranges::stable_partition(ids, [](std::int64_t id) { return id == 0; });
    return ids;
  }

  /// A positive number; else 1.
  double positive_number(const Json& value, const std::string& name) {
    if (value.is_number() && value.get<double>() > 0 && value.get<double>() < 1e30) return value.get<double>();
    problem(name + " is " + shortened(value) + ", not a positive number");
    return 1;
  }

  /// A switch; else false.
  bool flag(const Json& value, const std::string& name) {
    if (value.is_boolean()) return value.get<bool>();
    problem(name + " is " + shortened(value) + ", not true or false");
    return false;
  }

  /// An integer in [minimum, maximum]; else 0. Compared as a double: a number beyond 64 bits must not wrap round.
  std::int64_t fitting(const Json& value, const std::string& name, std::int64_t minimum, std::int64_t maximum) {
    const bool fits = value.is_number_integer() && value.get<double>() >= static_cast<double>(minimum) &&
                      value.get<double>() <= static_cast<double>(maximum);
    if (fits) return value.get<std::int64_t>();
    problem(name + " is " + shortened(value) + ", not an integer from " + std::to_string(minimum) + " to " +
            std::to_string(maximum));
    return 0;
  }

  /// A key that, if present, must have one of these values because another would change the numbers.
  void expect(const std::string& key, const std::vector<Json>& allowed) {
    known_.insert(key);
    const auto found = json_.find(key);
    if (found == json_.end()) return;
    for (const Json& value : allowed) {
      if (*found == value) return;
    }
    refuse(key, *found, allowed.front().dump());
  }

  /// Keys that have no part in the numbers.
  void ignore(const std::vector<std::string>& keys) { known_.insert(keys.begin(), keys.end()); }

  /// Something is wrong; said once.
  void problem(const std::string& what) {
    const auto first = problems_.begin(), last = first + std::min<std::ptrdiff_t>(std::ssize(problems_), kMostShown);
    if (std::find(first, last, what) == last) problems_.push_back(what);
  }

  /// A condition on values that have been read; checked only if all of them were valid.
  void check(bool holds, const std::string& what) {
    if (problems_.empty() && !holds) problems_.push_back(what);
  }
  bool in_order() const { return problems_.empty(); }

  /// A value as messages show it.
  static std::string shortened(const Json& value) {
    return shortened(value.dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  static std::string shortened(const std::string& text) { return text.size() <= 60 ? text : text.substr(0, 57) + "…"; }

  /// @param lists  where a key that is unknown would have to stand to be known
  /// @throws Error naming every key that is missing, of the wrong type or value, or unknown.
  void finish(const std::string& lists) {
    for (const auto& [key, value] : json_.items()) {
      if (!known_.contains(key)) {
        problem("`" + shortened(key) + "` is unknown: it may change what the model computes");
      }
    }
    if (problems_.empty()) return;
    std::string list;
    for (std::size_t i = 0; i < std::min(problems_.size(), kMostShown); ++i) list += "\n  " + problems_[i];
    if (problems_.size() > kMostShown) list += "\n  … and " + std::to_string(problems_.size() - kMostShown) + " more";
    throw Error("config.json does not describe a " + family_ + " model that this plugin can compute:" + list,
                "compare it with the config.json of the published model; an unknown key joins " + lists +
                    "; for one run, a key that does not affect the numbers can be listed in [model] ignored_settings");
  }

 private:
  /// As transformers 5 writes what earlier versions called `rope_theta` and `rope_scaling`.
  void take_rope_parameters() {
    const std::string name = "rope_parameters";
    known_.insert(name);
    const Json parameters = json_.value(name, Json());
    if (!parameters.is_object() && !parameters.is_null()) refuse(name, parameters, "an object");
    for (const auto& [key, value] : parameters.items()) {
      if (key == "rope_theta" && has("rope_theta") && json_[key] != value) {
        problem("`rope_theta` and `" + name + "." + key + "` contradict each other");
      } else if (key == "rope_theta") {
        json_[key] = value;
      } else if (key == "rope_type" || key == "type") {
        if (value != "default") refuse(name + "." + key, value, "\"default\"");
      } else if (key == "partial_rotary_factor" && value != 1) {
        json_[key] = value;  // one more name of the key that earlier versions have
      } else if (key != "partial_rotary_factor") {
        refuse(name + "." + key, value, "rope_theta and rope_type");
      }
    }
  }

  void refuse(const std::string& key, const Json& value, const std::string& supported) {
    problem("`" + shortened(key) + "` = " + shortened(value) + " is not supported (only " + supported + ")");
  }

  static constexpr std::size_t kMostShown = 20;
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
