#pragma once

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace drift::nn {

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
    // What the Hugging Face base class writes, and how a text is generated elsewhere.
    ignore({"_attn_implementation",
            "_attn_implementation_autoset",
            "_commit_hash",
            "_name_or_path",
            "architectures",
            "auto_map",
            "bos_token_id",
            "do_sample",
            "dtype",
            "finetuning_task",
            "id2label",
            "initializer_range",
            "is_decoder",
            "is_encoder_decoder",
            "label2id",
            "max_length",
            "output_attentions",
            "output_hidden_states",
            "problem_type",
            "return_dict",
            "temperature",
            "tokenizer_class",
            "top_k",
            "top_p",
            "torch_dtype",
            "torchscript",
            "transformers_version",
            "use_bfloat16",
            "use_cache",
            "use_return_dict",
            "unsloth_version",
            "unsloth_fixed"});
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
    const Json& value = json_[key];
    // Compared as a double: a number beyond 64 bits must not wrap round.
    const bool fits = value.is_number_integer() && value.get<double>() >= static_cast<double>(minimum) &&
                      value.get<double>() <= static_cast<double>(maximum);
    if (fits) return value.get<std::int64_t>();
    problems_.push_back(std::string("`") + key + "` is " + shortened(value) + ", not an integer from " +
                        std::to_string(minimum) + " to " + std::to_string(maximum));
    return 0;
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
    problems_.push_back(std::string("`") + key + "` = " + shortened(*found) + " is not supported (only " +
                        allowed.front().dump() + ")");
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
  static std::string shortened(const Json& value) {
    return shortened(value.dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  static std::string shortened(const std::string& text) { return text.size() <= 60 ? text : text.substr(0, 57) + "…"; }

  Json json_;
  std::string family_;
  std::set<std::string, std::less<>> known_;
  std::vector<std::string> problems_;
};

}  // namespace drift::nn
