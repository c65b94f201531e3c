#include "config.h"

#include <core/nn/config_reader.h>

namespace drift::llada {
namespace {

/// The rows of the published vocabulary, and the mask token that the original's own programs write into their code.
constexpr std::int64_t kPublishedRows = 126464, kPublishedMaskId = 126336;

/// `n_kv_heads`, or if it is null what `multi_query_attention` says; the two must not contradict each other.
std::int64_t key_value_heads(nn::ConfigReader& reader, std::int64_t heads) {
  const bool one = reader.flag("multi_query_attention", false);
  if (!reader.has("n_kv_heads")) return one ? 1 : heads;
  const std::int64_t count = reader.integer("n_kv_heads", 1, 1 << 16);
  reader.check(!reader.has("multi_query_attention") || count == (one ? 1 : heads),
               "`n_kv_heads` and `multi_query_attention` contradict each other");
  return count;
}

/// `mlp_hidden_size`, or if it is null `mlp_ratio` times the hidden size.
std::int64_t feed_forward_size(nn::ConfigReader& reader, std::int64_t hidden) {
  constexpr std::int64_t kDefaultRatio = 4, kLargest = 1 << 24;
  if (reader.has("mlp_hidden_size")) return reader.integer("mlp_hidden_size", 1, kLargest);
  const std::int64_t ratio = reader.has("mlp_ratio") ? reader.integer("mlp_ratio", 1, 1 << 10) : kDefaultRatio;
  reader.check(ratio * hidden <= kLargest, "`mlp_ratio` times `d_model` is too large");
  return ratio * hidden;
}

}  // namespace

// Keys that the original's configuration class declares optional may be null or absent, and then mean what they mean
// there. All others must be present: the class's defaults describe GPT-2.
LladaConfig LladaConfig::parse(const std::string& text, const std::vector<std::string>& ignored,
                               const std::string& generation_config) {
  nn::ConfigReader reader(text, "LLaDA", ignored);
  LladaConfig config;
  auto& shape = config.shape;
  shape.hidden = reader.integer("d_model", 2, 1 << 20);
  shape.layers = reader.integer("n_layers", 1, 4096);
  shape.heads = reader.integer("n_heads", 1, 1 << 16);
  shape.kv_heads = key_value_heads(reader, shape.heads);
  shape.feed_forward = feed_forward_size(reader, shape.hidden);
  shape.context_length = reader.integer("max_sequence_length", 1, 1 << 22);
  shape.rotary_theta = reader.positive_number("rope_theta");
  shape.norm_epsilon = reader.positive_number("rms_norm_eps");
  shape.tied_head = reader.flag("weight_tying", false);
  shape.vocabulary = reader.integer("vocab_size", 1, 1 << 24);
  // The rows of embedding, head and logits.
  if (reader.has("embedding_size")) shape.vocabulary = reader.integer("embedding_size", 1, 1 << 24);
  const std::int64_t last_id = reader.in_order() ? shape.vocabulary - 1 : (1 << 24);
  const bool published_mask = !reader.has("mask_token_id") && shape.vocabulary == kPublishedRows;
  config.mask_id = published_mask ? kPublishedMaskId : reader.integer("mask_token_id", 0, last_id);
  config.end_ids = reader.end_ids(last_id, generation_config);
  config.pad_id = reader.integer("pad_token_id", 0, last_id);

  reader.expect("model_type", {"llada"});
  reader.expect("block_type", {"llama"});
  reader.expect("activation_type", {"silu"});
  reader.expect("layer_norm_type", {"rms"});
  reader.expect("layer_norm_with_affine", {true});
  reader.expect("rope", {true});
  reader.expect("rope_full_precision", {true});
  reader.expect("rope_scaling", {nullptr});
  reader.expect("block_group_size", {1});
  for (const char* key : {"bias_for_layer_norm", "attention_layer_norm", "include_bias", "include_qkv_bias", "alibi",
                          "input_emb_norm", "scale_logits"}) {
    reader.expect(key, {false, nullptr});
  }
  for (const char* key : {"embedding_dropout", "residual_dropout", "attention_dropout"}) reader.expect(key, {0.0});
  // Of biases and norms that are off, and what is read above where it is there.
  reader.ignore({"alibi_bias_max", "attention_layer_norm_with_affine", "embedding_size", "mask_token_id",
                 "mlp_hidden_size", "mlp_ratio", "n_kv_heads", "tie_word_embeddings"});

  reader.check(shape.heads > 0 && shape.hidden % shape.heads == 0, "`d_model` is not a multiple of `n_heads`");
  reader.check(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0, "`n_heads` is not a multiple of `n_kv_heads`");
  reader.check(shape.heads > 0 && shape.hidden / shape.heads % 2 == 0,
               "the head dimension `d_model` / `n_heads` is odd");
  reader.finish();
  return config;
}

}  // namespace drift::llada
