#include "config.h"

#include <core/nn/config_reader.h>

namespace drift::dream {

DreamConfig DreamConfig::parse(const std::string& text, const std::vector<std::string>& ignored,
                               const std::string& generation_config) {
  nn::ConfigReader reader(text, "Dream", ignored);
  DreamConfig config;
  auto& shape = config.shape;
  shape.hidden = reader.integer("hidden_size", 2, 1 << 20);
  shape.layers = reader.integer("num_hidden_layers", 1, 4096);
  shape.heads = reader.integer("num_attention_heads", 1, 1 << 16);
  shape.kv_heads = reader.integer("num_key_value_heads", 1, 1 << 16);
  shape.feed_forward = reader.integer("intermediate_size", 1, 1 << 24);
  shape.context_length = reader.integer("max_position_embeddings", 1, 1 << 22);
  shape.rotary_theta = reader.positive_number("rope_theta");
  shape.rotary_in_model_type = true;
  shape.norm_epsilon = reader.positive_number("rms_norm_eps");
  shape.query_key_value_bias = true;
  shape.tied_head = reader.flag("tie_word_embeddings", false);
  shape.vocabulary = reader.integer("vocab_size", 1, 1 << 24);
  const std::int64_t last_id = reader.in_order() ? shape.vocabulary - 1 : (1 << 24);
  config.mask_id = reader.integer("mask_token_id", 0, last_id);
  config.end_ids = reader.end_ids(last_id, generation_config);
  config.pad_id = reader.integer("pad_token_id", 0, last_id);
  shape.padding_row = config.pad_id;

  reader.expect("model_type", {"Dream"});
  reader.expect("hidden_act", {"silu"});
  reader.expect("rope_scaling", {nullptr});
  reader.expect("layer_types", {nullptr, std::vector<std::string>(shape.layers, "full_attention")});
  reader.expect("attention_dropout", {0.0});
  reader.expect("use_sliding_window", {false, nullptr});
  reader.expect("use_mrope", {false, nullptr});
  reader.expect("full_attn_mask", {true, nullptr});
  if (reader.in_order()) reader.expect("head_dim", {shape.hidden / shape.heads, nullptr});
  // Of a sliding window that is off.
  reader.ignore({"max_window_layers", "sliding_window", "head_dim"});

  reader.check(shape.heads > 0 && shape.hidden % shape.heads == 0,
               "`hidden_size` is not a multiple of `num_attention_heads`");
  reader.check(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0,
               "`num_attention_heads` is not a multiple of `num_key_value_heads`");
  reader.check(shape.heads > 0 && shape.hidden / shape.heads % 2 == 0,
               "the head dimension `hidden_size` / `num_attention_heads` is odd");
  reader.finish();
  return config;
}

}  // namespace drift::dream
