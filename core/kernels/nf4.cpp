#include <core/kernels/nf4.h>

#include <core/kernels/cuda/library.h>
#include <core/kernels/fused_path.h>
#include <core/kernels/simd.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <vector>

namespace drift::kernels {
namespace {

constexpr std::int64_t kGroupValues = kNf4Block * kNf4ScaleGroup;  // that share a group's scale

std::int64_t divided_up(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

// The nearest value; the lower one of two as near.
std::uint8_t dynamic_code(float value) {
  const auto& values = kDynamicValues;
  const auto above = std::upper_bound(values.begin(), values.end(), value);
  if (above == values.begin()) return 0;
  std::size_t code = static_cast<std::size_t>(above - values.begin()) - 1;
  if (code < 255 && std::abs(value - values[code + 1]) < std::abs(value - values[code])) ++code;
  return static_cast<std::uint8_t>(code);
}

// Of two neighbouring values, the middle belongs to the lower one.
DRIFT_ALWAYS_INLINE std::uint8_t nf4_code(float value) {
  std::uint8_t code = 0;
  for (int i = 0; i < 15; ++i) code += value > (kNf4Values[i] + kNf4Values[i + 1]) / 2 ? 1 : 0;
  return code;
}

/// Whether all values are finite.
template <class T>
DRIFT_MULTIVERSION bool pack_block(const T* values, std::int64_t count, std::uint8_t* codes, float* scale) {
  float largest = 0;
  int unusable = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float size = std::abs(widen(values[i]));
    unusable |= size <= std::numeric_limits<float>::max() ? 0 : 1;
    largest = size > largest ? size : largest;
  }
  std::array<std::uint8_t, kNf4Block> each{};
  const float divisor = largest < 1e-38f ? 1e-38f : largest, factor = 1.0f / divisor;
  const bool is_whole = count == kNf4Block;
  for (std::int64_t i = 0; i < count; ++i) {
    const float scaled = is_whole ? widen(values[i]) * factor : widen(values[i]) / divisor;
    each[static_cast<std::size_t>(i)] = nf4_code(scaled);
  }
  if (count % 2 != 0) each[static_cast<std::size_t>(count)] = nf4_code(0);
  for (std::int64_t i = 0; i < (count + 1) / 2; ++i) {
    codes[i] = static_cast<std::uint8_t>(each[static_cast<std::size_t>(2 * i)] << 4 |
                                         each[static_cast<std::size_t>(2 * i + 1)]);
  }
  *scale = is_whole ? largest : divisor;
  return unusable == 0;
}

#if defined(__GNUC__) && !defined(__clang__)
using Bytes = std::uint8_t __attribute__((vector_size(16)));

DRIFT_ALWAYS_INLINE Bytes low_pairs(Bytes a, Bytes b) {
  return __builtin_shuffle(a, b, Bytes{0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23});
}
DRIFT_ALWAYS_INLINE Bytes high_pairs(Bytes a, Bytes b) {
  return __builtin_shuffle(a, b, Bytes{8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31});
}
DRIFT_ALWAYS_INLINE Bytes low_quads(Bytes a, Bytes b) {
  return __builtin_shuffle(a, b, Bytes{0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23});
}
DRIFT_ALWAYS_INLINE Bytes high_quads(Bytes a, Bytes b) {
  return __builtin_shuffle(a, b, Bytes{8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31});
}

/// Byte k of each of the sixteen values, so that a look-up of sixteen codes is one shuffle for each byte of T.
template <class T>
struct Planes {
  std::array<Bytes, sizeof(T)> of_byte;
  DRIFT_ALWAYS_INLINE explicit Planes(const T* values) {
    for (std::size_t k = 0; k < sizeof(T); ++k) {
      for (int v = 0; v < 16; ++v) of_byte[k][v] = reinterpret_cast<const std::uint8_t*>(values + v)[k];
    }
  }
};

template <class T>
DRIFT_ALWAYS_INLINE void store_sixteen(const Planes<T>& planes, Bytes codes, T* out) {
  const Bytes a = __builtin_shuffle(planes.of_byte[0], codes), b = __builtin_shuffle(planes.of_byte[1], codes);
  const Bytes low = low_pairs(a, b), high = high_pairs(a, b);
  std::array<Bytes, sizeof(T)> stored;
  if constexpr (sizeof(T) == 2) {
    stored = {low, high};
  } else {
    const Bytes c = __builtin_shuffle(planes.of_byte[2], codes), d = __builtin_shuffle(planes.of_byte[3], codes);
    const Bytes upper_low = low_pairs(c, d), upper_high = high_pairs(c, d);
    stored = {low_quads(low, upper_low), high_quads(low, upper_low), low_quads(high, upper_high),
              high_quads(high, upper_high)};
  }
  std::memcpy(out, &stored, sizeof(stored));
}

template <class T>
DRIFT_ALWAYS_INLINE void widen_whole_block(const T* table, const std::uint8_t* codes, T* out) {
  const Planes<T> planes(table);
  for (int half = 0; half < 2; ++half, codes += 16, out += 32) {
    Bytes both;
    std::memcpy(&both, codes, sizeof(both));
    const Bytes first = both >> 4, second = both & 15;
    store_sixteen(planes, low_pairs(first, second), out);
    store_sixteen(planes, high_pairs(first, second), out + 16);
  }
}
#else
template <class T>
DRIFT_ALWAYS_INLINE void widen_whole_block(const T* table, const std::uint8_t* codes, T* out) {
  for (std::int64_t i = 0; i < kNf4Block / 2; ++i) {
    out[2 * i] = table[codes[i] >> 4];
    out[2 * i + 1] = table[codes[i] & 15];
  }
}
#endif

/// `count` values from the beginning of a block.
template <class T>
DRIFT_MULTIVERSION void widen_blocks(const std::uint8_t* codes, const float* scales, T* out, std::int64_t count) {
  std::array<T, 16> table;
  for (; count > 0; count -= kNf4Block, codes += kNf4Block / 2, out += kNf4Block, ++scales) {
    for (std::size_t v = 0; v < 16; ++v) table[v] = narrow<T>(kNf4Values[v] * *scales);
    if (count >= kNf4Block) {
      widen_whole_block(table.data(), codes, out);
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) out[i] = table[i % 2 == 0 ? codes[i / 2] >> 4 : codes[i / 2] & 15];
  }
}

void pack_scales(Nf4& packed) {
  const std::int64_t blocks = packed.scales.numel(), groups = divided_up(blocks, kNf4ScaleGroup);
  packed.scale_offset = packed.scales.mean().item<float>();
  packed.scale_codes = at::empty({blocks}, at::kByte);
  packed.group_scales = at::empty({groups}, at::kFloat);
  const float* scales = packed.scales.const_data_ptr<float>();
  auto* codes = packed.scale_codes.data_ptr<std::uint8_t>();
  auto* group_scales = packed.group_scales.data_ptr<float>();
  at::parallel_for(0, groups, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      const std::int64_t first = group * kNf4ScaleGroup, last = std::min(blocks, first + kNf4ScaleGroup);
      float largest = 0;
      for (std::int64_t i = first; i < last; ++i)
        largest = std::max(largest, std::abs(scales[i] - packed.scale_offset));
      group_scales[group] = largest;
      for (std::int64_t i = first; i < last; ++i)
        codes[i] = largest == 0 ? 0 : dynamic_code((scales[i] - packed.scale_offset) / largest);
    }
  });
  packed.scales = at::Tensor();
}

