#include "dream.h"

#include <core/nn/config_reader.h>
#include <core/nn/initialization.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

namespace drift::dream {
namespace {

const nn::TensorNames kNames{
    .embedding = "model.embed_tokens.weight",
    .final_norm = "model.norm.weight",
    .head = "lm_head.weight",
    .attention_norm = "model.layers.{layer}.input_layernorm.weight",
    .query = "model.layers.{layer}.self_attn.q_proj.weight",
    .key = "model.layers.{layer}.self_attn.k_proj.weight",
    .value = "model.layers.{layer}.self_attn.v_proj.weight",
    .attention_out = "model.layers.{layer}.self_attn.o_proj.weight",
    .feed_forward_norm = "model.layers.{layer}.post_attention_layernorm.weight",
    .gate = "model.layers.{layer}.mlp.gate_proj.weight",
    .up = "model.layers.{layer}.mlp.up_proj.weight",
    .down = "model.layers.{layer}.mlp.down_proj.weight",
};

// "chat" is the tokenizer's template; "rldf_release" the prompt of that program, without a system turn and without the
// line break after the reply's header.
const std::vector<ChatFormat> kChatFormats{
    {.name = "chat",
     .opening = {},
     .turn_begin = "<|im_start|>{role}\n",
     .turn_end = "<|im_end|>\n",
     .reply_begin = "<|im_start|>assistant\n",
     .default_system = "You are a helpful assistant.",
     .trims_text = false},
    {.name = "rldf_release",
     .opening = {},
     .turn_begin = "<|im_start|>{role}\n",
     .turn_end = "<|im_end|>\n",
     .reply_begin = "<|im_start|>assistant",
     .default_system = {},
     .trims_text = false},
};

nn::TransformerShape shape_of(const DreamConfig& config, const Parameters& params) {
  auto shape = config.shape;
  shape.attend_to_padding = params.get<std::string>("padding") == "attended";
  return shape;
}

ModelTraits traits_of(const DreamConfig& config, const Parameters& params) {
  ModelTraits traits;
  traits.family = "Dream";
  traits.mask_id = config.mask_id;
  traits.pad_id = config.pad_id;
  nn::set_end_ids(config.end_ids, traits);
  traits.prediction_row = PredictionRow::kPrevious;
  // The originals' losses shift a response's logits on their own, so that its first position takes its own row.
  traits.first_scored_at_own_row = params.get<std::string>("scored_row") == "within_response";
  // No token comes after the mask token but, in DiffuCoder, the padding.
  const std::int64_t first = config.mask_id, last = config.shape.vocabulary, pad = config.pad_id;
  if (pad > first) {
    traits.forbidden_output_ids = {{first, pad}};
    if (pad + 1 < last) traits.forbidden_output_ids.emplace_back(pad + 1, last);
  } else {
    traits.forbidden_output_ids = {{first, last}};
  }
  traits.chat_formats = kChatFormats;
  return traits;
}

}  // namespace

Dream::Dream(const ModelConfig& model, const Parameters& params)
    : Dream(model, params,
            DreamConfig::parse(model.config_json, params.get<std::vector<std::string>>("ignored_settings"),
                               model.generation_config_json)) {}

Dream::Dream(const ModelConfig& model, const Parameters& params, const DreamConfig& config)
    : TransformerModel(shape_of(config, params), kNames, traits_of(config, params), model) {}

// The original's: normal draws of standard deviation 0.02, biases and the padding's embedding 0, norms 1.
void Dream::initialize(const RandomStream& random) {
  constexpr double kStandardDeviation = 0.02;
  const at::NoGradGuard no_gradient;
  for (const auto& [name, tensor] : parameters()) {
    if (name.ends_with(".bias")) {
      tensor.zero_();
    } else if (tensor.dim() == 1) {
      tensor.fill_(1);
    } else {
      nn::fill_normal(tensor, kStandardDeviation, /*cut=*/0, random.child(name));
    }
  }
  parameters().front().tensor.select(0, shape().padding_row).zero_();
}

}  // namespace drift::dream
