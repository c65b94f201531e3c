#pragma once

#include "bench/update_case.h"

namespace drift::bench {

/// One update as the original code computes it, in plain LibTorch: for each forward the full model, logits at all
/// positions, log-softmax over all of them in float32, then the sampled tokens; graphs alive as the original holds
/// them; gradients summed by autograd in .grad. The loss itself is the same object.
/// @return the gradients, and .grad is empty again.
std::vector<at::Tensor> plain_update(const UpdateCases& cases, UpdateCases::Case& one);

}  // namespace drift::bench
