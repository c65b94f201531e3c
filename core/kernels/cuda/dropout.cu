// Bytes per element in bfloat16, at least (and here): 4 (read x, write what is left). Random bits stay in registers.

#include <core/kernels/cuda/target.h>
#include <core/kernels/split_mix.h>

namespace drift::kernels::DRIFT_TARGET {

constexpr int kDropoutThreads = 256;

/// One block per row; as core/nn/dropout.cpp has it.
template <class T, int kPack>
__global__ void drop_elements(cuda::DropoutCall call) {
  const std::int64_t row = blockIdx.x;
  const T* x = static_cast<const T*>(call.x) + row * call.width;
  T* out = static_cast<T*>(call.out) + row * call.width;
  const std::uint64_t key = static_cast<std::uint64_t>(call.key[row]) ^ call.stream;
  for (std::int64_t p = threadIdx.x; p < call.width / kPack; p += blockDim.x) {
    auto values = load<kPack>(x, p);
    std::uint64_t counter = key + kSplitMixStep * static_cast<std::uint64_t>(p * kPack);
    for (int i = 0; i < kPack; ++i) {
      counter += kSplitMixStep;
      const bool kept = (split_mix(counter) >> 32) >= call.threshold;
      values.at[i] = narrow<T>(kept ? widen(values.at[i]) * call.factor : 0.0f);
    }
    store(out, p, values);
  }
}

Status dropout(const cuda::DropoutCall& call, Stream stream) {
  const bool aligned = is_aligned(call.width, size_of(call.type), call.x, call.out);
  return with_element(call.type, aligned, [&](auto type, auto pack) {
    using T = decltype(type);
    return launch(drop_elements<T, pack.value>, {call.rows, threads_for(call.width / pack.value, kDropoutThreads)},
                  stream, call);
  });
}

}  // namespace drift::kernels::DRIFT_TARGET
