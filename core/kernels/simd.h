#pragma once

// Plain loops over float32 or bfloat16, compiled once per instruction set and chosen when the library is loaded. Loops
// compute in float32; widening and narrowing are written so that the compiler vectorises them.

#include <c10/util/BFloat16.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define DRIFT_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DRIFT_MULTIVERSION
#endif
#define DRIFT_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace drift::kernels {

/// Rows of this width per task: below, a second thread costs more than it saves.
inline std::int64_t rows_per_task(std::int64_t width) {
  return std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, width));
}

DRIFT_ALWAYS_INLINE float widen(float x) { return x; }
DRIFT_ALWAYS_INLINE float widen(c10::BFloat16 x) { return std::bit_cast<float>(std::uint32_t{x.x} << 16); }

/// To T, to nearest, ties to even; NaN stays NaN.
template <class T>
DRIFT_ALWAYS_INLINE T narrow(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    return T(static_cast<std::uint16_t>(x != x ? 0x7FC0 : rounded), T::from_bits());
  }
}

/// The nearest value of T, as float.
template <class T>
DRIFT_ALWAYS_INLINE float rounded_to(float x) {
  return widen(narrow<T>(x));
}

/// e^x for float to 2 units in the last place, in a form that the compiler vectorises. Infinity above 88.7; NaN stays
/// NaN.
DRIFT_ALWAYS_INLINE float vector_exp(float x) {
  const float clamped = x < -104.0f ? -104.0f : (x > 89.0f ? 89.0f : x);
  const float scaled = clamped * 1.44269504f;
  const float shifted = scaled + 12582912.0f;  // 1.5 * 2^23: rounds to the nearest integer in the low bits
  const float n = shifted - 12582912.0f;
  const float r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
  const float p = ((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r +
                   1.6666665459e-1f) *
                      r +
                  5.0000001201e-1f;
  const float mantissa = p * r * r + r + 1.0f;
  // 2^n in two factors, since n = 128 is not a valid exponent.
  const std::int32_t exponent = std::bit_cast<std::int32_t>(shifted) - 0x4B400000;
  const std::int32_t half = exponent >> 1;
  return mantissa * std::bit_cast<float>((half + 127) << 23) * std::bit_cast<float>((exponent - half + 127) << 23);
}

}  // namespace drift::kernels
