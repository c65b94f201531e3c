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
  const std::int64_t batch = q.size(0), heads = q.size(1), sequence = q.size(2), dimension = q.size(3);
  const auto flat = [&](const at::Tensor& t) { return t.reshape({batch * heads, sequence, dimension}); };
  const double scale = 1.0 / std::sqrt(static_cast<double>(dimension));
  // beta = 0: the first argument is not read.
  auto scores = at::baddbmm(at::empty({1, 1, 1}, q.options()), flat(q), flat(k).transpose(1, 2), 0, scale);
  if (bias_B11S.defined()) scores = (scores.view({batch, heads, sequence, sequence}) + bias_B11S).view_as(scores);
  return at::bmm(at::softmax(scores, -1), flat(v)).view({batch, heads, sequence, dimension});
}

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& key_mask_BS) {
  const std::int64_t batch = q.size(0), heads = q.size(1), sequence = q.size(2), dimension = q.size(3);
  const auto spread = [&](const at::Tensor& t) {
    return t.size(1) == heads ? t : t.repeat_interleave(heads / t.size(1), 1);
  };
  at::Tensor bias;
  if (key_mask_BS.defined()) {
    const auto zero = at::zeros({}, q.options());
    bias = at::where(key_mask_BS, zero, zero - std::numeric_limits<double>::infinity()).view({batch, 1, 1, sequence});
  }
  const auto keys = spread(k), values = spread(v);
  const bool is_short = q.is_cpu() && sequence <= kShortSequence;
  const auto out =
      is_short
          ? short_attention(q, keys, values, bias)
          : at::scaled_dot_product_attention(
                q, keys, values,
                bias.defined() ? std::optional<at::Tensor>(bias.expand({batch, 1, sequence, sequence})) : std::nullopt);
  return out.transpose(1, 2).reshape({batch * sequence, heads * dimension});
}

}  // namespace drift::nn
