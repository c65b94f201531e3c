// Bytes per element in bfloat16, at least (and here): forward 6 (read gate and up, write y), backward 10.

#include <core/kernels/cuda/target.h>

namespace drift::kernels::DRIFT_TARGET {

constexpr int kGateThreads = 256;

template <class T, int kPack>
__global__ void gate_values(const T* gate, const T* up, T* y, std::int64_t packs) {
  const std::int64_t p = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (p >= packs) return;
  const auto gates = load<kPack>(gate, p), ups = load<kPack>(up, p);
  Pack<T, kPack> out;
  for (int i = 0; i < kPack; ++i) {
    const float x = widen(gates.at[i]);
    out.at[i] = narrow<T>(rounded_to<T>(x / (1.0f + vector_exp(-x))) * widen(ups.at[i]));
  }
  store(y, p, out);
}

template <class T, int kPack>
__global__ void gate_values_backward(const T* gradient, const T* gate, const T* up, T* dgate, T* dup,
                                     std::int64_t packs) {
  const std::int64_t p = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (p >= packs) return;
  const auto slopes = load<kPack>(gradient, p), gates = load<kPack>(gate, p), ups = load<kPack>(up, p);
  Pack<T, kPack> gate_out, up_out;
  for (int i = 0; i < kPack; ++i) {
    const float g = widen(slopes.at[i]), x = widen(gates.at[i]);
    const float sigmoid = 1.0f / (1.0f + vector_exp(-x));
    up_out.at[i] = narrow<T>(g * x * sigmoid);
    gate_out.at[i] = narrow<T>(g * widen(ups.at[i]) * sigmoid * (1.0f + x * (1.0f - sigmoid)));
  }
  store(dgate, p, gate_out);
  store(dup, p, up_out);
}

Status swiglu(const cuda::SwigluCall& call, Stream stream) {
  const bool aligned =
      is_aligned(call.size, size_of(call.type), call.gate, call.up, call.y, call.gradient, call.dgate, call.dup);
  return with_element(call.type, aligned, [&](auto type, auto pack) {
    using T = decltype(type);
    const std::int64_t packs = call.size / pack.value;
    const Grid grid{divide_up(packs, kGateThreads), kGateThreads};
    const auto *gate = static_cast<const T*>(call.gate), *up = static_cast<const T*>(call.up);
    if (call.gradient == nullptr) {
      return launch(gate_values<T, pack.value>, grid, stream, gate, up, static_cast<T*>(call.y), packs);
    }
    return launch(gate_values_backward<T, pack.value>, grid, stream, static_cast<const T*>(call.gradient), gate, up,
                  static_cast<T*>(call.dgate), static_cast<T*>(call.dup), packs);
  });
}

}  // namespace drift::kernels::DRIFT_TARGET
