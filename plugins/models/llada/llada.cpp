#include "llada.h"

#include <core/nn/config_reader.h>
#include <core/nn/initialization.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <map>
#include <string>

namespace drift::llada {
namespace {

const nn::TensorNames kNames{
    .embedding = "model.transformer.wte.weight",
    .final_norm = "model.transformer.ln_f.weight",
    .head = "model.transformer.ff_out.weight",
    .attention_norm = "model.transformer.blocks.{layer}.attn_norm.weight",
    .query = "model.transformer.blocks.{layer}.q_proj.weight",
    .key = "model.transformer.blocks.{layer}.k_proj.weight",
    .value = "model.transformer.blocks.{layer}.v_proj.weight",
    .attention_out = "model.transformer.blocks.{layer}.attn_out.weight",
    .feed_forward_norm = "model.transformer.blocks.{layer}.ff_norm.weight",
    .gate = "model.transformer.blocks.{layer}.ff_proj.weight",
    .up = "model.transformer.blocks.{layer}.up_proj.weight",
    .down = "model.transformer.blocks.{layer}.ff_out.weight",
};

// "chat" is the tokenizer's template; "rldf_release" the prompt of that program, without blank lines and with a second
// start of text.
const std::vector<ChatFormat> kChatFormats{
    {.name = "chat",
     .opening = "<|startoftext|>",
     .turn_begin = "<|start_header_id|>{role}<|end_header_id|>\n\n",
     .turn_end = "<|eot_id|>",
     .reply_begin = "<|start_header_id|>assistant<|end_header_id|>\n\n",
     .default_system = {},
     .trims_text = true},
    {.name = "rldf_release",
     .opening = "<|startoftext|>",
     .turn_begin = "<|start_header_id|>{role}<|end_header_id|>",
     .turn_end = "<|eot_id|>",
     .reply_begin = "<|startoftext|><|start_header_id|>assistant<|end_header_id|>",
     .default_system = {},
     .trims_text = false},
};

nn::TransformerShape shape_of(const LladaConfig& config, const Parameters& params) {
  auto shape = config.shape;
  shape.attend_to_padding = params.get<std::string>("padding") == "attended";
  return shape;
}

ModelTraits traits_of(const LladaConfig& config) {
  ModelTraits traits;
  traits.family = "LLaDA";
  traits.mask_id = config.mask_id;
  traits.pad_id = config.pad_id;
  nn::set_end_ids(config.end_ids, traits);
  traits.prediction_row = PredictionRow::kSame;
  traits.forbidden_output_ids = {{config.mask_id, config.mask_id + 1}};
  // The published vocabulary: its last rows have no token.
  constexpr std::int64_t kPublishedRows = 126464, kPublishedTokens = 126349;
  if (config.shape.vocabulary == kPublishedRows) {
    traits.forbidden_output_ids.emplace_back(kPublishedTokens, kPublishedRows);
  }
  traits.chat_formats = kChatFormats;
  return traits;
}

}  // namespace

Llada::Llada(const ModelConfig& model, const Parameters& params)
    : Llada(model, params,
            LladaConfig::parse(model.config_json, params.get<std::vector<std::string>>("ignored_settings"),
                               model.generation_config_json)) {}

Llada::Llada(const ModelConfig& model, const Parameters& params, const LladaConfig& config)
    : TransformerModel(shape_of(config, params), kNames, traits_of(config), model) {}

// The original's "mitchell": normal draws cut at three standard deviations of 1 / sqrt(d_model), and of
// 1 / sqrt(2 (layer + 1) fan_in) for what writes to the residual.
void Llada::initialize(const RandomStream& random) {
  constexpr double kCut = 3.0;
  const at::NoGradGuard no_gradient;
  std::map<std::string, double> to_residual;
  for (std::int64_t layer = 0; layer < shape().layers; ++layer) {
    const std::string prefix = "model.transformer.blocks." + std::to_string(layer) + ".";
    const double depth = 2.0 * static_cast<double>(layer + 1);
    to_residual[prefix + "attn_out.weight"] = 1.0 / std::sqrt(depth * static_cast<double>(shape().hidden));
    to_residual[prefix + "ff_out.weight"] = 1.0 / std::sqrt(depth * static_cast<double>(shape().feed_forward));
  }
  const double base = 1.0 / std::sqrt(static_cast<double>(shape().hidden));
  for (const auto& [name, tensor] : parameters()) {
    if (tensor.dim() == 1) {
      tensor.fill_(1);
      continue;
    }
    const auto found = to_residual.find(name);
    nn::fill_normal(tensor, found == to_residual.end() ? base : found->second, kCut, random.child(name));
  }
}

}  // namespace drift::llada
