#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift::nn {

/// Cosines and sines of the rotary angles of positions 0 … length - 1, built as the originals do: inverse frequencies
/// and angles in float32 (in float64 for a table of that type).
struct RotaryTable {
  RotaryTable() = default;
  RotaryTable(std::int64_t length, std::int64_t head_dimension, double theta, at::TensorOptions options);
  /// The positions [begin, begin + length).
  RotaryTable window(std::int64_t begin, std::int64_t length) const;
  at::Tensor cosine_SD2;
  at::Tensor sine_SD2;
};

/// Weights of one pre-norm block, [out, in] each. Biases may be undefined.
struct BlockWeights {
  at::Tensor attention_norm, q, k, v, attention_out;
  at::Tensor q_bias, k_bias, v_bias;
  at::Tensor feed_forward_norm, gate, up, down;
};

struct BlockShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  double norm_epsilon = 0;
};

/// The kept keys and values of one block: those of the computed positions are written at `begin`, then positions
/// [0, attended) are attended to.
struct KeptPositions {
  at::Tensor keys_BGSD, values_BGSD;
  std::int64_t begin = 0;
  std::int64_t attended = 0;
};

/// One transformer block: x + attention(norm(x)), then + swiglu(norm(x)). x [B * S, H] for sequences of the table's
/// length. `key_mask_BS` as in ForwardInput; with `kept`, of [0, attended). `rows_N` (indices into B * S, or undefined
/// for all): only these rows are computed after the attention, [N, H].
at::Tensor transformer_block(const at::Tensor& x, const BlockWeights& weights, const BlockShape& shape,
                             const RotaryTable& rotary, const at::Tensor& key_mask_BS, const at::Tensor& rows_N,
                             const KeptPositions* kept = nullptr);

/// Bytes of activations that transformer_block keeps for the backward, per sequence of `sequence` tokens.
std::int64_t block_activation_bytes(std::int64_t sequence, std::int64_t hidden, std::int64_t feed_forward,
                                    std::int64_t heads, std::int64_t element_size);

}  // namespace drift::nn