at::Tensor plain_scales(const Nf4& packed) {
  if (!packed.is_double()) return packed.scales;
  const auto table =
      at::tensor(at::ArrayRef<float>(kDynamicValues.data(), kDynamicValues.size())).to(packed.codes.device());
  const auto groups = packed.group_scales.repeat_interleave(kNf4ScaleGroup).narrow(0, 0, packed.scale_codes.numel());
  return table.index_select(0, packed.scale_codes.to(at::kInt)) * groups + packed.scale_offset;
}

}  // namespace

std::int64_t nf4_bytes(std::int64_t count, bool double_quantization) {
  const std::int64_t blocks = divided_up(count, kNf4Block), groups = divided_up(blocks, kNf4ScaleGroup);
  return (count + 1) / 2 + (double_quantization ? blocks + 4 * groups : 4 * blocks);
}

Nf4 moved(Nf4 packed, at::Device device) {
  for (at::Tensor* part : {&packed.codes, &packed.scales, &packed.scale_codes, &packed.group_scales}) {
    if (part->defined()) *part = part->to(device);
  }
  return packed;
}

Nf4 nf4_pack(const at::Tensor& values, bool double_quantization, bool& finite) {
  Nf4 packed;
  packed.count = values.numel();
  const std::int64_t blocks = divided_up(packed.count, kNf4Block);
  packed.codes = at::empty({(packed.count + 1) / 2}, at::kByte);
  packed.scales = at::empty({blocks}, at::kFloat);
  auto* codes = packed.codes.data_ptr<std::uint8_t>();
  auto* scales = packed.scales.data_ptr<float>();
  std::atomic<bool> all_finite = true;
  with_element_type(values.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const T* from = values.const_data_ptr<T>();
    at::parallel_for(0, blocks, kNf4ScaleGroup, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        const std::int64_t first = block * kNf4Block;
        const std::int64_t count = std::min(kNf4Block, packed.count - first);
        if (!pack_block(from + first, count, codes + first / 2, scales + block)) all_finite = false;
      }
    });
  });
  finite = all_finite;
  if (finite && double_quantization) pack_scales(packed);
  return packed;
}

