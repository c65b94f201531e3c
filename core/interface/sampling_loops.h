#pragma once

#include <drift/sampling.h>

namespace drift {

/// sample_tokens() on the CPU: rows spread over the run's threads, unless the caller's thread is one of them.
SampledTokens sample_with_loops(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
                                const SamplingOptions& options);

}  // namespace drift
