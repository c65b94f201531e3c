#include "llada.h"

#include <drift/error.h>

#include <core/kernels/rms_norm.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>

Llada::Llada(const drift::ModelConfig& model, const drift::Params&) : config_(LladaConfig::parse(model.config_json)) {
  const auto parameter = [&](at::IntArrayRef shape) {
    return at::empty(shape, at::TensorOptions(model.dtype).device(model.device)).set_requires_grad(true);
  };
  const std::int64_t hidden = config_.d_model, inner = config_.mlp_hidden_size;
  const std::int64_t kv_width = config_.n_kv_heads * config_.head_dimension();
  embedding_VH_ = parameter({config_.vocabulary_rows, hidden});
  for (std::int64_t layer = 0; layer < config_.n_layers; ++layer) {
    drift::nn::BlockWeights block;
    block.attention_norm = parameter({hidden});
    block.q = parameter({hidden, hidden});
    block.k = parameter({kv_width, hidden});
    block.v = parameter({kv_width, hidden});
    block.attention_out = parameter({hidden, hidden});
    block.feed_forward_norm = parameter({hidden});
    block.gate = parameter({inner, hidden});
    block.up = parameter({inner, hidden});
    block.down = parameter({hidden, inner});
    blocks_.push_back(block);
  }
  final_norm_H_ = parameter({hidden});
  if (!config_.weight_tying) head_VH_ = parameter({config_.vocabulary_rows, hidden});
  rotary_ =
      drift::nn::RotaryTable(config_.max_sequence_length, config_.head_dimension(), config_.rope_theta, model.device);

  traits_.family = "LLaDA";
  traits_.vocabulary_size = config_.vocabulary_rows;
  traits_.hidden_size = hidden;
  traits_.layers = config_.n_layers;
  traits_.context_length = config_.max_sequence_length;
  traits_.mask_id = config_.mask_token_id;
  traits_.pad_id = config_.pad_token_id;
  traits_.end_id = config_.eos_token_id;
  traits_.prediction_row = drift::PredictionRow::kSame;
  traits_.forbidden_output_ids = {{config_.mask_token_id, config_.mask_token_id + 1}};
}

at::Tensor Llada::forward(const drift::ForwardInput& input) const {
  const std::int64_t sequence = input.tokens_BS.size(1);
  if (sequence > config_.max_sequence_length) {
    throw drift::Error("a sequence of " + std::to_string(sequence) + " tokens is longer than the model's context of " +
                           std::to_string(config_.max_sequence_length),
                       "shorten the prompt or rollout.length");
  }
  // Padding on the left shifts all positions of a row alike; rotary angles only see differences, and padded keys are
  // masked.
  drift::nn::RotaryTable rotary;
  rotary.cosine_SD2 = rotary_.cosine_SD2.narrow(0, 0, sequence);
  rotary.sine_SD2 = rotary_.sine_SD2.narrow(0, 0, sequence);
  const drift::nn::BlockShape shape{config_.n_heads, config_.n_kv_heads, config_.rms_norm_eps};

  auto x = at::embedding(embedding_VH_, input.tokens_BS.reshape({-1}));
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const bool last = layer + 1 == blocks_.size();
    x = drift::nn::transformer_block(x, blocks_[layer], shape, rotary, input.key_mask_BS,
                                     last ? input.rows_N : at::Tensor());
  }
  return drift::kernels::rms_norm(x, final_norm_H_, config_.rms_norm_eps);
}

std::vector<drift::NamedTensor> Llada::parameters() const {
  std::vector<drift::NamedTensor> named{{"model.transformer.wte.weight", embedding_VH_}};
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const std::string prefix = "model.transformer.blocks." + std::to_string(layer) + ".";
    const auto& block = blocks_[layer];
    named.push_back({prefix + "attn_norm.weight", block.attention_norm});
    named.push_back({prefix + "q_proj.weight", block.q});
    named.push_back({prefix + "k_proj.weight", block.k});
    named.push_back({prefix + "v_proj.weight", block.v});
    named.push_back({prefix + "attn_out.weight", block.attention_out});
    named.push_back({prefix + "ff_norm.weight", block.feed_forward_norm});
    named.push_back({prefix + "ff_proj.weight", block.gate});
    named.push_back({prefix + "up_proj.weight", block.up});
    named.push_back({prefix + "ff_out.weight", block.down});
  }
  named.push_back({"model.transformer.ln_f.weight", final_norm_H_});
  if (head_VH_.defined()) named.push_back({"model.transformer.ff_out.weight", head_VH_});
  return named;
}

namespace {

// A standard normal cut at three standard deviations: Box-Muller draws, rejected outside.
double truncated_normal(const drift::RandomStream& random, std::int64_t element) {
  for (std::int64_t draw = 0;; ++draw) {
    const double u = 1.0 - random.uniform({0, 0, element, 2 * draw});
    const double v = random.uniform({0, 0, element, 2 * draw + 1});
    const double value = std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
    if (std::abs(value) <= 3.0) return value;
  }
}

void fill_normal(const at::Tensor& tensor, double standard_deviation, const drift::RandomStream& random) {
  auto values = at::empty(tensor.sizes(), at::kFloat);
  float* data = values.data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i)
    data[i] = static_cast<float>(standard_deviation * truncated_normal(random, i));
  tensor.copy_(values);
}

}  // namespace

// The original's "mitchell": standard deviation 1 / sqrt(d_model), and 1 / sqrt(2 (layer + 1) fan_in) for what writes
// to the residual.
void Llada::initialize(const drift::RandomStream& random) {
  const at::NoGradGuard no_gradient;
  const double base = 1.0 / std::sqrt(static_cast<double>(config_.d_model));
  for (const auto& [name, tensor] : parameters()) {
    if (tensor.dim() == 1) {
      tensor.fill_(1);
    } else {
      fill_normal(tensor, base, random.child(name));
    }
  }
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const std::string prefix = "model.transformer.blocks." + std::to_string(layer) + ".";
    const double depth = 2.0 * static_cast<double>(layer + 1);
    fill_normal(blocks_[layer].attention_out, 1.0 / std::sqrt(depth * static_cast<double>(config_.d_model)),
                random.child(prefix + "attn_out.weight"));
    fill_normal(blocks_[layer].down, 1.0 / std::sqrt(depth * static_cast<double>(config_.mlp_hidden_size)),
                random.child(prefix + "ff_out.weight"));
  }
}

std::int64_t Llada::training_bytes_per_row(std::int64_t sequence) const {
  const auto element = static_cast<std::int64_t>(embedding_VH_.element_size());
  return config_.n_layers * drift::nn::block_activation_bytes(sequence, config_.d_model, config_.mlp_hidden_size,
                                                              config_.n_heads, element);
}
