#include <core/nn/description.h>

#include <core/nn/description_toml.h>

#include <drift/error.h>
#include <drift/nearest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

namespace drift::nn {

extern const char* const kLlamaDescription;  ///< llama.toml

namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

const Words kTables = {"family",   "summary",   "like",       "select",         "keys",    "bias",
                       "switches", "required",  "consistent", "without_effect", "missing", "moe",
                       "tensors",  "forbidden", "chat",       "initialization"};
const Words kKeys = {"hidden",       "layers",     "heads",          "kv_heads",     "head_dimension",
                     "feed_forward", "vocabulary", "context",        "norm_epsilon", "rotary_theta",
                     "rotary_part",  "tied_head",  "query_key_norm", "mask",         "pad",
                     "padding_row",  "end",        "block"};
const Words kOfExperts = {"experts",     "per_token", "width",  "first_layer", "groups",
                          "groups_kept", "scale",     "shared", "choice_bias", "score"};
const Words kBiases = {"query", "key", "value", "attention_out", "gate", "up", "down"};

/// The words of [tensors].
struct TensorWord {
  const char* word;
  std::string TensorNames::*name;
  bool has_layer = true;
};
constexpr TensorWord kTensors[] = {
    {"embedding", &TensorNames::embedding, false},
    {"final_norm", &TensorNames::final_norm, false},
    {"head", &TensorNames::head, false},
    {"attention_norm", &TensorNames::attention_norm},
    {"query", &TensorNames::query},
    {"key", &TensorNames::key},
    {"value", &TensorNames::value},
    {"query_key_value", &TensorNames::query_key_value},
    {"attention_out", &TensorNames::attention_out},
    {"query_norm", &TensorNames::query_norm},
    {"key_norm", &TensorNames::key_norm},
    {"feed_forward_norm", &TensorNames::feed_forward_norm},
    {"gate", &TensorNames::gate},
    {"up", &TensorNames::up},
    {"down", &TensorNames::down},
    {"router", &TensorNames::router},
    {"router_bias", &TensorNames::router_bias},
    {"expert_gate", &TensorNames::expert_gate},
    {"expert_up", &TensorNames::expert_up},
    {"expert_down", &TensorNames::expert_down},
    {"shared_gate", &TensorNames::shared_gate},
    {"shared_up", &TensorNames::shared_up},
    {"shared_down", &TensorNames::shared_down},
};

/// `own` over `base`: tables are joined word by word; lists of required values stand for themselves.
void lay_over(Json& base, const Json& own) {
  for (const auto& [key, value] : own.items()) {
    if (value.is_object() && base.contains(key) && base[key].is_object()) {
      lay_over(base[key], value);
    } else {
      base[key] = value;
    }
  }
}

/// Reads one description; `at` in messages is "[keys] hidden".
class DescriptionReader {
 public:
  DescriptionReader(std::string_view text, std::string file)
      : file_(std::move(file)), json_(parse_description_toml(text, file_)) {
    check_words(json_, kTables, "");
    const std::string like = text_of(json_, "like", "", /*needed=*/false);
    if (like == "llama") {
      Json base = parse_description_toml(kLlamaDescription, "llama.toml");
      lay_over(base, json_);
      json_ = std::move(base);
    } else if (!like.empty()) {
      fail("like", "`" + like + "` is not known", "the only one is `llama`");
    }
  }

  Description read() {
    Description made;
    made.file = file_;
    made.family = text_of(json_, "family", "");
    made.summary = text_of(json_, "summary", "");
    read_selection(made);
    read_values(made);
    read_switches(made);
    read_required(made);
    read_experts(made);
    read_tensors(made);
    read_forbidden(made);
    for (const Json& one : list(json_, "chat", "")) made.chat_formats.push_back(chat_format(one));
    read_initialization(made);
    return made;
  }

 private:
  [[noreturn]] void fail(const std::string& at, const std::string& problem, const std::string& hint = {}) const {
    throw Error(file_ + ": " + (at.empty() ? "" : at + ": ") + problem, hint);
  }

  static std::string shortened(const Json& value) {
    const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() <= 60 ? text : text.substr(0, 57) + "…";
  }

  [[noreturn]] void fail_unknown(const std::string& at, const std::string& word, const Words& words) const {
    std::string all;
    for (const std::string& one : words) all += (all.empty() ? "" : ", ") + one;
    const std::string nearest = nearest_name(word, words);
    fail(at, "`" + word.substr(0, 60) + "` is not known",
         (nearest.empty() ? "" : "did you mean `" + nearest + "`? ") + "there are: " + all);
  }

