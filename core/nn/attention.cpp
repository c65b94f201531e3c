#include <core/nn/attention.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>

namespace drift::nn {
namespace {

// Up to about this length three plain calls, whose score matrix stays in cache, beat the blocked kernel on the CPU:
// by 1.1 to 2 times, most where the length is no multiple of its block (docs/benchmarks.md).
constexpr std::int64_t kShortSequence = 96;

at::Tensor short_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& bias_B11S) {
  const std::int64_t batch = q.size(0), heads = q.size(1), queries = q.size(2), keys = k.size(2), dimension = q.size(3);
  const auto flat = [&](const at::Tensor& t) { return t.reshape({batch * heads, t.size(2), dimension}); };
  const double scale = 1.0 / std::sqrt(static_cast<double>(dimension));
  // beta = 0: the first argument is not read.
  auto scores = at::baddbmm(at::empty({1, 1, 1}, q.options()), flat(q), flat(k).transpose(1, 2), 0, scale);
  if (bias_B11S.defined()) scores = (scores.view({batch, heads, queries, keys}) + bias_B11S).view_as(scores);
  return at::bmm(at::softmax(scores, -1), flat(v)).view({batch, heads, queries, dimension});
}

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& key_mask_BS) {
  const std::int64_t batch = q.size(0), heads = q.size(1), queries = q.size(2), dimension = q.size(3);
  const std::int64_t key_heads = k.size(1), keys = k.size(2);
  at::Tensor bias;
  if (key_mask_BS.defined()) {
    const auto zero = at::zeros({}, q.options());
    bias = at::where(key_mask_BS, zero, zero - std::numeric_limits<double>::infinity()).view({batch, 1, 1, keys});
  }
  // No query sees another: the query heads that share a key head are more queries of it, and keys need no copies.
  const std::int64_t grouped_queries = heads / key_heads * queries;
  const auto grouped = q.reshape({batch, key_heads, grouped_queries, dimension});
  const bool is_short = q.is_cpu() && keys <= kShortSequence;
  const auto out = is_short
                       ? short_attention(grouped, k, v, bias)
                       : at::scaled_dot_product_attention(
                             grouped, k, v,
                             bias.defined() ? std::optional<at::Tensor>(bias.expand({batch, 1, grouped_queries, keys}))
                                            : std::nullopt);
  return out.reshape({batch, heads, queries, dimension}).transpose(1, 2).reshape({batch * queries, heads * dimension});
}

}  // namespace drift::nn
