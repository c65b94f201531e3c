#include "bench/plain_llada.h"

#include <core/kernels/transformer_ops.h>
#include <core/nn/transformer.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>

namespace drift::bench {
namespace {

constexpr double kEpsilon = 1e-5;

}  // namespace

PlainLlada::PlainLlada(const UpdateCases& cases) : shape_(cases.shape()), adapter_scale_(cases.adapter_scale()) {
  for (const auto& parameter : cases.model().parameters()) weights_[parameter.name] = parameter.tensor;
}

at::Tensor PlainLlada::projected(const at::Tensor& x, const std::string& name) const {
  const auto y = at::linear(x, weight(name));
  if (adapter_scale_ == 0) return y;
  return y + at::linear(at::linear(x, weight(name + ".lora_A")), weight(name + ".lora_B")) * adapter_scale_;
}

at::Tensor PlainLlada::forward(const at::Tensor& tokens_BS, PlainCache* keep, const PlainCache* past,
                               std::int64_t begin) const {
  const std::int64_t batch = tokens_BS.size(0), width = tokens_BS.size(1), dimension = shape_.hidden / shape_.heads;
  const bool replaces = begin >= 0;
  const std::int64_t kept = past == nullptr ? 0 : past->keys.front().size(1), keys = replaces ? kept : kept + width;
  const nn::RotaryTable table(keys, dimension, shape_.rope_theta,
                              at::TensorOptions(at::kFloat).device(tokens_BS.device()));
  const auto rotated = [&](const at::Tensor& x_BSH, std::int64_t first) {
    const auto window = table.window(first, x_BSH.size(1));
    return kernels::rotate_heads_reference(x_BSH.reshape({-1, shape_.hidden}), window.cosine_SD2, window.sine_SD2,
                                           shape_.heads);
  };
  auto x = at::embedding(weight("wte"), tokens_BS.reshape({-1}));
  for (std::int64_t l = 0; l < shape_.layers; ++l) {
    const std::string block = "blocks." + std::to_string(l) + ".";
    const auto normed = kernels::rms_norm_reference(x, weight(block + "attn_norm"), kEpsilon);
    const auto heads = [&](const char* name) {
      return projected(normed, block + name).view({batch, width, shape_.hidden});
    };
    auto key = heads("k_proj"), value = heads("v_proj");
    if (past != nullptr) {
      const auto layer = static_cast<std::size_t>(l);
      if (replaces) {
        auto whole_key = past->keys[layer].clone(), whole_value = past->values[layer].clone();
        whole_key.narrow(1, begin, width).copy_(key);
        whole_value.narrow(1, begin, width).copy_(value);
        key = whole_key, value = whole_value;
      } else {
        key = at::cat({past->keys[layer], key}, 1), value = at::cat({past->values[layer], value}, 1);
      }
    }
    if (keep != nullptr) {
      keep->keys.resize(static_cast<std::size_t>(shape_.layers));
      keep->values.resize(static_cast<std::size_t>(shape_.layers));
      keep->keys[static_cast<std::size_t>(l)] = key, keep->values[static_cast<std::size_t>(l)] = value;
    }
    const auto query = rotated(heads("q_proj"), replaces ? begin : kept);
    const auto attended = at::scaled_dot_product_attention(
        query, rotated(key, 0), value.view({batch, keys, shape_.heads, dimension}).transpose(1, 2));
    x = x + projected(attended.transpose(1, 2).reshape({batch * width, shape_.hidden}), block + "attn_out");
    const auto inner = kernels::rms_norm_reference(x, weight(block + "ff_norm"), kEpsilon);
    const auto gated =
        kernels::swiglu_reference(projected(inner, block + "ff_proj"), projected(inner, block + "up_proj"));
    x = x + projected(gated, block + "ff_out");
  }
  x = kernels::rms_norm_reference(x, weight("ln_f"), kEpsilon);
  return at::linear(x, weight("ff_out")).view({batch, width, shape_.vocabulary});
}

}  // namespace drift::bench
