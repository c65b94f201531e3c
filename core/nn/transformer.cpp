#include <core/nn/transformer.h>

#include <core/kernels/transformer_ops.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>

#include <tuple>

namespace drift::nn {
RotaryTable::RotaryTable(std::int64_t length, std::int64_t head_dimension, double theta, at::TensorOptions options) {
  sequence = length;
  // Shapes only. Where Python has imported torch, all of this device's operators but at::empty() run in Python.
  if (options.device().is_meta()) {
    cosine_SD2 = at::empty({length, head_dimension / 2}, options);
    sine_SD2 = at::empty({length, head_dimension / 2}, options);
    return;
  }
  // On the CPU, because the originals' tables have its cosines.
  const auto type = c10::typeMetaToScalarType(options.dtype());
  const auto wide = at::TensorOptions(type == at::kDouble ? at::kDouble : at::kFloat);
  const auto exponents = at::arange(0, head_dimension, 2, wide) / static_cast<double>(head_dimension);
  const auto frequencies = 1.0 / at::pow(theta, exponents);
  const auto angles = at::outer(at::arange(length, wide), frequencies);
  cosine_SD2 = angles.cos().to(options);
  sine_SD2 = angles.sin().to(options);
}

RotaryTable RotaryTable::window(std::int64_t begin, std::int64_t length) const {
  RotaryTable part;
  part.sequence = length;
  part.cosine_SD2 = cosine_SD2.narrow(0, begin, length);
  part.sine_SD2 = sine_SD2.narrow(0, begin, length);
  return part;
}

RotaryTable RotaryTable::at_positions(const at::Tensor& positions_BS) const {
  RotaryTable part;
  part.sequence = positions_BS.size(1);
  const auto flat = positions_BS.reshape({-1});
  part.cosine_SD2 = cosine_SD2.index_select(0, flat);
  part.sine_SD2 = sine_SD2.index_select(0, flat);
  return part;
}

at::Tensor RotaryTable::rotate(const at::Tensor& x, std::int64_t heads, bool heads_last) const {
  const std::int64_t dimension = x.size(1) / heads, rotated = 2 * cosine_SD2.size(1);
  if (rotated < dimension) {
    const auto parts = x.reshape({x.size(0), heads, dimension}).split_with_sizes({rotated, dimension - rotated}, 2);
    const auto still = parts[1].view({-1, sequence, heads, dimension - rotated}).transpose(1, 2);
    return at::cat({rotate(parts[0].reshape({x.size(0), heads * rotated}), heads), still}, -1);
  }
  const auto turned = kernels::rotate_heads(x, cosine_SD2, sine_SD2, heads, heads_last);
  if (cosine_SD2.size(0) == sequence) return turned;
  // The kernel took all sequences for one.
  return turned.view({heads, -1, sequence, turned.size(3)}).transpose(0, 1);
}

at::Tensor transformer_block(const at::Tensor& x, const BlockWeights& weights, const BlockShape& shape,
                             const RotaryTable& rotary, const AttentionMask& attention_mask, const at::Tensor& rows_N,
                             const AdapterUse& adapters, const KeepKeysAndValues& keep) {
  const auto normed = kernels::rms_norm(x, weights.attention_norm, shape.norm_epsilon, shape.norm_weight);
  // Where query heads share key heads, attention takes them as more queries, which lie together in memory.
  const bool heads_last = shape.heads == shape.kv_heads;
  auto query = project(normed, weights.q, adapters), key = query, value = query;
  if (weights.k.weight.defined()) {
    key = project(normed, weights.k, adapters);
    value = project(normed, weights.v, adapters);
  } else {
    const std::int64_t dimension = query.size(1) / (shape.heads + 2 * shape.kv_heads);
    const auto parts =
        query.split_with_sizes({shape.heads * dimension, shape.kv_heads * dimension, shape.kv_heads * dimension}, 1);
    query = parts[0], key = parts[1], value = parts[2];
  }
  const auto of_heads = [&](const at::Tensor& projected, const at::Tensor& norm) {
    if (!norm.defined()) return projected;
    const auto heads = projected.reshape({-1, norm.size(0)});
    return kernels::rms_norm(heads, norm, shape.norm_epsilon, shape.norm_weight).view(projected.sizes());
  };
  const auto q = rotary.rotate(of_heads(query, weights.query_norm), shape.heads, heads_last);
  auto k = rotary.rotate(of_heads(key, weights.key_norm), shape.kv_heads);
  auto v = value.view({-1, rotary.sequence, shape.kv_heads, q.size(3)}).transpose(1, 2);
  if (keep) std::tie(k, v) = keep(k, v);
  auto attended = attention(q, k, v, attention_mask);
  auto residual = x;
  if (rows_N.defined()) {
    attended = attended.index_select(0, rows_N);
    residual = residual.index_select(0, rows_N);
  }
  const auto chosen = adapters.select(rows_N);
  const auto& out = weights.attention_out;
  const auto middle =
      out.bias.defined() ? residual + project(attended, out, chosen) : project(attended, out, chosen, residual);
  const auto inner = kernels::rms_norm(middle, weights.feed_forward_norm, shape.norm_epsilon, shape.norm_weight);
  if (weights.experts.experts.empty()) return feed_forward(inner, weights.feed_forward, chosen, middle);
  auto mixed = mixed_experts(inner, weights.experts, shape.choice, chosen);
  if (weights.feed_forward.gate.weight.defined()) mixed = feed_forward(inner, weights.feed_forward, chosen, mixed);
  return middle + mixed;
}

std::int64_t block_activation_bytes(std::int64_t sequence, std::int64_t hidden, std::int64_t feed_forward,
                                    std::int64_t heads, std::int64_t element_size) {
  // Kept: input, norm, q, k, v (twice: before and after the change of order), attention output, middle, norm; gate, up,
  // product; probabilities.
  return sequence * (10 * hidden + 3 * feed_forward + heads * sequence) * element_size;
}

}  // namespace drift::nn
