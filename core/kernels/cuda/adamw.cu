// Bytes per parameter, at least (and here): 28 with float32 moments (read and write weight and moments, read the
// gradient), 20 with bfloat16 ones, and 2 more to write bfloat16 weights.

#include <core/kernels/cuda/target.h>
#include <core/kernels/largest_weight.h>

namespace drift::kernels::DRIFT_TARGET {

using cuda::AdamwCall, cuda::AdamwFactors, cuda::AdamwTensorCall;

constexpr int kAdamwThreads = 256, kOfBlock = 8192;
constexpr int kMostTensors = 60;  // kernel parameters are at most 4 KiB

struct AdamwTensors {
  AdamwTensorCall tensor[kMostTensors];
  std::int32_t first_block[kMostTensors + 1];
};

/// As core/kernels/adamw.cpp has it.
inline __device__ float rounded_at_random(float x, std::uint32_t element, std::uint64_t key) {
  std::uint32_t hash = (element + static_cast<std::uint32_t>(key)) * 0x9E3779B1u;
  hash = (hash ^ (hash >> 16) ^ static_cast<std::uint32_t>(key >> 32)) * 0x7FEB352Du;
  hash = (hash ^ (hash >> 15)) * 0x846CA68Bu;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) + (hash >> 16));
}

/// The upper half, as it is.
inline __device__ void store_moment(float* to, float x) { *to = x; }
inline __device__ void store_moment(Bfloat16* to, float x) {
  *to = {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16)};
}

/// Every operation is rounded alone, but for those that the CPU fuses: the moments are the CPU's bit by bit. Its roots,
/// and so its weights, may differ from the nearest value.
template <class M>
__global__ void adamw_steps(AdamwTensors tensors, AdamwFactors factors, std::int32_t* diverged) {
  int t = 0;
  while (static_cast<std::int32_t>(blockIdx.x) >= tensors.first_block[t + 1]) ++t;
  const AdamwTensorCall& tensor = tensors.tensor[t];
  const std::int64_t begin = (static_cast<std::int64_t>(blockIdx.x) - tensors.first_block[t]) * kOfBlock;
  const std::int64_t end = begin + kOfBlock < tensor.size ? begin + kOfBlock : tensor.size;
  auto *firsts = static_cast<M*>(tensor.first), *seconds = static_cast<M*>(tensor.second);
  auto* rounded = static_cast<Bfloat16*>(tensor.rounded);
  bool finite = true;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const float gradient = rounded_product(tensor.gradient[i], factors.scale);
    const float first = fmaf(gradient, factors.add1, rounded_product(widen(firsts[i]), factors.beta1));
    const float second =
        fmaf(rounded_product(factors.add2, gradient), gradient, rounded_product(widen(seconds[i]), factors.beta2));
    const float size = rounded_sum(sqrtf(second) / factors.root, factors.epsilon);
    float weight =
        rounded_sum(rounded_product(tensor.weight[i], factors.keep), rounded_product(factors.move, first) / size);
    firsts[i] = narrow<M>(first);
    if constexpr (std::is_same_v<M, float>) {
      store_moment(seconds + i, second);
    } else {
      store_moment(seconds + i, rounded_at_random(second, static_cast<std::uint32_t>(i), tensor.rounding_key));
    }
    tensor.weight[i] = weight;
    if (rounded != nullptr) {
      rounded[i] = narrow<Bfloat16>(weight);
      weight = widen(rounded[i]);
    }
    finite = finite && weight <= kLargestWeight && weight >= -kLargestWeight;
  }
  if (!finite) diverged[t] = 1;
}

/// As many tensors in one launch as its parameters hold.
Status adamw(const AdamwCall& call, Stream stream) {
  for (std::int64_t first = 0; first < call.count; first += kMostTensors) {
    AdamwTensors tensors = {};
    const auto count = static_cast<int>(call.count - first < kMostTensors ? call.count - first : kMostTensors);
    for (int t = 0; t < count; ++t) {
      tensors.tensor[t] = call.tensors[first + t];
      tensors.first_block[t + 1] =
          tensors.first_block[t] + static_cast<std::int32_t>(divide_up(tensors.tensor[t].size, kOfBlock));
    }
    const Grid grid{tensors.first_block[count], kAdamwThreads};
    const Status status =
        call.moment_type == Element::kFloat32
            ? launch(adamw_steps<float>, grid, stream, tensors, call.factors, call.diverged + first)
            : launch(adamw_steps<Bfloat16>, grid, stream, tensors, call.factors, call.diverged + first);
    if (status != 0) return status;
  }
  return 0;
}

}  // namespace drift::kernels::DRIFT_TARGET
