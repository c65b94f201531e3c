#pragma once

namespace drift::kernels {

/// A weight beyond this has diverged: sums of its square leave float32. Without LibTorch, for CUDA.
inline constexpr float kLargestWeight = 1e18f;

}  // namespace drift::kernels
