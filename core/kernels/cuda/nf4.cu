// Bytes of a value in bfloat16, at least (and here): 2.5 (read its code, write it), and 1/64 or 1/16 of its block's
// scale.

#include <core/kernels/cuda/target.h>
#include <core/kernels/nf4_values.h>

namespace drift::kernels::DRIFT_TARGET {

constexpr int kNf4Threads = 256;

// In the memory of the device; a warp reads a line or two of it.
struct Nf4Tables {
  float values[16], scales[256];
};
constexpr Nf4Tables make_nf4_tables() {
  Nf4Tables tables{};
  for (int i = 0; i < 16; ++i) tables.values[i] = kNf4Values[static_cast<std::size_t>(i)];
  for (int i = 0; i < 256; ++i) tables.scales[i] = kDynamicValues[static_cast<std::size_t>(i)];
  return tables;
}
__device__ constexpr Nf4Tables kNf4Tables = make_nf4_tables();

/// As core/kernels/nf4.cpp has it: products are rounded before they are added.
inline __device__ float scale_of(const cuda::WidenNf4Call& call, std::int64_t block) {
  if (call.scale_codes == nullptr) return call.scales[block];
  const float share = kNf4Tables.scales[call.scale_codes[block]];
  return rounded_sum(rounded_product(share, call.scales[block / kNf4ScaleGroup]), call.scale_offset);
}

/// A thread writes a pack of a block's values.
template <class T, int kPack>
__global__ void widen_nf4_values(cuda::WidenNf4Call call, std::int64_t packs) {
  const std::int64_t p = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (p >= packs) return;
  const std::int64_t first = p * kPack;
  const float scale = scale_of(call, first / kNf4Block);
  constexpr int kCodes = kPack == 1 ? 1 : kPack / 2;  // two values each
  const auto codes = load<kCodes>(call.codes, kPack == 1 ? p / 2 : p);
  Pack<T, kPack> out;
  for (int i = 0; i < kPack; ++i) {
    const std::uint8_t both = codes.at[i / 2];
    const int code = (first + i) % 2 == 0 ? both >> 4 : both & 15;
    out.at[i] = narrow<T>(rounded_product(kNf4Tables.values[code], scale));
  }
  store(static_cast<T*>(call.out), p, out);
}

Status widen_nf4(const cuda::WidenNf4Call& call, Stream stream) {
  return with_element(call.type, is_aligned(call.count, size_of(call.type), call.codes, call.out),
                      [&](auto type, auto pack) {
                        using T = decltype(type);
                        const std::int64_t packs = call.count / pack.value;
                        return launch(widen_nf4_values<T, pack.value>, {divide_up(packs, kNf4Threads), kNf4Threads},
                                      stream, call, packs);
                      });
}

}  // namespace drift::kernels::DRIFT_TARGET
