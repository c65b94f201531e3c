#include <core/nn/dropout.h>

#include <core/kernels/cuda/library.h>
#include <core/kernels/simd.h>
#include <core/kernels/split_mix.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/empty_like.h>

#include <cmath>

namespace drift::nn {
namespace {

using kernels::kSplitMixStep;

std::int64_t as_signed(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }

/// Of 64 bits in an int64: zeros come in from the left.
at::Tensor shifted(const at::Tensor& z, int bits) {
  return at::bitwise_right_shift(z, bits) & as_signed((std::uint64_t{1} << (64 - bits)) - 1);
}

at::Tensor mixed(const at::Tensor& bits) {
  auto z = (bits ^ shifted(bits, 30)) * as_signed(kernels::kSplitMixFactor1);
  z = (z ^ shifted(z, 27)) * as_signed(kernels::kSplitMixFactor2);
  return z ^ shifted(z, 31);
}

/// An element goes if the upper half of its bits is below this.
std::uint64_t threshold(double share) { return static_cast<std::uint64_t>(std::llround(share * 4294967296.0)); }

float factor_of(double share) { return static_cast<float>(1.0 / (1.0 - share)); }

template <class T>
DRIFT_MULTIVERSION void drop_row(const T* from, T* to, std::int64_t width, std::uint64_t key, std::uint64_t limit,
                                 float factor) {
  for (std::int64_t i = 0; i < width; ++i) {
    const bool kept = (kernels::split_mix(key + kSplitMixStep * static_cast<std::uint64_t>(i + 1)) >> 32) >= limit;
    to[i] = kept ? kernels::narrow<T>(kernels::widen(from[i]) * factor) : T(0);
  }
}

template <class T>
void drop(const at::Tensor& x_MI, const at::Tensor& key_M, std::uint64_t stream, double share, const at::Tensor& out) {
  const std::int64_t width = x_MI.size(1);
  const T* from = x_MI.const_data_ptr<T>();
  T* to = out.data_ptr<T>();
  const std::int64_t* key = key_M.const_data_ptr<std::int64_t>();
  const auto limit = threshold(share);
  const float factor = factor_of(share);
  at::parallel_for(0, x_MI.size(0), kernels::rows_per_task(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      drop_row(from + row * width, to + row * width, width, static_cast<std::uint64_t>(key[row]) ^ stream, limit,
               factor);
    }
  });
}

}  // namespace

at::Tensor token_keys(const at::Tensor& row_key_B, std::int64_t sequence, PaddedOn side) {
  const auto place_S = at::arange(sequence, row_key_B.options());
  const auto number_S = side == PaddedOn::kLeft ? sequence - place_S : place_S + 1;
  return mixed(row_key_B.unsqueeze(1) + number_S * as_signed(kSplitMixStep)).reshape({-1});
}

at::Tensor dropped(const at::Tensor& x_MI, const at::Tensor& key_M, std::uint64_t stream, double share) {
  const at::NoGradGuard no_gradient;
  if (const auto* kernels = kernels::cuda::kernels_for(x_MI))
    return dropped_on_device(*kernels, x_MI, key_M, stream, share);
  const auto type = x_MI.scalar_type();
  if (!x_MI.is_cpu() || (type != at::kFloat && type != at::kBFloat16))
    return dropped_reference(x_MI, key_M, stream, share);
  const auto x = x_MI.contiguous();
  const auto out = at::empty_like(x);
  type == at::kFloat ? drop<float>(x, key_M, stream, share, out) : drop<c10::BFloat16>(x, key_M, stream, share, out);
  return out;
}

at::Tensor dropped_on_device(const kernels::cuda::KernelTable& kernels, const at::Tensor& x_MI, const at::Tensor& key_M,
                             std::uint64_t stream, double share) {
  const auto x = x_MI.contiguous(), key = key_M.contiguous();
  auto out = at::empty_like(x);
  kernels::cuda::check(
      kernels, kernels.dropout({kernels::cuda::element_of(x), x.const_data_ptr(), key.const_data_ptr<std::int64_t>(),
                                stream, threshold(share), factor_of(share), out.data_ptr(), x.size(0), x.size(1)},
                               kernels::cuda::stream_of(x)));
  return out;
}

at::Tensor dropped_reference(const at::Tensor& x_MI, const at::Tensor& key_M, std::uint64_t stream, double share) {
  const at::NoGradGuard no_gradient;
  const auto step_I = at::arange(1, x_MI.size(1) + 1, key_M.options()) * as_signed(kSplitMixStep);
  const auto bits_MI = mixed((key_M ^ as_signed(stream)).unsqueeze(1) + step_I);
  const auto kept_MI = shifted(bits_MI, 32) >= as_signed(threshold(share));
  // The factor as the loops have it.
  const auto narrow = x_MI.scalar_type() != at::kDouble;
  const double factor = narrow ? static_cast<double>(factor_of(share)) : 1.0 / (1.0 - share);
  return x_MI * factor * kept_MI;
}

}  // namespace drift::nn
