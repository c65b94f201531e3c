#pragma once

// Without LibTorch, for code that nvcc compiles as well.

#include <bit>
#include <cstdint>

#ifdef __CUDACC__
#define DRIFT_ALWAYS_INLINE __host__ __device__ __forceinline__
#else
#define DRIFT_ALWAYS_INLINE __attribute__((always_inline)) inline
#endif

namespace drift::kernels {

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
