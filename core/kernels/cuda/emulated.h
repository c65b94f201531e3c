#pragma once

#include <core/kernels/cuda/calls.h>

namespace drift::kernels::cuda {

/// The kernels on the CPU, through the emulator (emulator.h), on memory of the host. For tests.
const KernelTable& emulated_kernels();

}  // namespace drift::kernels::cuda
