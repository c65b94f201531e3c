#include "tensors.h"

#include "streams.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/Exception.h>

#include <cstring>

// LibTorch's mode that warns when the host waits. tests/support/device_waits.cpp finds it by its name.
namespace c10::cuda {
struct WarningState {
  int sync_debug_mode = 0;
};
__attribute__((visibility("default"))) WarningState& warning_state() {
  static WarningState state;
  return state;
}
}  // namespace c10::cuda

namespace drift::standin {
namespace {

c10::Storage storage_over(std::size_t size, c10::DataPtr memory, c10::Allocator* allocator) {
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), size,
                                                            std::move(memory), allocator, /*resizable=*/true));
}

at::Tensor tensor_over(c10::Storage storage, c10::DispatchKeySet keys, const at::Tensor& like) {
  auto made = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, like.dtype());
  made.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  return made;
}

}  // namespace

bool is_on_device(const at::Tensor& tensor) { return tensor.defined() && tensor.is_cuda(); }

at::Tensor host_view(const at::Tensor& tensor) {
  if (!is_on_device(tensor) || tensor.is_sparse()) return tensor;
  const auto& storage = tensor.storage();
  void* const memory = storage.nbytes() == 0 ? nullptr : alias_of(storage.mutable_data());
  const auto view =
      tensor_over(storage_over(storage.nbytes(), {memory, c10::Device(c10::kCPU)}, c10::GetCPUAllocator()),
                  c10::DispatchKeySet(c10::DispatchKey::CPU), tensor);
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) view.unsafeGetTensorImpl()->set_wrapped_number(true);
  return view;
}

at::Tensor device_view(const c10::Storage& storage, const at::Tensor& host) {
  return tensor_over(storage, kDeviceKeys, host);
}

at::Tensor copied_to_device(const at::Tensor& host) {
  if (!host.defined() || host.is_sparse() || !host.is_cpu()) return host;
  const std::size_t size = host.storage().nbytes();
  const auto storage = storage_over(size, device_allocator()->allocate(size), device_allocator());
  if (size > 0) std::memcpy(alias_of(storage.mutable_data()), host.storage().data(), size);
  const auto made = device_view(storage, host);
  use(made, Access::kWrite, "a result");
  return made;
}

void use(const at::Tensor& tensor, Access access, const std::string& operation) {
  if (tensor.is_sparse() || tensor.storage().nbytes() == 0) return;
  use(tensor.storage().data(), access, operation, current_stream());
}

void wait_in_operation(const std::string& operation) {
  wait_on_host(current_stream(), operation);
  if (c10::cuda::warning_state().sync_debug_mode == 1) TORCH_WARN("called a synchronizing CUDA operation: ", operation);
}

}  // namespace drift::standin
