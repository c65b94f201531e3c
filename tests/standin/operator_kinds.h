#pragma once

// What LibTorch's CUDA operators do beyond their results. Names are those of the dispatcher: "aten::mm.out".

#include <string>

namespace drift::standin {

/// It takes indices or sources of the CPU.
bool takes_both_devices(const std::string& operation);
/// Its kernel takes no tensor of the CPU, not even a single number.
bool refuses_numbers_of_the_cpu(const std::string& operation);
/// Its result's size or value is needed on the host.
bool makes_the_host_wait(const std::string& operation);
/// Sums of floats are added with atomics, in any order; in LibTorch's deterministic mode some are not.
bool adds_with_atomics(const std::string& operation);

}  // namespace drift::standin