  void check_words(const Json& table, const Words& words, const std::string& at) const {
    if (!table.is_object()) fail(at, shortened(table) + " is not a table");
    for (const auto& [key, value] : table.items()) {
      if (std::ranges::count(words, key) == 0) fail_unknown(at, key, words);
    }
  }

  static std::string place(const std::string& at, const std::string& key) { return at.empty() ? key : at + " " + key; }

  std::string text_of(const Json& table, const std::string& key, const std::string& at, bool needed = true) const {
    if (!table.contains(key)) {
      if (needed) fail(at, "`" + key + "` is missing");
      return {};
    }
    if (!table[key].is_string()) fail(place(at, key), shortened(table[key]) + " is not a text");
    return table[key];
  }

  double number_of(const Json& table, const std::string& key, const std::string& at, double absent) const {
    if (!table.contains(key)) return absent;
    if (!table[key].is_number() || table[key] < 0 || table[key] > 1e3)
      fail(place(at, key), shortened(table[key]) + " is not a number from 0 to 1000");
    return table[key];
  }

  bool flag_of(const Json& table, const std::string& key, const std::string& at) const {
    if (!table.contains(key)) return false;
    if (!table[key].is_boolean()) fail(place(at, key), shortened(table[key]) + " is not true or false");
    return table[key];
  }

  Json list(const Json& table, const std::string& key, const std::string& at) const {
    if (!table.contains(key)) return Json::array();
    if (!table[key].is_array()) fail(place(at, key), shortened(table[key]) + " is not a list");
    return table[key];
  }

  Words texts(const Json& table, const std::string& key, const std::string& at) const {
    Words made;
    for (const Json& one : list(table, key, at)) {
      if (!one.is_string()) fail(place(at, key), shortened(one) + " is not a text");
      made.push_back(one);
    }
    return made;
  }

  /// One of some words; the first if it is not there.
  std::string choice(const Json& table, const std::string& key, const std::string& at, const Words& words) const {
    if (!table.contains(key)) return words.front();
    const std::string word = text_of(table, key, at);
    if (std::ranges::count(words, word) == 0) fail_unknown(place(at, key), word, words);
    return word;
  }

  Json table_of(const std::string& name, const Words& words) const {
    const Json table = json_.value(name, Json::object());
    check_words(table, words, "[" + name + "]");
    return table;
  }

  Json condition(const Json& table, const std::string& at) const {
    const Json when = table.value("when", Json::object());
    if (!when.is_object()) fail(place(at, "when"), shortened(when) + " is not a table of keys and their values");
    return when;
  }

