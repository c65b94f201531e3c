#include "config.h"

#include <core/nn/config_reader.h>

DreamConfig DreamConfig::parse(const std::string& text, const std::vector<std::string>& ignored) {
  drift::nn::ConfigReader reader(text, "Dream", ignored);
  DreamConfig config;
  config.hidden_size = reader.integer("hidden_size", 2, 1 << 20);
  config.intermediate_size = reader.integer("intermediate_size", 1, 1 << 24);
  config.num_hidden_layers = reader.integer("num_hidden_layers", 1, 4096);
  config.num_attention_heads = reader.integer("num_attention_heads", 1, 1 << 16);
  config.num_key_value_heads = reader.integer("num_key_value_heads", 1, 1 << 16);
  config.vocab_size = reader.integer("vocab_size", 1, 1 << 24);
  config.max_position_embeddings = reader.integer("max_position_embeddings", 1, 1 << 22);
  config.rope_theta = reader.positive_number("rope_theta");
  config.rms_norm_eps = reader.positive_number("rms_norm_eps");
  const std::int64_t last_id = reader.in_order() ? config.vocab_size - 1 : (1 << 24);
  config.mask_token_id = reader.integer("mask_token_id", 0, last_id);
  config.eos_token_id = reader.integer("eos_token_id", 0, last_id);
  config.pad_token_id = reader.integer("pad_token_id", 0, last_id);
  config.tie_word_embeddings = reader.flag("tie_word_embeddings", false);

  reader.expect("model_type", {"Dream"});
  reader.expect("hidden_act", {"silu"});
  reader.expect("rope_scaling", {nullptr});
  reader.expect("attention_dropout", {0.0});
  reader.expect("use_sliding_window", {false, nullptr});
  reader.expect("use_mrope", {false, nullptr});
  reader.expect("full_attn_mask", {true, nullptr});
  if (reader.in_order()) reader.expect("head_dim", {config.hidden_size / config.num_attention_heads, nullptr});
  // Of a sliding window that is off.
  reader.ignore({"max_window_layers", "sliding_window", "head_dim"});

  reader.check(config.num_attention_heads > 0 && config.hidden_size % config.num_attention_heads == 0,
               "`hidden_size` is not a multiple of `num_attention_heads`");
  reader.check(config.num_key_value_heads > 0 && config.num_attention_heads % config.num_key_value_heads == 0,
               "`num_attention_heads` is not a multiple of `num_key_value_heads`");
  reader.check(config.num_attention_heads > 0 && config.hidden_size / config.num_attention_heads % 2 == 0,
               "the head dimension `hidden_size` / `num_attention_heads` is odd");
  reader.finish();
  return config;
}
