#pragma once

// Plain loops, compiled once per instruction set and chosen when the library is loaded.

#include <bit>
#include <cmath>
#include <cstdint>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define DRIFT_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DRIFT_MULTIVERSION
#endif

namespace drift::kernels {

/// e^x for float to 2 units in the last place, in a form that the compiler vectorises. NaN stays NaN.
__attribute__((always_inline)) inline float vector_exp(float x) {
  const float clamped = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
  const float scaled = clamped * 1.44269504f;
  const float shifted = scaled + 12582912.0f;  // 1.5 * 2^23: rounds to the nearest integer in the low bits
  const float n = shifted - 12582912.0f;
  const float r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
  const float p = ((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r +
                   1.6666665459e-1f) *
                      r +
                  5.0000001201e-1f;
  const float mantissa = p * r * r + r + 1.0f;
  const auto exponent = (std::bit_cast<std::int32_t>(shifted) - 0x4B400000 + 127) << 23;
  return mantissa * std::bit_cast<float>(exponent);
}

}  // namespace drift::kernels
