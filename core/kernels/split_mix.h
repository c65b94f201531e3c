#pragma once

// SplitMix64 (Steele, Lea, Flood 2014): the output function of a counter that moves by kSplitMixStep. Without LibTorch,
// for code that nvcc compiles as well.

#include <core/kernels/exponential.h>

#include <cstdint>

namespace drift::kernels {

constexpr std::uint64_t kSplitMixStep = 0x9E3779B97F4A7C15, kSplitMixFactor1 = 0xBF58476D1CE4E5B9,
                        kSplitMixFactor2 = 0x94D049BB133111EB;

DRIFT_ALWAYS_INLINE std::uint64_t split_mix(std::uint64_t counter) {
  counter = (counter ^ (counter >> 30)) * kSplitMixFactor1;
  counter = (counter ^ (counter >> 27)) * kSplitMixFactor2;
  return counter ^ (counter >> 31);
}

}  // namespace drift::kernels
