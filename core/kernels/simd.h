#pragma once

// Plain loops over float32 or bfloat16, compiled once per instruction set and chosen when the library is loaded. Loops
// compute in float32; widening and narrowing are written so that the compiler vectorises them.

#include <core/kernels/exponential.h>

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

}  // namespace drift::kernels
