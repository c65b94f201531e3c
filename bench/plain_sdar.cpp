#include "bench/plain_sdar.h"

#include <core/update/update_batch.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>

namespace drift::bench {
namespace {

at::Tensor norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  const auto wide = x.to(at::kFloat);
  return (wide * at::rsqrt(wide.pow(2).mean(-1, /*keepdim=*/true) + epsilon)).to(x.scalar_type()) * weight;
}

at::Tensor rotated(const at::Tensor& x_BSHD, const at::Tensor& cosine_S1D, const at::Tensor& sine_S1D) {
  const auto halves = x_BSHD.chunk(2, -1);
  return x_BSHD * cosine_S1D + at::cat({-halves[1], halves[0]}, -1) * sine_S1D;
}

/// Whether the block of a query is not below that of a key: both as positions.
at::Tensor block_mask(const at::Tensor& query_Q, const at::Tensor& key_K, std::int64_t block) {
  return query_Q.unsqueeze(1).floor_divide(block) >= key_K.unsqueeze(0).floor_divide(block);
}

/// Of [prompt | response | masked response], the prompt a number of whole blocks.
at::Tensor two_copy_mask(std::int64_t prompt, std::int64_t length, std::int64_t block) {
  const auto clean = at::arange(prompt + length, at::kLong), noisy = at::arange(prompt, prompt + length, at::kLong);
  const auto number = [&](const at::Tensor& position) { return position.floor_divide(block); };
  const auto query = number(noisy).unsqueeze(1);
  const auto none = at::zeros({prompt + length, length}, at::kBool);
  return at::cat({at::cat({block_mask(clean, clean, block), none}, 1),
                  at::cat({query > number(clean).unsqueeze(0), query == number(noisy).unsqueeze(0)}, 1)});
}

/// The positions that are committed by a forward, written into x_BW.
void commit(const at::Tensor& logits_BWV, std::int64_t count, std::int64_t mask_id, const at::Tensor& x_BW) {
  const auto probability_BWV = at::softmax(logits_BWV, -1);
  const auto [best_BW, token_BW] = probability_BWV.max(-1);
  const auto lowest_BW = at::full_like(best_BW, -std::numeric_limits<double>::infinity());
  const auto confidence_BW = at::where(x_BW == mask_id, best_BW, lowest_BW);
  for (std::int64_t b = 0; b < x_BW.size(0); ++b) {
    const auto chosen = std::get<1>(confidence_BW[b].topk(count));
    x_BW[b].index_copy_(0, chosen, token_BW[b].index_select(0, chosen));
  }
}

}  // namespace

PlainSdar::PlainSdar(const SdarShape& shape, const Model& model) : shape_(shape) {
  for (const auto& parameter : model.parameters()) weights_[parameter.name] = parameter.tensor;
}

at::Tensor PlainSdar::layer(const at::Tensor& x, std::int64_t number, const at::Tensor& cosine, const at::Tensor& sine,
                            const at::Tensor& bias, std::int64_t batch, SdarCache* cache, bool store) const {
  const std::string name = "model.layers." + std::to_string(number) + ".";
  const auto index = static_cast<std::size_t>(number);
  const auto normed = norm(x, weight(name + "input_layernorm"), shape_.epsilon);
  const auto heads = [&](const char* projection, std::int64_t count) {
    return at::linear(normed, weight(name + "self_attn." + projection)).view({batch, -1, count, shape_.head_dimension});
  };
  const auto of_head = [&](const at::Tensor& states, const char* of) {
    return rotated(norm(states, weight(name + "self_attn." + of), shape_.epsilon), cosine, sine);
  };
  const auto query = of_head(heads("q_proj", shape_.heads), "q_norm");
  auto key = of_head(heads("k_proj", shape_.kv_heads), "k_norm"), value = heads("v_proj", shape_.kv_heads);
  if (cache != nullptr) {
    if (cache->keys.size() > index && cache->keys[index].defined()) {
      key = at::cat({cache->keys[index], key}, 1), value = at::cat({cache->values[index], value}, 1);
    }
    if (store) {
      cache->keys.resize(static_cast<std::size_t>(shape_.layers));
      cache->values.resize(static_cast<std::size_t>(shape_.layers));
      cache->keys[index] = key, cache->values[index] = value;
    }
  }
  const std::int64_t groups = shape_.heads / shape_.kv_heads;
  const auto attended = at::scaled_dot_product_attention(
      query.transpose(1, 2), key.repeat_interleave(groups, 2).transpose(1, 2),
      value.repeat_interleave(groups, 2).transpose(1, 2), bias.defined() ? std::optional(bias) : std::nullopt);
  const auto middle =
      x + at::linear(attended.transpose(1, 2).reshape({x.size(0), -1}), weight(name + "self_attn.o_proj"));
  const auto inner = norm(middle, weight(name + "post_attention_layernorm"), shape_.epsilon);
  const auto gated =
      at::silu(at::linear(inner, weight(name + "mlp.gate_proj"))) * at::linear(inner, weight(name + "mlp.up_proj"));
  return middle + at::linear(gated, weight(name + "mlp.down_proj"));
}

