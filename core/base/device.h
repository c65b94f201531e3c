#pragma once

#include <c10/core/Device.h>

#include <string>

namespace drift {

/// The device called `name` ("cpu" or "cuda"), made ready: LibTorch's CUDA library is loaded when it is first asked
/// for, so that runs on the CPU neither wait for it nor carry it.
/// @throws Error that says why there is no such device: a build without CUDA, no driver, no GPU.
at::Device run_device(const std::string& name);

/// From now on GPUs add in a fixed order, with slower operators where the fast ones add by atomics; before the device
/// is made ready. One that has no such form is an error of LibTorch.
void use_deterministic_algorithms();

/// Whether this build can load CUDA at all.
bool built_with_cuda();

}  // namespace drift
