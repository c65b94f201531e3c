#include <core/nn/attention.h>

#include <core/kernels/product.h>

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

// Up to about this length three plain calls, whose score matrix stays in cache, beat the blocked kernel on the CPU: by
// 1.1 to 2 times, most where the length is not a multiple of its block (docs/benchmarks.md).
constexpr std::int64_t kShortSequence = 96;

at::Tensor short_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& bias) {
  const std::int64_t batch = q.size(0), heads = q.size(1), queries = q.size(2), keys = k.size(2), dimension = q.size(3);
  const auto flat = [&](const at::Tensor& t) { return t.reshape({batch * heads, t.size(2), dimension}); };
  const double scale = 1.0 / std::sqrt(static_cast<double>(dimension));
  // beta = 0: the first argument is not read.
  auto scores = at::baddbmm(at::empty({1, 1, 1}, q.options()), flat(q), flat(k).transpose(1, 2), 0, scale);
  if (bias.defined()) scores = (scores.view({batch, heads, queries, keys}) + bias).view_as(scores);
  return at::bmm(at::softmax(scores, -1), flat(v)).view({batch, heads, queries, dimension});
}

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask) {
  const std::int64_t batch = q.size(0), heads = q.size(1), queries = q.size(2), dimension = q.size(3);
  const std::int64_t key_heads = k.size(1), keys = k.size(2);
  // No query sees another: the query heads that share a key head are more queries of it, and keys need no copies.
  const std::int64_t heads_a_key_head = heads / key_heads, grouped_queries = heads_a_key_head * queries;
  const auto grouped = q.reshape({batch, key_heads, grouped_queries, dimension});
  at::Tensor bias;
  if (mask.defined()) {
    const auto zero = at::zeros({}, q.options());
    bias = at::where(mask, zero, zero - std::numeric_limits<double>::infinity());
    bias = mask.dim() == 2 ? bias.view({batch, 1, 1, keys})
                           : bias.unsqueeze(1)
                                 .expand({batch, heads_a_key_head, queries, keys})
                                 .reshape({batch, 1, grouped_queries, keys});
  }
  // The blocked kernel widens bfloat16 itself.
  const bool slow_products =
      q.scalar_type() == at::kBFloat16 && kernels::bfloat16_products() == kernels::Bfloat16Products::kWidened;
  const bool is_short = q.is_cpu() && keys <= kShortSequence && !slow_products;
  const auto out = is_short
                       ? short_attention(grouped, k, v, bias)
                       : at::scaled_dot_product_attention(
                             grouped, k, v,
                             bias.defined() ? std::optional<at::Tensor>(bias.expand({batch, 1, grouped_queries, keys}))
                                            : std::nullopt);
  return out.reshape({batch, heads, queries, dimension}).transpose(1, 2).reshape({batch * queries, heads * dimension});
}

}  // namespace drift::nn
