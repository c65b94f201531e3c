#pragma once

#include <core/io/safetensors.h>

#include <cstdint>

namespace drift {

/// Weights that mean nothing, to measure what a model of some shape costs: norms 1, biases 0, all others normal with
/// standard deviation 0.02 in 65,536 steps. Element i of a tensor is a function of the seed, the tensor's name and i,
/// whatever its type and the number of threads.
FillElements random_weights(std::uint64_t seed);

}  // namespace drift
