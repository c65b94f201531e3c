// Bytes per parameter, at least (and here): 28 with float32 gradients (read and write master and two moments, read the
// gradient), and 2 more to write bfloat16 weights.

#include <core/kernels/cuda/target.h>

namespace drift::kernels::DRIFT_TARGET {

using cuda::AdamwCall, cuda::AdamwTensorCall;

constexpr int kAdamwThreads = 256, kOfBlock = 8192;
constexpr int kMostTensors = 64;  // kernel parameters are at most 4 KiB

struct AdamwSettings {
  float beta1, beta2, epsilon, decay, step_size, inverse_root_correction, clip;
  const double* norm;
};

struct AdamwTensors {
  AdamwTensorCall tensor[kMostTensors];
  std::int32_t first_block[kMostTensors + 1];
  std::int32_t count;
};

template <class G>
__global__ void adamw_steps(AdamwTensors tensors, AdamwSettings settings, std::int32_t* diverged) {
  const double norm = *settings.norm;
  if (!(norm < std::numeric_limits<double>::infinity())) return;
  const float scale = settings.clip > 0 && norm > settings.clip ? static_cast<float>(settings.clip / norm) : 1.0f;
  int t = 0;
  while (static_cast<std::int32_t>(blockIdx.x) >= tensors.first_block[t + 1]) ++t;
  const AdamwTensorCall& tensor = tensors.tensor[t];
  const std::int64_t begin = (static_cast<std::int64_t>(blockIdx.x) - tensors.first_block[t]) * kOfBlock;
  const std::int64_t end = begin + kOfBlock < tensor.size ? begin + kOfBlock : tensor.size;
  const auto* gradients = static_cast<const G*>(tensor.gradient);
  auto* narrowed = static_cast<Bfloat16*>(tensor.narrow);
  bool finite = true;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const float gradient = widen(gradients[i]) * scale;
    const float first = settings.beta1 * tensor.first_moment[i] + (1 - settings.beta1) * gradient;
    const float second = settings.beta2 * tensor.second_moment[i] + (1 - settings.beta2) * gradient * gradient;
    tensor.first_moment[i] = first;
    tensor.second_moment[i] = second;
    const float deviation = sqrtf(second) * settings.inverse_root_correction + settings.epsilon;
    const float weight = tensor.master[i] * settings.decay - settings.step_size * first / deviation;
    tensor.master[i] = weight;
    float seen = weight;
    if (narrowed != nullptr) {
      narrowed[i] = narrow<Bfloat16>(weight);
      seen = widen(narrowed[i]);
    }
    finite = finite && seen - seen == 0;
  }
  if (!finite) diverged[t] = 1;
}

/// As many tensors in one launch as its parameters hold.
Status adamw(const AdamwCall& call, Stream stream) {
  const AdamwSettings settings{call.beta1,     call.beta2,                   call.epsilon, call.decay,
                               call.step_size, call.inverse_root_correction, call.clip,    call.norm};
  for (std::int64_t first = 0; first < call.count; first += kMostTensors) {
    AdamwTensors tensors = {};
    tensors.count = static_cast<std::int32_t>(call.count - first < kMostTensors ? call.count - first : kMostTensors);
    for (std::int32_t t = 0; t < tensors.count; ++t) {
      tensors.tensor[t] = call.tensors[first + t];
      tensors.first_block[t + 1] =
          tensors.first_block[t] + static_cast<std::int32_t>(divide_up(tensors.tensor[t].size, kOfBlock));
    }
    const Grid grid{tensors.first_block[tensors.count], kAdamwThreads};
    auto* const diverged = call.diverged + first;
    const Status status = call.gradient_type == Element::kFloat32
                              ? launch(adamw_steps<float>, grid, stream, tensors, settings, diverged)
                              : launch(adamw_steps<Bfloat16>, grid, stream, tensors, settings, diverged);
    if (status != 0) return status;
  }
  return 0;
}

}  // namespace drift::kernels::DRIFT_TARGET
