#include <core/nn/attention.h>

#include <core/kernels/product.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>

namespace drift::nn {
namespace {

// Up to about this length three plain calls, whose score matrix stays in cache, beat the blocked kernel on the CPU: by
// 1.1 to 2 times, most where the length is not a multiple of its block (docs/benchmarks.md).
constexpr std::int64_t kShortSequence = 96;
// The blocked kernel's products of bfloat16 are MKL's: where there is no AMX, slower than the three calls at all
// lengths, by 1.3 to 4 times. Longer sequences' score matrices would need much memory.
constexpr std::int64_t kShortSequenceOfBfloat16 = 512;

bool is_short(std::int64_t keys, at::ScalarType type) {
  if (type != at::kBFloat16) return keys <= kShortSequence;
  // Where products are widened, the blocked kernel widens them itself.
  if (kernels::bfloat16_products() == kernels::Bfloat16Products::kWidened) return false;
  return keys <= (kernels::has_amx() ? kShortSequence : kShortSequenceOfBfloat16);
}

at::Tensor short_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& bias) {
  const std::int64_t batch = q.size(0), heads = q.size(1), queries = q.size(2), keys = k.size(2), dimension = q.size(3);
  const auto flat = [&](const at::Tensor& t) { return t.reshape({batch * heads, t.size(2), dimension}); };
  const double scale = 1.0 / std::sqrt(static_cast<double>(dimension));
  // beta = 0: the first argument is not read.
  auto scores = at::baddbmm(at::empty({1, 1, 1}, q.options()), flat(q), flat(k).transpose(1, 2), 0, scale);
  if (bias.defined()) scores = (scores.view({batch, heads, queries, keys}) + bias).view_as(scores);
  return at::bmm(at::softmax(scores, -1), flat(v)).view({batch, heads, queries, dimension});
}

at::Tensor attention_with_bias(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& bias) {
  const std::int64_t batch = q.size(0), heads = q.size(1), queries = q.size(2), dimension = q.size(3);
  const std::int64_t key_heads = k.size(1), keys = k.size(2);
  // No query sees another: the query heads that share a key head are more queries of it, and keys need no copies.
  const std::int64_t heads_a_key_head = heads / key_heads, grouped_queries = heads_a_key_head * queries;
  const auto grouped = q.reshape({batch, key_heads, grouped_queries, dimension});
  const auto out = q.is_cpu() && is_short(keys, q.scalar_type())
                       ? short_attention(grouped, k, v, bias)
                       : at::scaled_dot_product_attention(
                             grouped, k, v,
                             bias.defined() ? std::optional<at::Tensor>(bias.expand({batch, 1, grouped_queries, keys}))
                                            : std::nullopt);
  // Where the kernel wrote heads last, as this returns them, nothing is copied.
  return out.view({batch, key_heads, heads_a_key_head, queries, dimension})
      .permute({0, 3, 1, 2, 4})
      .reshape({batch * queries, heads * dimension});
}

/// Of x [B, S, ...] the places [first, end). The gradient of a narrowed tensor would begin as zeros of its full size.
at::Tensor part(const at::Tensor& x, std::int64_t first, std::int64_t end) {
  const std::int64_t size = x.size(1);
  return end - first == size ? x : x.split_with_sizes({first, end - first, size - end}, 1)[1];
}

at::Tensor attention_by_runs(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const std::vector<RowsOfEqualKeys>& runs) {
  const std::int64_t queries = q.size(2), width = q.size(1) * q.size(3);
  std::vector<std::int64_t> rows;
  for (const auto& run : runs) rows.push_back(run.rows);
  // Heads last, as the projections have them: there the gradients of the parts are put together again.
  const auto in_runs = [&](const at::Tensor& x) { return x.transpose(1, 2).split_with_sizes(rows, 0); };
  const auto q_R = in_runs(q), k_R = in_runs(k), v_R = in_runs(v);
  std::vector<at::Tensor> out;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const auto& [count, first_key, end_key, first_query] = runs[r];
    const auto keys = part(k_R[r], first_key, end_key), values = part(v_R[r], first_key, end_key);
    const auto attended = attention_with_bias(part(q_R[r], first_query, queries).transpose(1, 2), keys.transpose(1, 2),
                                              values.transpose(1, 2), {})
                              .view({count, queries - first_query, width});
    out.push_back(first_query == 0 ? attended : at::constant_pad_nd(attended, {0, 0, first_query, 0}));
  }
  return (out.size() == 1 ? out.front() : at::cat(out)).view({-1, width});
}

}  // namespace

at::Tensor attention_bias(const at::Tensor& mask, at::ScalarType type, std::int64_t heads_a_key_head) {
  if (!mask.defined()) return mask;
  const auto zero = at::zeros({}, mask.options().dtype(type));
  auto bias = at::where(mask, zero, zero - std::numeric_limits<double>::infinity());
  if (bias.dim() == 2) {
    bias = bias.unsqueeze(1).unsqueeze(1);
  } else {
    const std::int64_t batch = bias.size(0), queries = bias.size(1), keys = bias.size(2);
    bias = bias.unsqueeze(1)
               .expand({batch, heads_a_key_head, queries, keys})
               .reshape({batch, 1, heads_a_key_head * queries, keys});
  }
  // CUDA's kernels need rows that begin at multiples of 16 bytes, and would copy this in each layer.
  constexpr std::int64_t kAligned = 8;
  const std::int64_t keys = bias.size(3), surplus = (kAligned - keys % kAligned) % kAligned;
  return bias.is_cpu() || surplus == 0 ? bias : at::constant_pad_nd(bias, {0, surplus}).narrow(3, 0, keys);
}

std::vector<RowsOfEqualKeys> rows_of_equal_keys(const at::Tensor& padding_B, const at::Tensor& attended_B,
                                                std::int64_t rows, std::int64_t keys, std::int64_t begin,
                                                std::int64_t queries) {
  // Up to here the launches of the runs are hidden behind their work.
  constexpr std::int64_t kFewRuns = 8, kFewestRowsOfARun = 4;
  const auto* padding = padding_B.defined() ? padding_B.const_data_ptr<std::int64_t>() : nullptr;
  const auto* attended = attended_B.defined() ? attended_B.const_data_ptr<std::int64_t>() : nullptr;
  std::vector<RowsOfEqualKeys> runs;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = padding ? padding[row] : 0, end = attended ? attended[row] : keys;
    if (!runs.empty() && runs.back().first_key == first && runs.back().end_key == end) {
      ++runs.back().rows;
      continue;
    }
    const std::int64_t padded_queries = begin < 0 ? 0 : first - begin;
    runs.push_back({1, first, end, padded_queries > 0 && padded_queries < queries ? padded_queries : 0});
  }
  const auto count = std::ssize(runs);
  return count > kFewRuns && count * kFewestRowsOfARun > rows ? std::vector<RowsOfEqualKeys>() : runs;
}

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask) {
  if (mask.tiles) return tiled_attention(q, k, v, mask.tiles);
  return mask.runs.empty() ? attention_with_bias(q, k, v, mask.bias) : attention_by_runs(q, k, v, mask.runs);
}

}  // namespace drift::nn
