#include <core/kernels/adamw.h>

#include <core/kernels/cuda/library.h>
#include <core/kernels/fused_path.h>
#include <core/kernels/largest_weight.h>
#include <core/kernels/simd.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros.h>

#include <atomic>
#include <cmath>

namespace drift::kernels {
namespace {

constexpr std::int64_t kElementsPerTask = 1 << 15;
constexpr std::int64_t kElementsInCache = 1 << 13;
// Of adamw_reference(), whose temporaries are several times as large.
constexpr std::int64_t kElementsPerPart = 1 << 24;
constexpr std::uint32_t kMix1 = 0x9E3779B1, kMix2 = 0x7FEB352D, kMix3 = 0x846CA68B;

/// What is the same for all elements. Computed in float64 and rounded once, as LibTorch does.
struct Factors {
  explicit Factors(const AdamWStep& step)
      : scale(static_cast<float>(step.gradient_scale)),
        keep(static_cast<float>(1 - step.learning_rate * step.weight_decay)),
        beta1(static_cast<float>(step.beta1)),
        add1(static_cast<float>(1 - step.beta1)),
        beta2(static_cast<float>(step.beta2)),
        add2(static_cast<float>(1 - step.beta2)),
        root(static_cast<float>(std::sqrt(1 - std::pow(step.beta2, static_cast<double>(step.update))))),
        epsilon(static_cast<float>(step.epsilon)),
        move(static_cast<float>(-step.learning_rate / (1 - std::pow(step.beta1, static_cast<double>(step.update))))),
        low_key(static_cast<std::uint32_t>(step.rounding_key)),
        high_key(static_cast<std::uint32_t>(step.rounding_key >> 32)) {}

  float scale, keep, beta1, add1, beta2, add2, root, epsilon, move;
  std::uint32_t low_key, high_key;
};

/// 16 bits that depend on the element and the keys alone: a multiplicative hash, whose loop the compiler vectorises.
DRIFT_ALWAYS_INLINE std::uint32_t random_bits(std::uint32_t element, const Factors& factors) {
  std::uint32_t x = (element + factors.low_key) * kMix1;
  x = (x ^ (x >> 16) ^ factors.high_key) * kMix2;
  x = (x ^ (x >> 15)) * kMix3;
  return x >> 16;
}

/// To a moment's type. bfloat16 is float32's upper half: adding less than a unit of it carries, or does not.
template <class M>
DRIFT_ALWAYS_INLINE M rounded_at_random(float x, std::uint32_t element, const Factors& factors) {
  if constexpr (std::is_same_v<M, float>) {
    return x;
  } else {
    const auto bits = std::bit_cast<std::uint32_t>(x) + random_bits(element, factors);
    return M(static_cast<std::uint16_t>(bits >> 16), M::from_bits());
  }
}

DRIFT_ALWAYS_INLINE std::uint32_t has_diverged(float x) { return std::fabs(x) <= kLargestWeight ? 0u : 1u; }

/// New moments; the second one, as float32, also into `wide`.
template <class M>
DRIFT_MULTIVERSION void update_moments(M* second, const float* gradients, float* wide, std::int64_t count,
                                       std::uint32_t element, Factors factors) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float gradient = gradients[i] * factors.scale;
    // std::fma where LibTorch's vectors have fused operations; all else is rounded one by one.
    const float moment = std::fma(factors.add2 * gradient, gradient, widen(second[i]) * factors.beta2);
    second[i] = rounded_at_random<M>(moment, element + static_cast<std::uint32_t>(i), factors);
    wide[i] = moment;
  }
}

/// New weights from the roots of the second moments, and the first ones. @return how many of them have diverged
template <bool kRounds, class M, class R>
DRIFT_MULTIVERSION std::uint32_t move_weights(float* weight, M* first, const float* gradients, const float* roots,
                                              R* rounded, std::int64_t count, Factors factors) {
  std::uint32_t failed = 0;
#pragma omp simd reduction(+ : failed)
  for (std::int64_t i = 0; i < count; ++i) {
    const float moment = std::fma(gradients[i] * factors.scale, factors.add1, widen(first[i]) * factors.beta1);
    const float moved = weight[i] * factors.keep + factors.move * moment / (roots[i] / factors.root + factors.epsilon);
    first[i] = narrow<M>(moment);
    weight[i] = moved;
    if constexpr (kRounds) {
      rounded[i] = narrow<R>(moved);
      failed += has_diverged(widen(rounded[i]));
    } else {
      failed += has_diverged(moved);
    }
  }
  return failed;
}