void nf4_widen_on_device(const cuda::KernelTable& kernels, const Nf4& packed, const at::Tensor& out) {
  const bool is_double = packed.is_double();
  cuda::check(kernels, kernels.widen_nf4({cuda::element_of(out), packed.codes.const_data_ptr<std::uint8_t>(),
                                          is_double ? packed.scale_codes.const_data_ptr<std::uint8_t>() : nullptr,
                                          (is_double ? packed.group_scales : packed.scales).const_data_ptr<float>(),
                                          packed.scale_offset, out.data_ptr(), packed.count},
                                         cuda::stream_of(out)));
}

void nf4_widen(const Nf4& packed, const at::Tensor& out) {
  if (const auto* kernels = cuda::kernels_for(out)) return nf4_widen_on_device(*kernels, packed, out);
  if (!packed.codes.is_cpu() || !has_fused_path(out)) return nf4_widen_reference(packed, out);
  const auto* codes = packed.codes.const_data_ptr<std::uint8_t>();
  const bool is_double = packed.is_double();
  const auto* scale_codes = is_double ? packed.scale_codes.const_data_ptr<std::uint8_t>() : nullptr;
  const float* given = is_double ? packed.group_scales.const_data_ptr<float>() : packed.scales.const_data_ptr<float>();
  with_element_type(out.scalar_type(), [&](auto type) {
    using T = decltype(type);
    T* to = out.data_ptr<T>();
    at::parallel_for(0, divided_up(packed.count, kGroupValues), 1, [&](std::int64_t begin, std::int64_t end) {
      std::array<float, kNf4ScaleGroup> made{};
      for (std::int64_t group = begin; group < end; ++group) {
        const std::int64_t first = group * kGroupValues, count = std::min(kGroupValues, packed.count - first);
        const float* scales = given + group * kNf4ScaleGroup;
        if (is_double) {
          const std::int64_t blocks = divided_up(count, kNf4Block);
          for (std::int64_t i = 0; i < blocks; ++i) {
            made[static_cast<std::size_t>(i)] =
                kDynamicValues[scale_codes[group * kNf4ScaleGroup + i]] * given[group] + packed.scale_offset;
          }
          scales = made.data();
        }
        widen_blocks(codes + first / 2, scales, to + first, count);
      }
    });
  });
}

void nf4_widen_reference(const Nf4& packed, const at::Tensor& out) {
  const auto device = packed.codes.device();
  const auto table = at::tensor(at::ArrayRef<float>(kNf4Values.data(), kNf4Values.size())).to(device);
  const auto scales = plain_scales(packed);
  const auto flat = out.view({-1});
  // In parts: the codes as indices take far more room than what they are.
  constexpr std::int64_t kPart = kGroupValues * 256;
  for (std::int64_t first = 0; first < packed.count; first += kPart) {
    const std::int64_t count = std::min(kPart, packed.count - first);
    const auto bytes = packed.codes.narrow(0, first / 2, (count + 1) / 2);
    const auto codes = at::stack({bytes.div(16, "floor"), bytes.remainder(16)}, 1).view({-1}).narrow(0, 0, count);
    const auto blocks = scales.narrow(0, first / kNf4Block, divided_up(count, kNf4Block));
    const auto each = blocks.repeat_interleave(kNf4Block).narrow(0, 0, count);
    flat.narrow(0, first, count).copy_(table.index_select(0, codes.to(at::kInt)) * each);
  }
}

}  // namespace drift::kernels
