#include <core/nn/described_config.h>

#include <core/nn/config_reader.h>

#include <algorithm>
#include <array>
#include <utility>

namespace drift::nn {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kLargestSize = 1 << 24;  // of a matrix, and of a vocabulary

/// Looks up the values of a description in a config.json.
class ValueReader {
 public:
  ValueReader(const Description& description, ConfigReader& reader) : description_(description), reader_(reader) {
    for (const auto& [word, sources] : description.values) {
      for (const ValueSource& source : sources) {
        know(source.when);
        for (const Json* operand : {&source.left, &source.right}) {
          if (is_key(*operand)) reader_.ignore({key_of(*operand)});
        }
      }
    }
    for (const ForbiddenIds& ids : description.forbidden) know(ids.when);
    for (const RequiredValues& required : description.required) know(required.when);
  }

  bool holds(const Json& when) const {
    return std::ranges::all_of(when.items(), [&](const auto& one) { return reader_.value(one.key()) == one.value(); });
  }

  /// For messages: the places where the word's value was looked for, or the word itself where there are none.
  std::string name(const std::string& word) const {
    std::string text;
    for (const ValueSource& source : sources(word)) {
      const std::string one = source.name();
      if (one.find('`') != one.npos && text.find(one) == text.npos) text += (text.empty() ? "" : " or ") + one;
    }
    return text.empty() ? "`" + word + "`" : text;
  }

  /// Where a word's value is, and what it is called; null, and a problem, where it is nowhere.
  std::pair<Json, std::string> find(const std::string& word, const std::string& advice = {}) {
    for (const ValueSource& source : sources(word)) {
      if (!holds(source.when)) continue;
      if (const Json found = value(source); !found.is_null()) return {found, source.name()};
      if (was_said_) return {Json(), {}};
    }
    reader_.problem(name(word) + " is missing" + advice);
    return {Json(), {}};
  }

  std::int64_t integer(const std::string& word, std::int64_t minimum, std::int64_t maximum,
                       const std::string& advice = {}) {
    auto [found, name] = find(word, advice);
    if (word == "pad" && found.is_array() && !found.empty()) found = Json(found.front());  // of several end tokens
    return found.is_null() ? 0 : reader_.fitting(found, name, minimum, maximum);
  }

  double number(const std::string& word) {
    const auto [found, name] = find(word);
    return found.is_null() ? 1 : reader_.positive_number(found, name);
  }

  /// False where the description says nothing.
  bool flag(const std::string& word) {
    if (sources(word).empty()) return false;
    const auto [found, name] = find(word);
    return !found.is_null() && reader_.flag(found, name);
  }

  /// Null: it is nowhere.
  Json found_or_null(const std::string& word) {
    for (const ValueSource& source : sources(word)) {
      if (const Json found = holds(source.when) ? value(source) : Json(); !found.is_null()) return found;
    }
    return {};
  }

  /// What a key may be.
  std::vector<Json> allowed(const std::vector<RequiredValues::Value>& values, std::int64_t layers) {
    std::vector<Json> made;
    for (const auto& [source, each_layer] : values) {
      const Json one = value(source);
      made.push_back(each_layer ? Json(std::vector<Json>(static_cast<std::size_t>(layers), one)) : one);
    }
    return made;
  }

 private:
  static bool is_key(const Json& operand) {
    return operand.is_string() && operand.get_ref<const std::string&>().starts_with("$");
  }
  static std::string key_of(const Json& operand) { return operand.get<std::string>().substr(1); }

  void know(const Json& when) {
    for (const auto& [key, value] : when.items()) reader_.ignore({key});
  }

  const ValueSources& sources(const std::string& word) const {
    static const ValueSources none;
    const auto found = description_.values.find(word);
    return found == description_.values.end() ? none : found->second;
  }

  /// Null: a key is not there. Also null, and a problem, if a quotient is not one of integers; `was_said_` is then set.
  Json value(const ValueSource& source) {
    was_said_ = false;
    const auto operand = [&](const Json& one) { return is_key(one) ? reader_.value(key_of(one)) : one; };
    const Json left = operand(source.left), right = operand(source.right);
    if (left.is_null() || source.operation == 0) return left;
    if (right.is_null()) return {};
    const auto number = [&](const Json& one, const Json& from) {
      return reader_.fitting(one, ValueSource{.left = from}.name(), 1, kLargestSize);
    };
    const std::int64_t a = number(left, source.left), b = number(right, source.right);
    if (a > 0 && b > 0 && source.operation == '*') return a * b;
    if (a > 0 && b > 0 && a % b == 0) return a / b;
    was_said_ = true;
    if (a > 0 && b > 0)
      reader_.problem(ValueSource{.left = source.left}.name() + " is not a multiple of " +
                      ValueSource{.left = source.right}.name());
    return {};
  }

