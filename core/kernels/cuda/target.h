#pragma once

// What a kernel's source is written in: CUDA if nvcc compiles it, the emulator (emulator.h) if g++ does. The kernels
// are in namespace drift::kernels::DRIFT_TARGET, so that both can be in one process.

#include <core/kernels/cuda/calls.h>
#include <core/kernels/exponential.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#ifdef __CUDACC__

#include <cuda_runtime.h>

#define DRIFT_TARGET device
// Where copies of a body would only make the compiler slow.
#define DRIFT_NO_UNROLL _Pragma("unroll 1")

namespace drift::kernels::device {

struct Grid {
  std::int64_t blocks;
  int threads;
  std::int64_t dynamic_shared_bytes = 0;
};

template <class... Parameters>
cuda::Status launch(void (*kernel)(Parameters...), Grid grid, cuda::Stream stream,
                    std::type_identity_t<Parameters>... arguments) {
  if (grid.blocks == 0) return cudaSuccess;
  // The compiler reads whole elements of what dynamic_shared() declares.
  const auto shared_bytes = static_cast<std::size_t>(grid.dynamic_shared_bytes + 15) / 16 * 16;
  kernel<<<static_cast<unsigned>(grid.blocks), grid.threads, shared_bytes, static_cast<cudaStream_t>(stream)>>>(
      arguments...);
  return cudaGetLastError();
}

/// The block's own object of type T; not initialised.
template <class T>
__device__ T& shared() {
  __shared__ alignas(T) unsigned char bytes[sizeof(T)];
  return *reinterpret_cast<T*>(bytes);
}

/// The launch's dynamic shared memory, of which the kernel uses this many elements.
template <class T>
__device__ T* dynamic_shared(std::int64_t) {
  extern __shared__ float4 drift_dynamic_shared[];
  return reinterpret_cast<T*>(drift_dynamic_shared);
}

// What never becomes part of a fused multiply-add.
__device__ __forceinline__ float rounded_product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float rounded_sum(float a, float b) { return __fadd_rn(a, b); }

}  // namespace drift::kernels::device

#else

#include <core/kernels/cuda/emulator.h>

#define DRIFT_TARGET emulated
#define DRIFT_NO_UNROLL

namespace drift::kernels::emulated {

inline float rounded_product(float a, float b) { return a * b; }
inline float rounded_sum(float a, float b) { return a + b; }

}  // namespace drift::kernels::emulated

#endif

namespace drift::kernels::DRIFT_TARGET {

using cuda::Element, cuda::Status, cuda::Stream;

/// The bits of a bfloat16: the upper half of a float.
struct Bfloat16 {
  std::uint16_t bits;
};

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(Bfloat16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }

/// To T, to nearest, ties to even; NaN stays NaN.
template <class T>
__device__ __forceinline__ T narrow(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
#ifdef __CUDA_ARCH__
    std::uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return {bits};
#else
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    return {static_cast<std::uint16_t>(x != x ? 0x7FC0 : rounded)};
#endif
  }
}

/// The nearest value of T, as float.
template <class T>
__device__ __forceinline__ float rounded_to(float x) {
  return widen(narrow<T>(x));
}

/// Values that are read and written in one go.
template <class T, int kSize>
struct alignas(sizeof(T) * kSize) Pack {
  T at[kSize];
};

template <int kPack, class T>
__device__ __forceinline__ Pack<T, kPack> load(const T* from, std::int64_t pack) {
  return reinterpret_cast<const Pack<T, kPack>*>(from)[pack];
}

template <int kPack, class T>
__device__ __forceinline__ void store(T* to, std::int64_t pack, const Pack<T, kPack>& values) {
  reinterpret_cast<Pack<T, kPack>*>(to)[pack] = values;
}

constexpr unsigned kAllLanes = 0xFFFFFFFF;
constexpr int kLanes = 32;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

struct Largest {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

struct Smallest {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};

/// Of the 32 lanes of a warp; each lane gets it.
template <class T, class Combine>
__device__ T warp_reduce(T value, Combine combine) {
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

template <class T>
struct WarpValues {
  T of_warp[kLanes];
};

/// Of all threads of a block of whole warps; each thread gets it, in an order that depends on nothing but their number.
template <class T, class Combine>
__device__ T block_reduce(T value, Combine combine, T neutral) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes, warp = static_cast<int>(threadIdx.x) / kLanes;
  const int warps = static_cast<int>(blockDim.x) / kLanes;
  auto& values = shared<WarpValues<T>>();
  value = warp_reduce(value, combine);
  __syncthreads();  // what an earlier reduction left here has been read
  if (lane == 0) values.of_warp[warp] = value;
  __syncthreads();
  return warp_reduce(lane < warps ? values.of_warp[lane] : neutral, combine);
}

/// Threads for a row of this many packs: whole warps.
inline int threads_for(std::int64_t packs, int most) {
  const std::int64_t warps = (packs + kLanes - 1) / kLanes;
  return static_cast<int>(warps < 1 ? 1 : (warps > most / kLanes ? most / kLanes : warps)) * kLanes;
}

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Whether packs of 16 bytes can be read from all of these, rows of `stride` elements of `size` bytes.
template <class... Pointers>
bool is_aligned(std::int64_t stride, std::int64_t size, Pointers... pointers) {
  return stride * size % 16 == 0 && ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

inline std::int64_t size_of(Element type) { return type == Element::kFloat32 ? 4 : 2; }

/// Calls body(T(), pack size): packs of 16 bytes, or single values.
template <class Body>
Status with_element(Element type, bool aligned, const Body& body) {
  if (type == Element::kFloat32) {
    return aligned ? body(float(), std::integral_constant<int, 4>()) : body(float(), std::integral_constant<int, 1>());
  }
  return aligned ? body(Bfloat16(), std::integral_constant<int, 8>())
                 : body(Bfloat16(), std::integral_constant<int, 1>());
}

}  // namespace drift::kernels::DRIFT_TARGET
