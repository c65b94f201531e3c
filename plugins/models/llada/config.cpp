#include "config.h"

#include <core/nn/config_reader.h>

LladaConfig LladaConfig::parse(const std::string& text, const std::vector<std::string>& ignored) {
  drift::nn::ConfigReader reader(text, "LLaDA", ignored);
  LladaConfig config;
  config.d_model = reader.integer("d_model", 2, 1 << 20);
  config.n_layers = reader.integer("n_layers", 1, 4096);
  config.n_heads = reader.integer("n_heads", 1, 1 << 16);
  config.n_kv_heads = reader.has("n_kv_heads") ? reader.integer("n_kv_heads", 1, 1 << 16) : config.n_heads;
  config.mlp_hidden_size = reader.integer("mlp_hidden_size", 1, 1 << 24);
  config.max_sequence_length = reader.integer("max_sequence_length", 1, 1 << 22);
  config.rope_theta = reader.positive_number("rope_theta");
  config.rms_norm_eps = reader.positive_number("rms_norm_eps");
  const auto vocabulary = reader.integer("vocab_size", 1, 1 << 24);
  config.vocabulary_rows = reader.has("embedding_size") ? reader.integer("embedding_size", 1, 1 << 24) : vocabulary;
  const std::int64_t last_id = reader.in_order() ? config.vocabulary_rows - 1 : (1 << 24);
  config.mask_token_id = reader.integer("mask_token_id", 0, last_id);
  config.eos_token_id = reader.integer("eos_token_id", 0, last_id);
  config.pad_token_id = reader.integer("pad_token_id", 0, last_id);
  config.weight_tying = reader.flag("weight_tying", false);

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

  reader.check(config.n_heads > 0 && config.d_model % config.n_heads == 0, "`d_model` is not a multiple of `n_heads`");
  reader.check(config.n_kv_heads > 0 && config.n_heads % config.n_kv_heads == 0,
               "`n_heads` is not a multiple of `n_kv_heads`");
  reader.check(config.n_heads > 0 && config.d_model / config.n_heads % 2 == 0,
               "the head dimension `d_model` / `n_heads` is odd");
  reader.finish();
  return config;
}
