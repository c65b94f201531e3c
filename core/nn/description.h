#pragma once

#include <core/nn/transformer_model.h>

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace drift::nn {

/// One place where a value may be found: a constant, `"$key"` of config.json, `"$a / $b"` or `"4 * $a"`.
struct ValueSource {
  nlohmann::json when = nlohmann::json::object();  ///< it counts where config.json has these values; null: or no value
  nlohmann::json left;                             ///< a constant, or a text that begins with $
  char operation = 0;                              ///< '/', '*', or 0: `left` is all
  nlohmann::json right = nullptr;

  std::string name() const;  ///< for messages: `a` / `b`
};

/// The first whose keys are there counts.
using ValueSources = std::vector<ValueSource>;

/// Ids that a response must never contain.
struct ForbiddenIds {
  enum class Kind { kMask, kMaskAndAbove, kFrom };
  Kind kind = Kind::kMask;
  nlohmann::json when = nlohmann::json::object();
  std::int64_t from = 0;  ///< kFrom: this one and all above it
};

/// Values of which a key must have one, because others would change the numbers.
struct RequiredValues {
  struct Value {
    ValueSource source;
    bool each_layer = false;  ///< a list of it for every layer
  };
  nlohmann::json when = nlohmann::json::object();
  std::map<std::string, std::vector<Value>> values;  ///< by key
};

enum class BlockChoice { kFull, kBlock, kEither };  ///< kEither: block attention where the user gives a block's size

/// How weights are drawn. Normal: of one standard deviation, biases and the padding's embedding 0, norms 1. Mitchell:
/// of 1 / sqrt(hidden), and 1 / sqrt(2 (layer + 1) inputs) for what writes to the residual.
struct Initialization {
  bool mitchell = false;
  double deviation = 0;
  double cut = 0;  ///< in standard deviations; 0: not cut
};

/// A family of backbones as data (docs/backbones.md): which checkpoints are of it, what the keys of their config.json
/// mean, which of them must have one value, and the names of their tensors.
struct Description {
  std::string file;  ///< for messages
  std::string family, summary;

  std::string model_type;
  std::vector<std::string> present, absent;  ///< keys of config.json

  std::map<std::string, ValueSources> values;  ///< of [keys] and [bias]: "hidden", "bias.query"; a missing one has none
  PredictionRow prediction_row = PredictionRow::kSame;
  BlockChoice attention = BlockChoice::kFull;
  bool rotary_in_model_type = false;
  bool norm_weight_before_rounding = false;
  bool has_experts = false;      ///< its [moe], whose values are "moe.experts" …
  bool sigmoid_experts = false;  ///< their scores; else a softmax
  std::vector<RequiredValues> required;
  std::vector<std::string> without_effect;
  std::map<std::string, std::string> missing;  ///< by parameter: what to set it to, if config.json lacks it
  TensorNames tensors;
  std::vector<ForbiddenIds> forbidden;
  std::vector<ChatFormat> chat_formats;
  Initialization initialization;

  /// Whether a config.json is of this family.
  bool selects(const nlohmann::json& config) const;
};

/// @param text  TOML @param file  where it is from, for messages
/// @throws Error naming the file, what is wrong with which of its words, and the nearest that there is
Description parse_description(std::string_view text, const std::string& file);

}  // namespace drift::nn
