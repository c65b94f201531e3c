#include "config.h"

#include <core/nn/config_reader.h>

namespace drift::sdar {

SdarConfig SdarConfig::parse(const std::string& text, const std::vector<std::string>& ignored,
                             const std::string& generation_config, std::int64_t block, std::int64_t mask) {
  nn::ConfigReader reader(text, "SDAR", ignored);
  SdarConfig config;
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
  shape.query_key_norm = true;
  shape.head_dimension = reader.integer("head_dim", 2, 1 << 16);
  shape.query_key_value_bias = shape.attention_out_bias = reader.flag("attention_bias", false);
  config.block_size = reader.has("block_size") ? reader.integer("block_size", 1, 1 << 16) : block;
  shape.tied_head = reader.flag("tie_word_embeddings", false);
  shape.vocabulary = reader.integer("vocab_size", 1, 1 << 24);
  const std::int64_t last_id = reader.in_order() ? shape.vocabulary - 1 : (1 << 24);
  config.mask_id = reader.has("mask_token_id") ? reader.integer("mask_token_id", 0, last_id) : mask;
  config.end_ids = reader.end_ids(last_id, generation_config);
  config.pad_id = reader.has("pad_token_id") ? reader.integer("pad_token_id", 0, last_id) : config.end_ids.front();
  if (reader.has("pad_token_id")) shape.padding_row = config.pad_id;

  reader.expect("model_type", {"sdar"});
  reader.expect("hidden_act", {"silu"});
  reader.expect("rope_scaling", {nullptr});
  reader.expect("layer_types", {nullptr, std::vector<std::string>(shape.layers, "full_attention")});
  reader.expect("attention_dropout", {0.0});
  reader.expect("use_sliding_window", {false, nullptr});
  reader.expect("use_mrope", {false, nullptr});
  reader.expect("full_attn_mask", {true, nullptr});
  // Of a sliding window that is off.
  reader.ignore({"max_window_layers", "sliding_window", "debug", "ep_size", "fuse_cross_entropy", "micro_forward",
                 "skip_checkpoint", "use_deepep", "pad_token_id", "block_size", "mask_token_id"});

  reader.check(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0,
               "`num_attention_heads` is not a multiple of `num_key_value_heads`");
  reader.finish();
  return config;
}

}  // namespace drift::sdar
