// The published checkpoints by their config.json: tensors, parameters and traits, without a byte of weights.

#include <drift/model.h>

#include <core/base/component_host.h>
#include <core/boundary/components.h>

#include "tests/support/plugins.h"
#include "tests/support/support.h"

namespace drift::published_models_test {

using nlohmann::json;
using namespace testing;

// What decides the numbers of LLaDA-8B-Base, LLaDA-8B-Instruct and LLaDA-1.5.
json llada_8b() {
  return json::parse(R"({
    "architectures": ["LLaDAModelLM"], "model_type": "llada", "d_model": 4096, "n_layers": 32, "n_heads": 32,
    "n_kv_heads": 32, "mlp_hidden_size": 12288, "mlp_ratio": 4, "activation_type": "silu", "block_type": "llama",
    "block_group_size": 1, "multi_query_attention": null, "layer_norm_type": "rms", "rms_norm_eps": 1e-05,
    "layer_norm_with_affine": true, "bias_for_layer_norm": false, "attention_layer_norm": false,
    "attention_layer_norm_with_affine": true, "include_bias": false, "include_qkv_bias": false, "rope": true,
    "rope_theta": 500000.0, "rope_full_precision": true, "alibi": false, "alibi_bias_max": 8.0,
    "max_sequence_length": 4096, "input_emb_norm": false, "vocab_size": 126464, "embedding_size": 126464,
    "weight_tying": false, "scale_logits": false, "mask_token_id": 126336, "eos_token_id": 126081,
    "pad_token_id": 126081, "embedding_dropout": 0.0, "residual_dropout": 0.0, "attention_dropout": 0.0,
    "flash_attention": false, "init_fn": "mitchell", "init_std": 0.02, "init_cutoff_factor": null,
    "init_device": "meta", "precision": "amp_bf16", "torch_dtype": "bfloat16", "use_cache": false,
    "transformers_version": "4.46.3"})");
}

// Dream-7B and Dream-Coder-7B.
json dream_7b() {
  return json::parse(R"({
    "architectures": ["DreamModel"], "model_type": "Dream", "hidden_size": 3584, "intermediate_size": 18944,
    "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
    "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "rope_scaling": null, "hidden_act": "silu",
    "tie_word_embeddings": false, "max_position_embeddings": 131072, "mask_token_id": 151666, "pad_token_id": 151643,
    "bos_token_id": 151643, "eos_token_id": 151643, "attention_dropout": 0.0, "initializer_range": 0.02,
    "use_sliding_window": false, "sliding_window": null, "max_window_layers": 28, "use_mrope": false,
    "full_attn_mask": true, "torch_dtype": "bfloat16", "use_cache": true, "transformers_version": "4.46.2"})");
}

std::unique_ptr<Component> shapes_of(const std::string& family, const json& config) {
  const ModelConfig shapes_only{config.dump(), at::kBFloat16, at::kMeta};
  const ComponentEntry* entry = test::load_plugin(family).find(ComponentKind::kModel, family);
  return test::host().make(*entry, Parameters(entry->params), &shapes_only);
}

std::set<std::string> names_of(const Model& model) {
  std::set<std::string> names;
  for (const auto& parameter : model.parameters()) names.insert(parameter.name);
  return names;
}