  const Description& description_;
  ConfigReader& reader_;
  bool was_said_ = false;
};

/// What is not in the file can come from the user, who is told so.
std::string advice(const Description& description, const std::string& word, const std::string& parameter) {
  const auto found = description.missing.find(word);
  return ": set model." + parameter + (found == description.missing.end() ? "" : "; " + found->second);
}

/// A parameter that only some backbones have.
std::int64_t given(const Parameters& params, const std::string& name, std::int64_t absent) {
  return params.values().contains(name) ? params.get<std::int64_t>(name) : absent;
}

std::int64_t block_size(const Description& description, ValueReader& values, const Parameters& params) {
  const std::int64_t chosen = given(params, "block_size", 0);
  if (description.attention == BlockChoice::kFull) return 0;
  if (chosen > 0 || description.attention == BlockChoice::kEither) return chosen;
  return values.integer("block", 1, 1 << 16, advice(description, "block", "block_size"));
}

void read_shape(const Description& description, ValueReader& values, TransformerShape& shape) {
  shape.hidden = values.integer("hidden", 2, 1 << 20);
  shape.layers = values.integer("layers", 1, 4096);
  shape.heads = values.integer("heads", 1, 1 << 16);
  shape.kv_heads = values.integer(description.values.contains("kv_heads") ? "kv_heads" : "heads", 1, 1 << 16);
  shape.head_dimension = values.integer("head_dimension", 1, 1 << 20);
  shape.feed_forward = values.integer("feed_forward", 1, kLargestSize);
  shape.context_length = values.integer("context", 1, 1 << 22);
  shape.rotary_theta = values.number("rotary_theta");
  shape.rotary_in_model_type = description.rotary_in_model_type;
  shape.norm_epsilon = values.number("norm_epsilon");
  shape.norm_weight_before_rounding = description.norm_weight_before_rounding;
  shape.query_key_norm = values.flag("query_key_norm");
  shape.tied_head = values.flag("tied_head");
  ProjectionBiases& bias = shape.bias;
  const std::array<std::pair<const char*, bool*>, 7> biases{{{"query", &bias.query},
                                                             {"key", &bias.key},
                                                             {"value", &bias.value},
                                                             {"attention_out", &bias.attention_out},
                                                             {"gate", &bias.gate},
                                                             {"up", &bias.up},
                                                             {"down", &bias.down}}};
  for (const auto& [word, flag] : biases) {
    *flag = values.flag(std::string("bias.") + word);
  }
  shape.vocabulary = values.integer("vocabulary", 1, kLargestSize);
}

void read_experts(const Description& description, ValueReader& values, ConfigReader& reader, TransformerShape& shape) {
  if (!description.has_experts) return;
  ExpertShape& experts = shape.experts;
  ExpertChoice& choice = experts.choice;
  choice.experts = values.integer("moe.experts", 1, 1 << 16);
  choice.per_token = values.integer("moe.per_token", 1, 1 << 16);
  choice.groups = values.integer("moe.groups", 1, 1 << 16);
  choice.groups_kept = values.integer("moe.groups_kept", 1, 1 << 16);
  choice.sigmoid = description.sigmoid_experts;
  choice.scale = values.number("moe.scale");
  experts.first_layer = values.integer("moe.first_layer", 0, 4096);
  experts.feed_forward = values.integer("moe.width", 1, kLargestSize);
  experts.shared = values.integer("moe.shared", 0, 1 << 10) * experts.feed_forward;
  experts.bias = values.flag("moe.choice_bias");
  const std::string number = values.name("moe.experts"), groups = values.name("moe.groups");
  reader.check(choice.experts % std::max<std::int64_t>(choice.groups, 1) == 0,
               number + " is not a multiple of " + groups);
  constexpr std::int64_t kMostInAll = 1 << 16;  // each has three tensors
  reader.check(shape.layers * choice.experts <= kMostInAll, "the layers have more than 65536 " + number + " in all");
  reader.check(choice.groups_kept <= choice.groups, values.name("moe.groups_kept") + " is more than " + groups);
  reader.check(choice.per_token * choice.groups <= choice.experts * choice.groups_kept,
               values.name("moe.per_token") + " is more than the experts that a token can choose among, of " + number);
}

void check_shape(ValueReader& values, ConfigReader& reader, TransformerShape& shape) {
  reader.check(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0,
               values.name("heads") + " is not a multiple of " + values.name("kv_heads"));
  const double part = values.number("rotary_part");
  shape.rotary_dimension = static_cast<std::int64_t>(part * static_cast<double>(shape.head_dimension));
  reader.check(part <= 1, values.name("rotary_part") + " is more than the whole head");
  reader.check(shape.rotary_dimension > 0 && shape.rotary_dimension % 2 == 0,
               "the head dimension " + values.name("head_dimension") + " is odd, or the part of it that is rotated");
}

/// All that must have one value, and all that have none that counts.
void check_required(const Description& description, ValueReader& values, ConfigReader& reader, std::int64_t layers) {
  reader.expect("model_type", {description.model_type});
  for (const std::string& key : description.absent) {
    if (reader.has(key)) reader.problem("`" + key + "` is there: the checkpoint is of another family");
  }
  reader.ignore(description.present);
  reader.ignore(description.absent);
  for (const RequiredValues& required : description.required) {
    for (const auto& [key, allowed] : required.values) {
      const auto meant = values.allowed(allowed, layers);
      if (required.when.empty()) {
        reader.expect(key, meant);
        continue;
      }
      const auto other = required.when.begin();
      if (values.holds(required.when) && std::ranges::count(meant, reader.take(key)) == 0)
        reader.problem("`" + key + "` = " + ConfigReader::shortened(reader.value(key)) + " and `" + other.key() +
                       "` = " + other.value().dump() + " contradict each other");
    }
  }
  reader.ignore(description.without_effect);
}

std::vector<std::pair<std::int64_t, std::int64_t>> forbidden_ids(const Description& description, ValueReader& values,
                                                                 const ModelTraits& traits, std::int64_t vocabulary) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  const auto add = [&](std::int64_t first, std::int64_t end) {
    if (first < end) ranges.emplace_back(first, end);
  };
  for (const ForbiddenIds& ids : description.forbidden) {
    if (!values.holds(ids.when)) continue;
    const std::int64_t mask = traits.mask_id, pad = traits.pad_id;
    if (ids.kind == ForbiddenIds::Kind::kFrom) add(ids.from, vocabulary);
    if (ids.kind == ForbiddenIds::Kind::kMask) add(mask, mask + 1);
    if (ids.kind != ForbiddenIds::Kind::kMaskAndAbove) continue;
    add(mask, pad > mask ? pad : vocabulary);
    if (pad > mask) add(pad + 1, vocabulary);
  }
  return ranges;
}

}  // namespace

