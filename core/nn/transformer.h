#pragma once

#include <core/kernels/transformer_ops.h>
#include <core/nn/attention.h>
#include <core/nn/experts.h>
#include <core/nn/projection.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace drift::nn {

/// Cosines and sines of rotary angles, built as the originals do: inverse frequencies and angles in float32 (in float64
/// for a table of that type).
struct RotaryTable {
  RotaryTable() = default;
  /// Of the positions 0 … length - 1.
  RotaryTable(std::int64_t length, std::int64_t head_dimension, double theta, at::TensorOptions options);
  /// The positions [begin, begin + length), the same for every sequence.
  RotaryTable window(std::int64_t begin, std::int64_t length) const;
  /// The positions of each token of some sequences: int64 [B, S].
  RotaryTable at_positions(const at::Tensor& positions_BS) const;

  /// x [B * S, heads * D], turned, heads first: [B, heads, S, D]. `heads_last` as in kernels::rotate_heads(). A table
  /// of fewer than D components turns the first ones of a head; the others stay.
  at::Tensor rotate(const at::Tensor& x, std::int64_t heads, bool heads_last = false) const;

  std::int64_t sequence = 0;  ///< S
  at::Tensor cosine_SD2;      ///< [S, D / 2], or [B * S, D / 2] if sequences differ
  at::Tensor sine_SD2;
};

/// Weights of one pre-norm block. One projection may make queries, keys and values, in this order: then it is `q`, and
/// `k` and `v` are undefined.
struct BlockWeights {
  at::Tensor attention_norm;
  Projection q, k, v, attention_out;
  at::Tensor query_norm, key_norm;  ///< [D], over each head; undefined: none
  at::Tensor feed_forward_norm;
  FeedForward feed_forward;  ///< of all tokens; where there are experts, it may be undefined
  Experts experts;           ///< none in a dense block
};

/// The projections that a block has, in this order everywhere. `Block` is BlockWeights, const or not.
template <class Block>
auto projections(Block& block) {
  std::vector<decltype(&block.q)> found{&block.q, &block.k, &block.v, &block.attention_out};
  const auto add = [&](auto& one) { found.insert(found.end(), {&one.gate, &one.up, &one.down}); };
  for (auto& expert : block.experts.experts) add(expert);
  add(block.feed_forward);
  std::erase_if(found, [](const Projection* one) { return !one->weight.defined(); });
  return found;
}

struct BlockShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  double norm_epsilon = 0;
  kernels::NormWeight norm_weight = kernels::NormWeight::kAfterRounding;
  ExpertChoice choice = {};  ///< of blocks with experts
};

/// Where a block's keys and values go, and what its queries attend to instead of them: a cache's part in a forward.
using KeepKeysAndValues =
    std::function<std::pair<at::Tensor, at::Tensor>(const at::Tensor& keys, const at::Tensor& values)>;

/// One transformer block: x + attention(norm(x)), then + swiglu(norm(x)), or experts, or both. x [B * S, H].
/// `attention_mask` as in
/// attention(), over the keys that are attended to. `rows_N` (indices into B * S, or undefined for all): only these
/// rows are computed after the attention, [N, H].
at::Tensor transformer_block(const at::Tensor& x, const BlockWeights& weights, const BlockShape& shape,
                             const RotaryTable& rotary, const AttentionMask& attention_mask, const at::Tensor& rows_N,
                             const AdapterUse& adapters = {}, const KeepKeysAndValues& keep = {});

/// Bytes of activations that transformer_block keeps for the backward, per sequence of `sequence` tokens; with the
/// scores of so many heads.
std::int64_t block_activation_bytes(std::int64_t sequence, std::int64_t hidden, std::int64_t feed_forward,
                                    std::int64_t heads, std::int64_t element_size);

}  // namespace drift::nn
