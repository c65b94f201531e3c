// The library's only symbol.

#include <core/kernels/cuda/functions.h>

extern "C" __attribute__((visibility("default"))) const drift::kernels::cuda::KernelTable* drift_cuda_kernels() {
  using namespace drift::kernels;
  static const cuda::KernelTable table =
      device::kernel_table([](cuda::Status status) { return cudaGetErrorString(static_cast<cudaError_t>(status)); });
  return &table;
}