std::vector<Parameter> described_parameters(const Description& description) {
  std::vector<Parameter> params{
      {"padding", "masked",
       "whether prompts attend to their padding; \"attended\" is as in the originals, where a "
       "row depends on its batch",
       one_of({"masked", "attended"})}};
  if (description.prediction_row == PredictionRow::kPrevious)
    params.push_back(
        {"scored_row", "previous",
         "which row scores the first token of a response; \"within_response\" is as in originals that shift a "
         "response's logits on their own, where it is the token's own",
         one_of({"previous", "within_response"})});
  if (description.attention != BlockChoice::kFull)
    params.push_back({"block_size", 0, "tokens of a block; 0: as config.json says", between(0, 1 << 16)});
  params.push_back({"mask_id", -1, "the mask token; -1: as config.json says", at_least(-1)});
  params.push_back({"ignored_settings", std::vector<std::string>{},
                    "unknown keys of config.json that do not affect what the model computes"});
  return params;
}

DescribedConfig read_config(const Description& description, const ModelConfig& model, const Parameters& params) {
  ConfigReader reader(model.config_json, description.family, params.get<std::vector<std::string>>("ignored_settings"));
  ValueReader values(description, reader);
  DescribedConfig made;
  auto& [shape, traits] = made;
  read_shape(description, values, shape);
  read_experts(description, values, reader, shape);
  const std::int64_t last_id = reader.in_order() ? shape.vocabulary - 1 : kLargestSize;
  traits.family = description.family;
  traits.block_size = block_size(description, values, params);
  const std::int64_t mask = given(params, "mask_id", -1);
  traits.mask_id = mask >= 0 ? reader.fitting(mask, "`mask_id` of [model]", 0, last_id)
                             : values.integer("mask", 0, last_id, advice(description, "mask", "mask_id"));
  traits.pad_id = values.integer("pad", 0, last_id);
  shape.padding_row = values.integer("padding_row", -1, last_id);
  shape.attend_to_padding = params.get<std::string>("padding") == "attended";
  traits.prediction_row = description.prediction_row;
  // The originals' losses shift a response's logits on their own, so that its first position takes its own row.
  traits.first_scored_at_own_row = description.prediction_row == PredictionRow::kPrevious &&
                                   params.get<std::string>("scored_row") == "within_response";
  const auto ends =
      reader.end_ids(values.found_or_null("end"), values.name("end"), last_id, model.generation_config_json);
  check_required(description, values, reader, shape.layers);
  check_shape(values, reader, shape);
  const std::string name = description.file;
  reader.finish("[without_effect] of " + name +
                " if it has no part in the numbers, [required] if one value of it is "
                "computed, and [keys] if all are");
  set_end_ids(ends, traits);
  traits.forbidden_output_ids = forbidden_ids(description, values, traits, shape.vocabulary);
  traits.chat_formats = description.chat_formats;
  return made;
}

}  // namespace drift::nn