template <class M, class R>
bool update_all(const AdamWTensors& tensors, const AdamWStep& step) {
  const Factors factors(step);
  auto* weight = tensors.weight.data_ptr<float>();
  auto* first = tensors.first.data_ptr<M>();
  auto* second = tensors.second.data_ptr<M>();
  const auto* gradient = tensors.gradient.const_data_ptr<float>();
  R* rounded = tensors.rounded.defined() ? tensors.rounded.data_ptr<R>() : nullptr;
  std::atomic<bool> finite = true;
  at::parallel_for(0, tensors.weight.numel(), kElementsPerTask, [&](std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_gradient;
    const auto wide = at::empty({kElementsInCache}, at::kFloat);
    for (std::int64_t i = begin; i < end; i += kElementsInCache) {
      const std::int64_t count = std::min(kElementsInCache, end - i);
      update_moments(second + i, gradient + i, wide.template data_ptr<float>(), count,
                     static_cast<std::uint32_t>(tensors.begin + i), factors);
      // LibTorch's own root: its library's differs from the nearest value now and then.
      const auto roots = wide.narrow(0, 0, count).sqrt_();
      const auto* root = roots.template const_data_ptr<float>();
      const auto failed =
          rounded != nullptr
              ? move_weights<true>(weight + i, first + i, gradient + i, root, rounded + i, count, factors)
              : move_weights<false>(weight + i, first + i, gradient + i, root, rounded, count, factors);
      if (failed > 0) finite = false;
    }
  });
  return finite;
}

bool is_in_order(const AdamWTensors& tensors) {
  return tensors.weight.is_contiguous() && tensors.first.is_contiguous() && tensors.second.is_contiguous() &&
         tensors.gradient.is_contiguous() && (!tensors.rounded.defined() || tensors.rounded.is_contiguous());
}

/// rounded_at_random() in plain operations.
at::Tensor rounded_at_random(const at::Tensor& wide, std::int64_t begin, const AdamWStep& step) {
  const Factors factors(step);
  constexpr std::int64_t kLow = 0xFFFFFFFF;
  const auto product = [](const at::Tensor& x, std::uint32_t factor) {  // of 32 bits, in 64
    return ((x * static_cast<std::int64_t>(factor)).bitwise_and_(kLow));
  };
  auto x = at::arange(begin, begin + wide.numel(), wide.options().dtype(at::kLong)).add_(factors.low_key);
  x = product(x.bitwise_and_(kLow), kMix1);
  x = product(x.bitwise_xor(x.bitwise_right_shift(16)).bitwise_xor_(static_cast<std::int64_t>(factors.high_key)),
              kMix2);
  x = product(x.bitwise_xor(x.bitwise_right_shift(15)), kMix3).bitwise_right_shift(16);
  const auto bits = wide.reshape({-1}).view(at::kInt).to(at::kLong).add_(x);
  return bits.bitwise_and_(~std::int64_t{0xFFFF}).to(at::kInt).view(at::kFloat).view(wide.sizes());
}

}  // namespace

AdamWTensors AdamWTensors::part(std::int64_t first_element, std::int64_t count) const {
  const auto take = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.view({-1}).narrow(0, first_element, count) : tensor;
  };
  return {take(weight), take(first), take(second), take(gradient), take(rounded), begin + first_element};
}

