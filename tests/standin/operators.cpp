// The operators that the CPU's kernels cannot do for the device: they make tensors, or look into them.

#include "streams.h"
#include "tensors.h"

#include <ATen/EmptyTensor.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_coalesced_native.h>
#include <ATen/ops/_indices_native.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_nnz_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_and_tensors_native.h>
#include <ATen/ops/_values_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/view_native.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <cstring>

namespace drift::standin {
namespace {

using c10::SymIntArrayRef;

at::Tensor empty(SymIntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool> is_pinned, std::optional<at::MemoryFormat> format) {
  TORCH_CHECK(!is_pinned.value_or(false), "Only dense CPU tensors can be pinned");
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), device_allocator(), kDeviceKeys,
                                   at::dtype_or_default(type), format);
}

at::Tensor empty_strided(SymIntArrayRef size, SymIntArrayRef stride, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
                                           device_allocator(), kDeviceKeys, at::dtype_or_default(type));
}

at::Tensor as_strided(const at::Tensor& self, SymIntArrayRef size, SymIntArrayRef stride,
                      std::optional<c10::SymInt> offset) {
  return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
                                           offset ? std::optional(offset->expect_int()) : std::nullopt);
}

at::Tensor view(const at::Tensor& self, SymIntArrayRef size) {
  return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

at::Tensor reshape_alias(const at::Tensor& self, SymIntArrayRef size, SymIntArrayRef stride) {
  return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}

at::Tensor& set_storage(at::Tensor& self, at::Storage storage, c10::SymInt offset, SymIntArrayRef size,
                        SymIntArrayRef stride) {
  auto* const impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(storage));
  impl->set_sizes_and_strides(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), offset.expect_int());
  return self;
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  return self.set_(source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

at::Scalar item(const at::Tensor& self) {
  const Lock lock(one_at_a_time());
  const at::AutoDispatchBelowADInplaceOrView below;
  begin(current_stream());
  use(self, Access::kRead, "item");
  wait_in_operation("aten::item");
  return at::_local_scalar_dense(host_view(self));
}

/// A copy that the host does not wait for, done as late as a GPU may do it. Until then a host that reads too early
/// finds NaN. LibTorch keeps pinned memory until its copies are done; the device's memory waits in free_block().
void queue_copy(const at::Tensor& self, const at::Tensor& source, bool to_host) {
  if (to_host && self.is_contiguous()) std::memset(self.mutable_data_ptr(), 0xFF, self.nbytes());
  queue(current_stream(), [to = host_view(self), from = host_view(source)] {
    const at::AutoDispatchBelowADInplaceOrView below;
    to.copy_(from);
  });
}

at::Tensor& copy(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  const Lock lock(one_at_a_time());
  const at::AutoDispatchBelowADInplaceOrView below;
  if (self.numel() == 0) return self;
  const bool to_host = !is_on_device(self), to_device = !is_on_device(source);
  const bool is_pinned_copy =
      non_blocking && (to_host || to_device) && is_pinned((to_host ? self : source).storage().data());
  const std::string name = to_host ? "copy to the host" : to_device ? "copy to the device" : "copy on the device";
  is_pinned_copy ? begin_late(current_stream()) : begin(current_stream());
  if (!to_device) use(source, Access::kRead, name);
  if (!to_host) use(self, Access::kWrite, name);
  if (is_pinned_copy) {
    queue_copy(self, source, to_host);
    return self;
  }
  host_view(self).copy_(host_view(source));
  // Of pageable memory a copy to the device is staged, so the host need not wait if it says so.
  if (to_host || (to_device && !non_blocking)) wait_in_operation(name);
  return self;
}

void record_stream(at::Tensor& self, c10::Stream stream) {
  device_allocator()->recordStream(self.storage().data_ptr(), stream);
}

// Products of bfloat16 into float32, which the CPU has not.

at::Tensor& wide_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType type, at::Tensor& out) {
  return out.copy_(a.to(type).mm(b.to(type)));
}

at::Tensor& add_wide_product(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, at::ScalarType type,
                             const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  return out.copy_(self * beta + a.to(type).mm(b.to(type)) * alpha);
}

/// Of a gradient of an embedding: rows.
at::Tensor sparse_to_dense(const at::Tensor& self, std::optional<at::ScalarType>, std::optional<bool>) {
  return at::zeros(self.sizes(), self._values().options()).index_add_(0, self._indices()[0], self._values());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", TORCH_FN(empty));
  library.impl("empty_strided", TORCH_FN(empty_strided));
  library.impl("as_strided", TORCH_FN(as_strided));
  library.impl("view", TORCH_FN(view));
  library.impl("_reshape_alias", TORCH_FN(reshape_alias));
  library.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage));
  library.impl("set_.source_Tensor", TORCH_FN(set_tensor));
  library.impl("_local_scalar_dense", TORCH_FN(item));
  library.impl("copy_", TORCH_FN(copy));
  library.impl("record_stream", TORCH_FN(record_stream));
  library.impl("mm.dtype_out", TORCH_FN(wide_product));
  library.impl("addmm.dtype_out", TORCH_FN(add_wide_product));
}

// Gradients of embeddings.
TORCH_LIBRARY_IMPL(aten, SparseCUDA, library) {
  library.impl("_sparse_coo_tensor_with_dims_and_tensors",
               TORCH_FN(at::native::new_with_dims_and_tensor_sparse_symint));
  library.impl("_indices", TORCH_FN(at::native::_indices_sparse));
  library.impl("_values", TORCH_FN(at::native::_values_sparse));
  library.impl("_nnz", TORCH_FN(at::native::_nnz_sparse));
  library.impl("_coalesced_", TORCH_FN(at::native::_coalesced_sparse_));
  library.impl("_to_dense", TORCH_FN(sparse_to_dense));
}

}  // namespace
}  // namespace drift::standin
