#include "config.h"

#include <core/nn/config_reader.h>

LladaConfig LladaConfig::parse(const std::string& text, const std::vector<std::string>& ignored) {
  drift::nn::ConfigReader reader(text, "LLaDA", ignored);
  LladaConfig config;
  auto& shape = config.shape;
  shape.hidden = reader.integer("d_model", 2, 1 << 20);
  shape.layers = reader.integer("n_layers", 1, 4096);
  shape.heads = reader.integer("n_heads", 1, 1 << 16);
  shape.kv_heads = reader.has("n_kv_heads") ? reader.integer("n_kv_heads", 1, 1 << 16) : shape.heads;
  shape.feed_forward = reader.integer("mlp_hidden_size", 1, 1 << 24);
  shape.context_length = reader.integer("max_sequence_length", 1, 1 << 22);
  shape.rotary_theta = reader.positive_number("rope_theta");
  shape.norm_epsilon = reader.positive_number("rms_norm_eps");
  shape.tied_head = reader.flag("weight_tying", false);
  shape.vocabulary = reader.integer("vocab_size", 1, 1 << 24);
  // The rows of embedding, head and logits.
  if (reader.has("embedding_size")) shape.vocabulary = reader.integer("embedding_size", 1, 1 << 24);
  const std::int64_t last_id = reader.in_order() ? shape.vocabulary - 1 : (1 << 24);
  config.mask_id = reader.integer("mask_token_id", 0, last_id);
  config.end_id = reader.integer("eos_token_id", 0, last_id);
  config.pad_id = reader.integer("pad_token_id", 0, last_id);

  reader.expect("model_type", {"llada"});
  reader.expect("block_type", {"llama"});
  reader.expect("activation_type", {"silu"});
  reader.expect("layer_norm_type", {"rms"});
  reader.expect("layer_norm_with_affine", {true});
  reader.expect("rope", {true});
  reader.expect("rope_full_precision", {true});
  reader.expect("rope_scaling", {nullptr});
  reader.expect("multi_query_attention", {nullptr, false});
  reader.expect("block_group_size", {1});
  for (const char* key : {"bias_for_layer_norm", "attention_layer_norm", "include_bias", "include_qkv_bias", "alibi",
                          "input_emb_norm", "scale_logits"}) {
    reader.expect(key, {false, nullptr});
  }
  for (const char* key : {"embedding_dropout", "residual_dropout", "attention_dropout"}) reader.expect(key, {0.0});
  // Of biases and norms that are off, of initialisation, and of how the original computes the same numbers.
  reader.ignore({"alibi_bias_max", "attention_layer_norm_with_affine", "embedding_size", "flash_attention",
                 "init_cutoff_factor", "init_device", "init_fn", "init_std", "mlp_ratio", "n_kv_heads", "precision",
                 "tie_word_embeddings"});

  reader.check(shape.heads > 0 && shape.hidden % shape.heads == 0, "`d_model` is not a multiple of `n_heads`");
  reader.check(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0, "`n_heads` is not a multiple of `n_kv_heads`");
  reader.check(shape.heads > 0 && shape.hidden / shape.heads % 2 == 0,
               "the head dimension `d_model` / `n_heads` is odd");
  reader.finish();
  return config;
}
