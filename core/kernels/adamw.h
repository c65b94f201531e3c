#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace drift::kernels {

namespace cuda {
struct KernelTable;
}

/// One update of AdamW (Loshchilov and Hutter, arXiv 1711.05101, algorithm 2).
struct AdamWStep {
  double learning_rate = 0, beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0;
  std::int64_t update = 1;    ///< 1, 2, … since the moments were zero
  double gradient_scale = 1;  ///< the gradient is multiplied by it
  /// For second moments in bfloat16, another one for each tensor and update: which of the two neighbours a moment is
  /// rounded to is a function of it and the element's number.
  std::uint64_t rounding_key = 0;
};

/// Tensors of one parameter, contiguous, of one size, on one device.
struct AdamWTensors {
  at::Tensor weight;       ///< float32 or float64: what moves
  at::Tensor first;        ///< moments: of the weight's type, or bfloat16
  at::Tensor second;       ///< likewise
  at::Tensor gradient;     ///< of the weight's type; may be scaled in place
  at::Tensor rounded;      ///< float32 or bfloat16, gets the new weight's nearest value; or undefined
  std::int64_t begin = 0;  ///< the first element's number, where these are a part of a larger tensor

  AdamWTensors part(std::int64_t first_element, std::int64_t count) const;
};

/// Update weight, moments and `rounded`. On the CPU one pass over memory with all threads, by loops for the
/// processor's vectors; the bits are those of adamw_reference(), whatever the number of threads. Other devices and
/// float64 use adamw_reference().
///
/// Moments in bfloat16 are widened, updated in float32, used, and rounded. The first moment goes to its nearest
/// neighbour: it changes by a share of 1 - beta1 in each update, which bfloat16 can show. The second changes by a share
/// of 1 - beta2, often less than half of bfloat16's last digit (2^-9): rounded to nearest, it would stay where it is
/// forever. It is rounded to either neighbour with a probability that makes the expected value right.
///
/// @return whether all new weights are finite and within kLargestWeight
bool adamw(const AdamWTensors& tensors, const AdamWStep& step);

/// The same of many tensors on a GPU by these kernels, as few launches and one wait for the GPU. Moments are those of
/// adamw() bit by bit; weights differ where the CPU's root is not the nearest value. Those of fits_device(), with
/// moments of one type; step.rounding_key is not read.
/// @return the first tensor whose new weights are not all finite
std::optional<std::size_t> adamw_on_device(const cuda::KernelTable& kernels, const std::vector<AdamWTensors>& tensors,
                                           const AdamWStep& step, const std::vector<std::uint64_t>& rounding_key);

/// Contiguous, weight and gradient float32, `rounded` bfloat16 or undefined.
bool fits_device(const AdamWTensors& tensors);

/// The same in plain operations, in the order of LibTorch's AdamW: what adamw() is tested against.
bool adamw_reference(const AdamWTensors& tensors, const AdamWStep& step);

}  // namespace drift::kernels