TEST(PublishedLlada, HasItsTensorsAndTraits) {
  const auto made = shapes_of("llada", llada_8b());
  const auto& model = dynamic_cast<const Model&>(*made);
  EXPECT_EQ(parameter_count(model), 8'015'581'184);
  const auto names = names_of(model);
  EXPECT_EQ(names.size(), 291u);
  EXPECT_TRUE(names.contains("model.transformer.blocks.31.ff_out.weight"));
  EXPECT_TRUE(names.contains("model.transformer.ff_out.weight"));
  const auto& traits = model.traits();
  EXPECT_EQ(traits.context_length, 4096);
  EXPECT_EQ(traits.prediction_row, PredictionRow::kSame);
  // The mask token, and the 115 rows of the head that no token has.
  EXPECT_THAT(traits.forbidden_output_ids, ElementsAre(Pair(126336, 126337), Pair(126349, 126464)));
}

TEST(PublishedDream, HasItsTensorsAndTraits) {
  const auto made = shapes_of("dream", dream_7b());
  const auto& model = dynamic_cast<const Model&>(*made);
  EXPECT_EQ(parameter_count(model), 7'615'616'512);
  const auto names = names_of(model);
  EXPECT_EQ(names.size(), 339u);
  EXPECT_TRUE(names.contains("model.layers.27.self_attn.v_proj.bias"));
  EXPECT_FALSE(names.contains("model.layers.27.self_attn.o_proj.bias"));
  const auto& traits = model.traits();
  EXPECT_EQ(traits.prediction_row, PredictionRow::kPrevious);
  EXPECT_EQ(traits.mask_id, 151666);
  EXPECT_THAT(traits.forbidden_output_ids, ElementsAre(Pair(151666, 152064)));
}

// DiffuCoder has a separate padding token, which comes after the mask token and may be written.
TEST(PublishedDream, OpensAsDiffuCoder) {
  auto config = dream_7b();
  config["pad_token_id"] = 151667;
  const auto made = shapes_of("dream", config);
  const auto& traits = dynamic_cast<const Model&>(*made).traits();
  EXPECT_EQ(traits.pad_id, 151667);
  EXPECT_THAT(traits.forbidden_output_ids, ElementsAre(Pair(151666, 151667), Pair(151668, 152064)));
}

TEST(TiedHead, HasNoSeparateTensor) {
  auto llada = llada_8b();
  llada["weight_tying"] = true;
  const auto tied_llada = shapes_of("llada", llada);
  const auto names = names_of(dynamic_cast<const Model&>(*tied_llada));
  EXPECT_FALSE(names.contains("model.transformer.ff_out.weight"));
  EXPECT_TRUE(names.contains("model.transformer.blocks.0.ff_out.weight"));
  auto dream = dream_7b();
  dream["tie_word_embeddings"] = true;
  const auto tied_dream = shapes_of("dream", dream);
  EXPECT_FALSE(names_of(dynamic_cast<const Model&>(*tied_dream)).contains("lm_head.weight"));
}

// As the original's configuration class reads them: what it declares optional may be null, and then follows from
// others.
TEST(PublishedLlada, OpensWithNullWhereTheOriginalAllowsIt) {
  auto config = llada_8b();
  for (const char* key : {"n_kv_heads", "multi_query_attention", "bias_for_layer_norm", "include_qkv_bias",
                          "embedding_size", "mask_token_id", "init_device", "init_cutoff_factor", "precision"}) {
    config[key] = nullptr;
  }
  const auto with_nulls = shapes_of("llada", config);
  const auto& model = dynamic_cast<const Model&>(*with_nulls);
  EXPECT_EQ(parameter_count(model), 8'015'581'184);
  EXPECT_EQ(model.traits().mask_id, 126336) << "the published vocabulary's";

  config["vocab_size"] = 126000;
  config["eos_token_id"] = config["pad_token_id"] = 1;
  EXPECT_THAT(test::what_of([&] { shapes_of("llada", config); }), HasSubstr("`mask_token_id` is missing"))
      << "another vocabulary has no known mask token";
}

TEST(PublishedLlada, TakesTheFeedForwardSizeFromTheRatio) {
  const auto gate_rows = [](const json& config) {
    const auto made = shapes_of("llada", config);
    for (const auto& parameter : dynamic_cast<const Model&>(*made).parameters()) {
      if (parameter.name == "model.transformer.blocks.0.ff_proj.weight") return parameter.tensor.size(0);
    }
    return std::int64_t{0};
  };
  auto config = llada_8b();
  config["mlp_ratio"] = 2;
  EXPECT_EQ(gate_rows(config), 12288) << "mlp_hidden_size comes first";
  config["mlp_hidden_size"] = nullptr;
  EXPECT_EQ(gate_rows(config), 2 * 4096);
  config.erase("mlp_hidden_size");
  EXPECT_EQ(gate_rows(config), 2 * 4096);
  config.erase("mlp_ratio");
  EXPECT_EQ(gate_rows(config), 4 * 4096) << "the class's default";
}

TEST(PublishedLlada, HasOneKeyHeadUnderMultiQueryAttention) {
  auto config = llada_8b();
  config["n_kv_heads"] = nullptr;
  config["multi_query_attention"] = true;
  const auto made = shapes_of("llada", config);
  for (const auto& parameter : dynamic_cast<const Model&>(*made).parameters()) {
    if (parameter.name == "model.transformer.blocks.0.k_proj.weight") EXPECT_EQ(parameter.tensor.size(0), 4096 / 32);
  }
}

// Every setting that docs/spec/models_rollout.md 1.1.1 and 1.2.1 name, one at a time.
TEST(UnsupportedSettings, AreRefusedByName) {
  const std::map<std::string, json> changes = {
      {"llada", json::parse(R"({"alibi": true, "scale_logits": true, "rope": false, "include_bias": true,
          "include_qkv_bias": true, "attention_layer_norm": true, "block_type": "sequential",
          "activation_type": "swiglu", "layer_norm_type": "default", "multi_query_attention": true,
          "rope_full_precision": false, "input_emb_norm": true, "block_group_size": 2, "residual_dropout": 0.1,
          "quantization_config": {}})")},
      {"dream", json::parse(R"({"rope_scaling": {"type": "dynamic"}, "hidden_act": "gelu", "use_sliding_window": true,
          "use_mrope": true, "attention_dropout": 0.1, "full_attn_mask": false, "head_dim": 64,
          "quantization_config": {}})")}};
  for (const auto& [family, settings] : changes) {
    for (const auto& [key, value] : settings.items()) {
      json config = family == "llada" ? llada_8b() : dream_7b();
      config[key] = value;
      EXPECT_THAT(test::what_of([&] { shapes_of(family, config); }), HasSubstr("`" + key + "`")) << family;
    }
  }
}

}  // namespace drift::published_models_test