bool adamw(const AdamWTensors& tensors, const AdamWStep& step) {
  bool finite = true;
  if (!is_in_order(tensors)) {
    finite = adamw_reference(tensors, step);
  } else if (tensors.weight.is_cpu() && tensors.weight.scalar_type() == at::kFloat) {
    with_element_type(tensors.first.scalar_type(), [&](auto moment) {
      with_element_type(tensors.rounded.defined() ? tensors.rounded.scalar_type() : at::kFloat,
                        [&](auto rounded) { finite = update_all<decltype(moment), decltype(rounded)>(tensors, step); });
    });
  } else {
    const std::int64_t count = tensors.weight.numel();
    for (std::int64_t first = 0; first < count; first += kElementsPerPart)
      finite = adamw_reference(tensors.part(first, std::min(kElementsPerPart, count - first)), step) && finite;
  }
  return finite;
}

namespace {

/// The key by which the element with this number is rounded as number 0: random_bits() adds the number to its lower
/// half.
std::uint64_t key_from(std::uint64_t key, std::int64_t element) {
  constexpr std::uint64_t kLow = 0xFFFFFFFF;
  return (key & ~kLow) | ((key + static_cast<std::uint64_t>(element)) & kLow);
}

}  // namespace

bool fits_device(const AdamWTensors& tensors) {
  return is_in_order(tensors) && tensors.weight.scalar_type() == at::kFloat &&
         tensors.gradient.scalar_type() == at::kFloat &&
         (!tensors.rounded.defined() || tensors.rounded.scalar_type() == at::kBFloat16);
}

std::optional<std::size_t> adamw_on_device(const cuda::KernelTable& kernels, const std::vector<AdamWTensors>& tensors,
                                           const AdamWStep& step, const std::vector<std::uint64_t>& rounding_key) {
  if (tensors.empty()) return std::nullopt;
  const at::Tensor& example = tensors.front().first;
  std::vector<cuda::AdamwTensorCall> calls;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const auto& [weight, first, second, gradient, rounded, begin] = tensors[t];
    calls.push_back({weight.data_ptr<float>(), first.data_ptr(), second.data_ptr(), gradient.const_data_ptr<float>(),
                     rounded.defined() ? rounded.data_ptr() : nullptr, weight.numel(),
                     key_from(rounding_key[t], begin)});
  }
  const Factors factors(step);
  const auto diverged = at::zeros({static_cast<std::int64_t>(tensors.size())}, example.options().dtype(at::kInt));
  cuda::check(kernels, kernels.adamw({cuda::element_of(example),
                                      calls.data(),
                                      static_cast<std::int64_t>(calls.size()),
                                      {factors.scale, factors.keep, factors.beta1, factors.add1, factors.beta2,
                                       factors.add2, factors.root, factors.epsilon, factors.move},
                                      diverged.data_ptr<std::int32_t>()},
                                     cuda::stream_of(example)));
  const auto found = diverged.cpu().nonzero();
  if (found.numel() == 0) return std::nullopt;
  return static_cast<std::size_t>(found[0].item<std::int64_t>());
}

bool adamw_reference(const AdamWTensors& tensors, const AdamWStep& step) {
  const at::NoGradGuard no_gradient;
  const auto count = static_cast<double>(step.update);
  auto [weight, first, second, gradient, rounded, begin] = tensors;
  const bool narrow_moments = first.scalar_type() != weight.scalar_type();
  if (narrow_moments) {
    first = first.to(weight.scalar_type());
    second = second.to(weight.scalar_type());
  }
  if (step.gradient_scale != 1) gradient.mul_(step.gradient_scale);
  if (step.weight_decay != 0) weight.mul_(1 - step.learning_rate * step.weight_decay);
  first.mul_(step.beta1).add_(gradient, 1 - step.beta1);
  second.mul_(step.beta2).addcmul_(gradient, gradient, 1 - step.beta2);
  const auto size = at::sqrt(second).div_(std::sqrt(1 - std::pow(step.beta2, count))).add_(step.epsilon);
  weight.addcdiv_(first, size, -step.learning_rate / (1 - std::pow(step.beta1, count)));
  if (narrow_moments) {
    auto narrow_first = tensors.first, narrow_second = tensors.second;
    narrow_first.copy_(first);
    narrow_second.copy_(rounded_at_random(second, begin, step));
  }
  if (rounded.defined()) rounded.copy_(weight);
  return ((rounded.defined() ? rounded : weight).abs() <= kLargestWeight).all().item<bool>();
}

}  // namespace drift::kernels