  Json operand(const std::string& text, const std::string& at) const {
    if (text.size() > 1 && text.front() == '$') return text;
    if (!text.empty() && text.size() <= 8 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
      return std::stoll(text);
    fail(at, "`" + text.substr(0, 60) + "` is neither a number nor a key",
         "a key of config.json is written \"$hidden_size\", a quotient \"$hidden_size / $num_attention_heads\"");
  }

  ValueSource source(const Json& value, const std::string& at) const {
    ValueSource made;
    if (value.is_object()) {
      check_words(value, {"when", "value"}, at);
      if (!value.contains("value")) fail(at, "`value` is missing beside `when`");
      made = source(value["value"], at);
      made.when = condition(value, at);
      return made;
    }
    if (value.is_number() || value.is_boolean()) {
      made.left = value;
      return made;
    }
    if (!value.is_string()) fail(at, shortened(value) + " is neither a number, nor a key, nor true or false");
    std::istringstream stream(value.get<std::string>());
    std::string left, operation, right, rest;
    stream >> left >> operation >> right >> rest;
    made.left = operand(left, at);
    if (operation.empty()) return made;
    if ((operation != "/" && operation != "*") || right.empty() || !rest.empty())
      fail(at, "`" + value.get<std::string>().substr(0, 60) + "` is not of the form A / B or A * B");
    made.operation = operation.front();
    made.right = operand(right, at);
    return made;
  }

  ValueSources sources(const Json& value, const std::string& at) const {
    ValueSources made;
    for (const Json& one : value.is_array() ? value : Json::array({value})) made.push_back(source(one, at));
    if (made.empty()) fail(at, "the list is empty");
    return made;
  }

  void read_selection(Description& made) const {
    const Json table = table_of("select", {"model_type", "present", "absent"});
    made.model_type = text_of(table, "model_type", "[select]");
    made.present = texts(table, "present", "[select]");
    made.absent = texts(table, "absent", "[select]");
  }

  void read_values(Description& made) const {
    const Json keys = table_of("keys", kKeys), biases = table_of("bias", kBiases);
    for (const auto& [key, value] : keys.items()) made.values[key] = sources(value, "[keys] " + key);
    for (const auto& [key, value] : biases.items()) made.values["bias." + key] = sources(value, "[bias] " + key);
    for (const char* needed : {"hidden", "layers", "heads", "head_dimension", "feed_forward", "vocabulary", "context",
                               "norm_epsilon", "rotary_theta", "pad"}) {
      if (!made.values.contains(needed)) fail("[keys]", std::string("`") + needed + "` is missing");
    }
    if (!made.values.contains("end")) made.values["end"] = sources("$eos_token_id", "");
    const auto also = [&](const char* key, const Json& meaning) {
      if (!made.values.contains(key)) made.values[key] = sources(meaning, "");
    };
    also("tied_head", false);
    also("query_key_norm", false);
    also("padding_row", -1);
    also("rotary_part", 1.0);
  }

  void read_switches(Description& made) const {
    const std::string at = "[switches]";
    const Json table = table_of("switches", {"predicts", "attention", "rotation", "norm_weight"});
    if (!table.contains("predicts")) fail(at, "`predicts` is missing", "which row predicts a token: same, previous");
    if (!table.contains("attention")) fail(at, "`attention` is missing", "full, block or either");
    const bool previous = choice(table, "predicts", at, {"same", "previous"}) == "previous";
    made.prediction_row = previous ? PredictionRow::kPrevious : PredictionRow::kSame;
    const std::string attention = choice(table, "attention", at, {"full", "block", "either"});
    made.attention = attention == "full"    ? BlockChoice::kFull
                     : attention == "block" ? BlockChoice::kBlock
                                            : BlockChoice::kEither;
    made.rotary_in_model_type = choice(table, "rotation", at, {"float32", "model_type"}) == "model_type";
    made.norm_weight_before_rounding =
        choice(table, "norm_weight", at, {"after_rounding", "before_rounding"}) == "before_rounding";
    const Json missing = table_of("missing", {"block", "mask"});
    for (const auto& [key, value] : missing.items()) made.missing[key] = text_of(missing, key, "[missing]");
  }

  void read_experts(Description& made) const {
    const std::string at = "[moe]";
    Json table = table_of("moe", kOfExperts);
    made.has_experts = !table.empty();
    if (!made.has_experts) return;
    made.sigmoid_experts = choice(table, "score", at, {"softmax", "sigmoid"}) == "sigmoid";
    table.erase("score");
    for (const char* needed : {"experts", "per_token", "width"}) {
      if (!table.contains(needed)) fail(at, std::string("`") + needed + "` is missing");
    }
    const Json absent = {{"first_layer", 0}, {"groups", 1}, {"groups_kept", 1}, {"scale", 1.0}, {"shared", 0}};
    for (const auto& [key, meaning] : absent.items()) {
      if (!table.contains(key)) table[key] = meaning;
    }
    for (const auto& [key, value] : table.items()) made.values["moe." + key] = sources(value, at + " " + key);
  }

  RequiredValues required(const Json& table, const std::string& at) const {
    RequiredValues made;
    if (!table.is_object()) fail(at, shortened(table) + " is not a table");
    for (const auto& [key, values] : table.items()) {
      if (!values.is_array() || values.empty())
        fail(place(at, key), "a list of the values that are computed is needed");
      for (const Json& value : values) {
        const bool each = value.is_object() && value.size() == 1 && value.contains("each_layer");
        const bool is_found = value.is_string() && value.get<std::string>().starts_with("$");
        made.values[key].push_back({is_found ? source(value, place(at, key)) : ValueSource{.left = value}, each});
        if (each) made.values[key].back().source.left = value["each_layer"];
      }
    }
    return made;
  }

  void read_required(Description& made) const {
    made.required.push_back(required(json_.value("required", Json::object()), "[required]"));
    for (const Json& one : list(json_, "consistent", "")) {
      const std::string at = "[[consistent]]";
      check_words(one, {"when", "values"}, at);
      made.required.push_back(required(one.value("values", Json()), place(at, "values")));
      made.required.back().when = condition(one, at);
    }
    const Json without = json_.value("without_effect", Json::object());
    if (!without.is_object()) fail("[without_effect]", shortened(without) + " is not a table of lists of keys");
    for (const auto& [reason, keys] : without.items()) {
      for (std::string& key : texts(without, reason, "[without_effect]")) made.without_effect.push_back(std::move(key));
    }
  }

  void read_tensors(Description& made) const {
    Words words;
    for (const TensorWord& one : kTensors) words.emplace_back(one.word);
    const Json table = table_of("tensors", words);
    const bool is_one = table.contains("query_key_value");
    const auto is_off = [&](const char* word) {
      const auto found = made.values.find(word);
      return found == made.values.end() || found->second.front().left == Json(false) ||
             found->second.front().left == Json(0);
    };
    const auto is_needed = [&](const std::string& key) {
      if (key == "query" || key == "key" || key == "value") return !is_one;
      if (key == "query_key_value") return is_one;
      if (key == "query_norm" || key == "key_norm") return !is_off("query_key_norm");
      if (key == "router_bias") return !is_off("moe.choice_bias");
      if (key.starts_with("shared_")) return !is_off("moe.shared");
      return made.has_experts || !(key.starts_with("expert_") || key == "router");
    };
    std::set<std::string> known;
    for (const auto& [word, member, has_layer] : kTensors) {
      const std::string key = word, at = "[tensors] " + key;
      if (is_one && (key == "query" || key == "key" || key == "value")) continue;  // of what it is like
      std::string& name = made.tensors.*member;
      name = text_of(table, key, "[tensors]", is_needed(key));
      if (name.empty()) continue;
      const auto check_number = [&](const std::string& number, bool needed) {
        const auto first = name.find(number);
        if ((first != name.npos) != needed || (needed && name.find(number, first + 1) != name.npos))
          fail(at, "`" + name + "` " + (needed ? "must have one" : "must not have") + " `" + number + "`");
      };
      check_number("{layer}", has_layer);
      check_number("{expert}", key.starts_with("expert_"));
      if (!name.ends_with(".weight") && key != "router_bias") fail(at, "`" + name + "` does not end in `.weight`");
      if (!known.insert(name).second) fail(at, "`" + name + "` is also another tensor's name");
    }
  }

  void read_forbidden(Description& made) const {
    const std::string at = "[forbidden] ids";
    for (const Json& one : list(table_of("forbidden", {"ids"}), "ids", "[forbidden]")) {
      ForbiddenIds ids;
      if (one.is_object()) {
        check_words(one, {"when", "from"}, at);
        const Json from = one.value("from", Json());
        if (!from.is_number_integer() || from < 0) fail(at, "`from` = " + shortened(from) + " is no token");
        ids = {ForbiddenIds::Kind::kFrom, condition(one, at), from.get<std::int64_t>()};
      } else if (one == "mask_and_above") {
        ids.kind = ForbiddenIds::Kind::kMaskAndAbove;
      } else if (one != "mask") {
        fail_unknown(at, shortened(one), {"mask", "mask_and_above"});
      }
      made.forbidden.push_back(ids);
    }
  }

  ChatFormat chat_format(const Json& table) const {
    const std::string at = "[[chat]]";
    check_words(table,
                {"name", "opening", "turn_begin", "turn_end", "reply_begin", "default_system", "trims_text", "roles",
                 "system_suffix", "no_thinking", "drops_thinking"},
                at);
    const auto text = [&](const char* key) { return text_of(table, key, at, /*needed=*/false); };
    ChatFormat format;
    format.name = text_of(table, "name", at);
    format.opening = text("opening");
    format.turn_begin = text("turn_begin");
    format.turn_end = text("turn_end");
    format.reply_begin = text("reply_begin");
    format.default_system = text("default_system");
    format.trims_text = flag_of(table, "trims_text", at);
    format.system_suffix = text("system_suffix");
    format.no_thinking = text("no_thinking");
    format.drops_thinking = flag_of(table, "drops_thinking", at) ? 1 : 0;
    const Words roles = texts(table, "roles", at);
    if (!roles.empty() && roles.size() != 3) fail(place(at, "roles"), "there are three: of system, user and assistant");
    for (const std::string& role : roles) format.roles += (format.roles.empty() ? "" : ",") + role;
    return format;
  }

  void read_initialization(Description& made) const {
    const std::string at = "[initialization]";
    const Json table = table_of("initialization", {"scheme", "deviation", "cut"});
    made.initialization.mitchell = choice(table, "scheme", at, {"normal", "mitchell"}) == "mitchell";
    made.initialization.deviation = number_of(table, "deviation", at, 0.02);
    made.initialization.cut = number_of(table, "cut", at, 0);
  }

  std::string file_;
  Json json_;
};

}  // namespace

std::string ValueSource::name() const {
  const auto text = [](const Json& value) {
    return value.is_string() ? "`" + value.get<std::string>().substr(1) + "`" : value.dump();
  };
  return text(left) + (operation == 0 ? "" : std::string(" ") + operation + " " + text(right));
}

bool Description::selects(const Json& config) const {
  const auto has = [&](const std::string& key) { return !config.value(key, Json()).is_null(); };
  return config.is_object() && config.value("model_type", Json()) == model_type && std::ranges::all_of(present, has) &&
         std::ranges::none_of(absent, has);
}

Description parse_description(std::string_view text, const std::string& file) {
  return DescriptionReader(text, file).read();
}

}  // namespace drift::nn
