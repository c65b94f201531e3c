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
    const auto parts = x.view({x.size(0), heads, dimension}).split_with_sizes({rotated, dimension - rotated}, 2);
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
  const auto of_heads = [&](const Projection& projection, const at::Tensor& norm) {
    const auto projected = project(normed, projection, adapters);
    if (!norm.defined()) return projected;
    return kernels::rms_norm(projected.view({-1, norm.size(0)}), norm, shape.norm_epsilon, shape.norm_weight)
        .view_as(projected);
  };
  const auto q = rotary.rotate(of_heads(weights.q, weights.query_norm), shape.heads, heads_last);
  auto k = rotary.rotate(of_heads(weights.k, weights.key_norm), shape.kv_heads);
  auto v = project(normed, weights.v, adapters).view({-1, rotary.sequence, shape.kv_heads, q.size(3)}).transpose(1, 2);
  if (keep) std::tie(k, v) = keep(k, v);
  auto attended = attention(q, k, v, attention_mask);
  auto residual = x;
  if (rows_N.defined()) {
    attended = attended.index_select(0, rows_N);
    residual = residual.index_select(0, rows_N);
  }
  const auto chosen = adapters.select(rows_N);
  const auto add_to = [&](const at::Tensor& to, const at::Tensor& of, const Projection& projection) {
    return projection.bias.defined() ? to + project(of, projection, chosen) : project(of, projection, chosen, to);
  };
  const auto middle = add_to(residual, attended, weights.attention_out);
  const auto inner = kernels::rms_norm(middle, weights.feed_forward_norm, shape.norm_epsilon, shape.norm_weight);
  const auto gated = kernels::swiglu(project(inner, weights.gate, chosen), project(inner, weights.up, chosen));
  return add_to(middle, gated, weights.down);
}

std::int64_t block_activation_bytes(std::int64_t sequence, std::int64_t hidden, std::int64_t feed_forward,
                                    std::int64_t heads, std::int64_t element_size) {
  // Kept: input, norm, q, k, v (twice: before and after the change of order), attention output, middle, norm; gate, up,
  // product; probabilities.
  return sequence * (10 * hidden + 3 * feed_forward + heads * sequence) * element_size;
}

}  // namespace drift::nn
