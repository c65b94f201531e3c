#pragma once

#include <core/kernels/nf4_values.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift::kernels {

namespace cuda {
struct KernelTable;
}

/// Numbers in 4-bit NormalFloat (Dettmers et al. 2023, arXiv 2305.14314), as bitsandbytes has them: in row-major order,
/// in blocks of 64 with one scale, the largest size among them. With double quantisation a scale is one of 256 values
/// ("dynamic" 8-bit numbers), times the scale of its group of 256, plus the mean of all.
struct Nf4 {
  std::int64_t count = 0;
  at::Tensor codes;         ///< uint8 [ceil(count / 2)], two values a byte, the first in the high half
  at::Tensor scales;        ///< float32 [blocks]; undefined with double quantisation
  at::Tensor scale_codes;   ///< uint8 [blocks]
  at::Tensor group_scales;  ///< float32 [groups]
  float scale_offset = 0;

  bool is_double() const { return scale_codes.defined(); }
};

/// Bytes of `count` packed values.
std::int64_t nf4_bytes(std::int64_t count, bool double_quantization);

/// The same on another device.
Nf4 moved(Nf4 packed, at::Device device);

/// float32 or bfloat16, contiguous, on the CPU. What the values are is a function of them alone, not of the threads.
/// If `finite` becomes false, one of them is infinite or not a number, and the result has no meaning.
Nf4 nf4_pack(const at::Tensor& values, bool double_quantization, bool& finite);

/// The values, into `out` (float32 or bfloat16, contiguous, of packed.count elements, on the codes' device): the
/// product of code and scale in float32, rounded once. With all threads on the CPU, by a kernel on a GPU.
void nf4_widen(const Nf4& packed, const at::Tensor& out);

/// On a GPU by these kernels; the bits are those of the CPU.
void nf4_widen_on_device(const cuda::KernelTable& kernels, const Nf4& packed, const at::Tensor& out);

/// The same in plain tensor operations, for every device.
void nf4_widen_reference(const Nf4& packed, const at::Tensor& out);

}  // namespace drift::kernels