at::Tensor PlainSdar::logits(const at::Tensor& tokens_BS, const at::Tensor& position_S, const at::Tensor& mask_QK,
                             SdarCache* cache, bool store) const {
  const std::int64_t batch = tokens_BS.size(0), width = tokens_BS.size(1);
  const auto& embedding = weight("model.embed_tokens");
  auto x = at::embedding(embedding, tokens_BS.reshape({-1}));
  const auto wide = at::TensorOptions(at::kFloat).device(x.device());
  const auto exponent = at::arange(0, shape_.head_dimension, 2, wide) / static_cast<double>(shape_.head_dimension);
  const auto angle = at::outer(position_S.to(wide), 1.0 / at::pow(shape_.rope_theta, exponent));
  const auto doubled = at::cat({angle, angle}, -1).unsqueeze(1);
  const auto cosine = doubled.cos().to(x.scalar_type()), sine = doubled.sin().to(x.scalar_type());
  at::Tensor bias;
  if (mask_QK.defined()) {
    const auto zero = at::zeros({}, x.options().requires_grad(false));
    bias = at::where(mask_QK, zero, zero - std::numeric_limits<double>::infinity());
  }
  for (std::int64_t number = 0; number < shape_.layers; ++number)
    x = layer(x, number, cosine, sine, bias, batch, cache, store);
  return at::linear(norm(x, weight("model.norm"), shape_.epsilon), weight("lm_head")).view({batch, width, -1});
}

at::Tensor plain_block_decode(const PlainSdar& model, const at::Tensor& prompt_BP, std::int64_t length,
                              std::int64_t mask_id) {
  const std::int64_t block = model.shape().block, prompt = prompt_BP.size(1), rows = prompt_BP.size(0);
  const auto x_BS = at::cat({prompt_BP, at::full({rows, length}, mask_id, prompt_BP.options())}, 1);
  const auto position_S = at::arange(prompt + length, at::kLong);
  SdarCache cache;
  const auto of_prompt = position_S.narrow(0, 0, prompt);
  model.logits(prompt_BP, of_prompt, block_mask(of_prompt, of_prompt, block), &cache, /*store=*/true);
  for (std::int64_t begin = prompt; begin < prompt + length; begin += block) {
    const auto x_BW = x_BS.narrow(1, begin, block);
    const auto own = position_S.narrow(0, begin, block);
    for (std::int64_t step = 0; step < block; ++step) commit(model.logits(x_BW, own, {}, &cache), 1, mask_id, x_BW);
    model.logits(x_BW, own, {}, &cache, /*store=*/true);
  }
  return x_BS.narrow(1, prompt, length);
}

std::vector<at::Tensor> plain_trace_update(const PlainSdar& model, const Model& weights, const LossEstimator& loss,
                                           const LossInput& input, const at::Tensor& prompt_BP,
                                           const at::Tensor& tokens_BL) {
  const std::int64_t prompt = prompt_BP.size(1), length = tokens_BL.size(1);
  const auto mask_QK = two_copy_mask(prompt, length, model.shape().block);
  const auto position_S = at::arange(prompt + length, at::kLong);
  const auto position_R = at::cat({position_S, position_S.narrow(0, prompt, length)});
  for (std::int64_t view = 0; view < input.plan.response_F.size(0); ++view) {
    LossInput one = input;
    one.plan = select_views(input.plan, {view}, at::kCPU);
    const auto written_1L = tokens_BL.index_select(0, one.plan.response_F);
    const auto noisy_1L = written_1L.masked_fill(one.plan.masked_FL, weights.traits().mask_id);
    const auto row = at::cat({prompt_BP.index_select(0, one.plan.response_F), written_1L, noisy_1L}, 1);
    const auto logits = model.logits(row, position_R, mask_QK);
    const auto scored = at::cat({logits.narrow(1, 0, prompt), logits.narrow(1, prompt + length, length)}, 1);
    const auto logprob = at::log_softmax(scored.to(at::kFloat), -1).narrow(1, prompt, length);
    const auto chosen = logprob.gather(2, written_1L.unsqueeze(-1)).squeeze(-1);
    one.log_probs.current_FL = at::where(one.plan.target_FL, chosen, at::zeros({}, chosen.options()));
    one.log_probs.old_FL = one.log_probs.current_FL.detach();
    if (one.log_probs.reference_FL.defined()) one.log_probs.reference_FL = one.log_probs.old_FL;
    torch::autograd::backward({loss.evaluate(one).value}, {});
  }
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : weights.parameters()) {
    gradients.push_back(parameter.tensor.grad());
    parameter.tensor.mutable_grad() = at::Tensor();
  }
  return gradients;
}

}  // namespace drift::bench
