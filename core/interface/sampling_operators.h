#pragma once

#include <drift/sampling.h>

namespace drift {

/// sample_tokens() in tensor operations: what every device but the CPU uses, where plain loops are faster. Takes CPU
/// logits as well, so that tests can compare the two without a GPU.
SampledTokens sample_with_operators(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
                                    const SamplingOptions& options);

}  // namespace drift
