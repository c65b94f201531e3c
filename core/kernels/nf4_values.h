#pragma once

// The numbers that NF4's codes stand for. Without LibTorch, for code that nvcc compiles as well.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace drift::kernels {

/// Values of a block share a scale; scales of a group share theirs.
inline constexpr std::int64_t kNf4Block = 64, kNf4ScaleGroup = 256;

/// Of a value's code: quantiles of a normal distribution, scaled to [-1, 1]; from bitsandbytes.
inline constexpr std::array<float, 16> kNf4Values = {-1.0f,
                                                     -0.6961928009986877f,
                                                     -0.5250730514526367f,
                                                     -0.39491748809814453f,
                                                     -0.28444138169288635f,
                                                     -0.18477343022823334f,
                                                     -0.09105003625154495f,
                                                     0.0f,
                                                     0.07958029955625534f,
                                                     0.16093020141124725f,
                                                     0.24611230194568634f,
                                                     0.33791524171829224f,
                                                     0.44070982933044434f,
                                                     0.5626170039176941f,
                                                     0.7229568362236023f,
                                                     1.0f};

/// Of a scale's code, whose exponent is as long as the number is small: create_dynamic_map() of bitsandbytes, with the
/// roundings of its float32 operations.
constexpr std::array<float, 256> make_dynamic_values() {
  constexpr std::array<double, 7> kPowersOfTen = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0};
  std::array<float, 256> values{0.0f, 1.0f};
  std::size_t made = 2;
  for (std::size_t exponent = 0; exponent < 7; ++exponent) {
    const int items = 1 << exponent;
    const double low = 0.1f, step = (1.0f - 0.1f) / static_cast<float>(items);
    const auto boundary = [&](int i) {
      return static_cast<float>(i < (items + 1) / 2 ? low + step * i : 1.0 - step * (items - i));
    };
    for (int i = 0; i < items; ++i) {
      const float middle = (boundary(i) + boundary(i + 1)) / 2.0f;
      const float value = middle * static_cast<float>(kPowersOfTen[exponent]);
      values[made++] = value;
      values[made++] = -value;
    }
  }
  std::sort(values.begin(), values.end());
  return values;
}
inline constexpr std::array<float, 256> kDynamicValues = make_dynamic_values();

}  // namespace drift::kernels
