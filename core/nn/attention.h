#pragma once

#include <core/nn/attention_tiles.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace drift::nn {

/// Adjacent rows of a batch that attend to the same keys.
struct RowsOfEqualKeys {
  std::int64_t rows = 0;
  std::int64_t first_key = 0, end_key = 0;
  std::int64_t first_query = 0;  ///< those before it are padding: nothing is computed, they get 0
};

/// Which keys are attended to, the same in all layers of a forward.
struct AttentionMask {
  at::Tensor bias;                                   ///< of attention_bias(); undefined: all keys
  std::vector<RowsOfEqualKeys> runs;                 ///< of the whole batch, in place of a bias; empty: the bias holds
  std::shared_ptr<const AttentionTiles> tiles = {};  ///< of a model with blocks, in place of both; null: they hold
};

/// What is added to the scores: 0, or -infinity where `mask` (bool, [B, S] for all queries of a row, or [B, Q, S]) is
/// false. For queries of this type, `heads_a_key_head` of them for each head of the keys. Undefined without a mask.
at::Tensor attention_bias(const at::Tensor& mask, at::ScalarType type, std::int64_t heads_a_key_head);

/// The runs of rows of which each hides `padding_B` keys at its beginning, and those from `attended_B` on (int64, on
/// the CPU; undefined: 0, and all `keys`). `begin` is the place of the first of Q queries among the keys, -1 if rows
/// differ. Empty where there would be so many runs that one call with a bias is faster.
std::vector<RowsOfEqualKeys> rows_of_equal_keys(const at::Tensor& padding_B, const at::Tensor& attended_B,
                                                std::int64_t rows, std::int64_t keys, std::int64_t begin,
                                                std::int64_t queries);

/// Attention of Q queries to S keys. q [B, heads, Q, D]; k, v [B, kv_heads, S, D] with heads a multiple of kv_heads
/// (query head h reads key head h / (heads / kv_heads)). Scores are scaled by 1 / sqrt(D). @return [B * Q, heads * D].
/// Differentiable. With runs no score of a hidden key is computed, and LibTorch may take its kernels without masks.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask);

}  // namespace drift::nn
