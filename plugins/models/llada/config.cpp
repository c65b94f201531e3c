#include "config.h"

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <vector>

namespace {

using Json = nlohmann::json;

/// Collects what is wrong, so that one message names all of it.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  template <class T>
  T require(const char* key, double minimum) {
    const auto found = json_.find(key);
    if (found == json_.end() || found->is_null()) {
      problems_.push_back(std::string("`") + key + "` is missing");
      return T{};
    }
    const bool fits = std::is_integral_v<T> ? found->is_number_integer() : found->is_number();
    if (!fits || found->get<double>() < minimum || found->get<double>() > 1e15) {
      problems_.push_back(std::string("`") + key + "` is " + found->dump() + ", not " +
                          (std::is_integral_v<T> ? "an integer" : "a number") + " in range");
      return T{};
    }
    return found->get<T>();
  }

  /// A key that, where present, must have one of these values because another would change the numbers.
  void expect(const char* key, const std::vector<Json>& allowed) {
    const auto found = json_.find(key);
    if (found == json_.end()) return;
    for (const Json& value : allowed) {
      if (*found == value) return;
    }
    problems_.push_back(std::string("`") + key + "` = " + found->dump() + " is not supported (only " +
                        allowed.front().dump() + ")");
  }

  void check(bool holds, const std::string& problem) {
    if (problems_.empty() && !holds) problems_.push_back(problem);
  }

  void finish() const {
    if (problems_.empty()) return;
    std::string list;
    for (const std::string& problem : problems_) list += "\n  " + problem;
    throw drift::Error("config.json does not describe a LLaDA model that this plugin can compute:" + list,
                       "compare it with the config.json that the original model is published with");
  }

 private:
  const Json& json_;
  std::vector<std::string> problems_;
};

}  // namespace

LladaConfig LladaConfig::parse(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw drift::Error("config.json is not a JSON object");

  Reader reader(json);
  LladaConfig config;
  config.d_model = reader.require<std::int64_t>("d_model", 1);
  config.n_layers = reader.require<std::int64_t>("n_layers", 1);
  config.n_heads = reader.require<std::int64_t>("n_heads", 1);
  config.mlp_hidden_size = reader.require<std::int64_t>("mlp_hidden_size", 1);
  config.max_sequence_length = reader.require<std::int64_t>("max_sequence_length", 1);
  config.rope_theta = reader.require<double>("rope_theta", 1);
  config.rms_norm_eps = reader.require<double>("rms_norm_eps", 0);
  config.mask_token_id = reader.require<std::int64_t>("mask_token_id", 0);
  config.eos_token_id = reader.require<std::int64_t>("eos_token_id", 0);
  config.pad_token_id = reader.require<std::int64_t>("pad_token_id", 0);
  const auto vocabulary = reader.require<std::int64_t>("vocab_size", 1);
  const bool has_embedding_size = json.contains("embedding_size") && !json["embedding_size"].is_null();
  config.vocabulary_rows = has_embedding_size ? reader.require<std::int64_t>("embedding_size", 1) : vocabulary;
  const bool has_kv_heads = json.contains("n_kv_heads") && !json["n_kv_heads"].is_null();
  config.n_kv_heads = has_kv_heads ? reader.require<std::int64_t>("n_kv_heads", 1) : config.n_heads;

  reader.expect("model_type", {"llada"});
  reader.expect("weight_tying", {false, true});
  reader.expect("block_type", {"llama"});
  reader.expect("activation_type", {"silu"});
  reader.expect("layer_norm_type", {"rms"});
  reader.expect("layer_norm_with_affine", {true});
  reader.expect("rope", {true});
  reader.expect("rope_full_precision", {true});
  reader.expect("multi_query_attention", {nullptr, false});
  for (const char* key : {"bias_for_layer_norm", "attention_layer_norm", "include_bias", "include_qkv_bias", "alibi",
                          "input_emb_norm", "scale_logits"}) {
    reader.expect(key, {false, nullptr});
  }
  for (const char* key : {"embedding_dropout", "residual_dropout", "attention_dropout"}) reader.expect(key, {0.0});
  reader.expect("block_group_size", {1});
  reader.expect("rope_scaling", {nullptr});

  reader.check(config.n_heads > 0 && config.d_model % config.n_heads == 0, "`d_model` is not a multiple of `n_heads`");
  reader.check(config.n_kv_heads > 0 && config.n_heads % config.n_kv_heads == 0,
               "`n_heads` is not a multiple of `n_kv_heads`");
  reader.check(config.n_heads > 0 && config.head_dimension() % 2 == 0,
               "the head dimension `d_model` / `n_heads` is odd");
  for (const auto id : {config.mask_token_id, config.eos_token_id, config.pad_token_id}) {
    reader.check(id < config.vocabulary_rows, "a special token id lies beyond the vocabulary (`embedding_size`)");
  }
  reader.finish();
  config.weight_tying = json.value("weight_tying", false);
  return config;
}
