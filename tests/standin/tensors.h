#pragma once

// Tensors of the device as the CPU's kernels see them: on the alias of the same memory.

#include "memory.h"

#include <ATen/core/Tensor.h>

namespace drift::standin {

inline constexpr c10::DispatchKeySet kDeviceKeys(c10::DispatchKey::CUDA);

bool is_on_device(const at::Tensor& tensor);
/// Does not own the memory. Tensors of the CPU, and sparse ones, are returned as they are.
at::Tensor host_view(const at::Tensor& tensor);
/// A tensor of the device with this memory and the sizes of a host's view.
at::Tensor device_view(const c10::Storage& storage, const at::Tensor& host);
/// A copy on the device of what the CPU's kernel returned.
at::Tensor copied_to_device(const at::Tensor& host);

/// use() of the tensor's memory in the current stream.
void use(const at::Tensor& tensor, Access access, const std::string& operation);
/// The host waits for the current stream; in LibTorch's sync-debug mode it also warns.
void wait_in_operation(const std::string& operation);

}  // namespace drift::standin
