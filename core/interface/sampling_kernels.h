#pragma once

#include <drift/commits.h>
#include <drift/random.h>
#include <drift/sampling.h>

#include <core/kernels/cuda/calls.h>

namespace drift {

// The functions of drift/sampling.h and drift/commits.h by kernels, on tensors of their device. Nothing waits for it.

/// What the kernel takes: float32 or bfloat16, a vocabulary of at most 262,144, few ranges of forbidden ids.
bool can_sample_with_kernels(const at::Tensor& logits_NV, const SamplingOptions& options);

SampledTokens sample_with_kernels(const kernels::cuda::KernelTable& kernels, const at::Tensor& logits_NV,
                                  const at::Tensor& row_M, const at::Tensor& uniform_M, const SamplingOptions& options);

/// int64 tensors of one shape.
at::Tensor uniform_with_kernels(const kernels::cuda::KernelTable& kernels, const RandomStream& random,
                                std::int64_t step, const at::Tensor& response_M, const at::Tensor& position_M,
                                const at::Tensor& draw_M);

/// At most 4096 positions.
at::Tensor choose_commits_with_kernels(const kernels::cuda::KernelTable& kernels, const at::Tensor& score_RK,
                                       const CommitRule& rule, const at::Tensor& failed);

}  // namespace drift
