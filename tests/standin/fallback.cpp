// Every operator of the device that is not in operators.cpp: by the CPU's kernel, on the alias of the same memory.

#include "report.h"
#include "streams.h"
#include "tensors.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <vector>

namespace drift::standin {
namespace {

using Stack = torch::jit::Stack;

// What LibTorch's CUDA operators do beyond their results, by the dispatcher's names.
constexpr const char* kTakeBothDevices =
    " _to_copy index.Tensor index.Tensor_out _unsafe_index.Tensor index_put index_put_ _index_put_impl_ ";
/// Not even a single number of the CPU.
constexpr const char* kTakeNoNumberOfTheCpu =
    " mm mm.out addmm addmm.out bmm bmm.out baddbmm baddbmm.out index_select index_select.out gather gather.out "
    "scatter.src_out scatter.value_out scatter_add.out index_add.out index_copy.out embedding embedding_dense_backward "
    "cat.out sort.values_stable topk.values searchsorted.Tensor ";
/// The size or the value of the result is needed on the host.
constexpr const char* kMakeTheHostWait =
    " nonzero nonzero.out argwhere masked_select masked_select.out equal is_nonzero _unique _unique2 unique_dim "
    "unique_consecutive bincount histc multinomial repeat_interleave.Tensor randperm.generator_out _linalg_eigh "
    "linalg_lstsq ";
/// Floats are added with atomics, in any order; the second list not in LibTorch's deterministic mode.
constexpr const char* kAddWithAtomics =
    " scatter_reduce.two_out cumsum.out bincount histc _scaled_dot_product_efficient_attention_backward ";
constexpr const char* kAddWithAtomicsByDefault =
    " embedding_dense_backward index_add.out index_add_ scatter_add.out scatter_add_ put_ "
    "_scaled_dot_product_flash_attention_backward ";

bool is_mask(const at::Tensor& index) { return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte; }

class Call {
 public:
  explicit Call(const c10::OperatorHandle& operation)
      : operation_(operation),
        schema_(operation.schema()),
        name_(schema_.operator_name().name + (schema_.overload_name().empty() ? "" : '.' + schema_.overload_name())) {}

  void run(Stack& stack) {
    begin(current_stream());
    Stack inner = host_arguments(stack);
    // index.Tensor has called nonzero for its masks.
    if (is_one_of(kMakeTheHostWait) || (has_mask_index_ && !is_one_of(" index.Tensor_out "))) wait_in_operation(name_);
    if (has_floats_ && adds_with_atomics()) report("atomics", name_);
    operation_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &inner);
    torch::jit::drop(stack, schema_.arguments().size());
    for (const auto& [ours, host] : tensors_) take_changed_sizes(ours, host);
    for (const c10::IValue& result : torch::jit::last(inner, schema_.returns().size()))
      stack.push_back(of_device(result));
  }

 private:
  bool is_one_of(const std::string& names) const {
    return names.find(' ' + name_.substr(name_.find("::") + 2) + ' ') != names.npos;
  }
  bool adds_with_atomics() const {
    return is_one_of(kAddWithAtomics) ||
           (is_one_of(kAddWithAtomicsByDefault) && !at::globalContext().deterministicAlgorithms());
  }

  Stack host_arguments(const Stack& stack) {
    Stack arguments;
    const auto given = torch::jit::last(stack, schema_.arguments().size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      const auto* const alias = schema_.arguments()[i].alias_info();
      arguments.push_back(of_host(given[i], alias != nullptr && alias->isWrite() ? Access::kWrite : Access::kRead));
    }
    return arguments;
  }

  c10::IValue of_host(const c10::IValue& value, Access access) {
    if (value.isTensor()) return of_host(value.toTensor(), access);
    if (value.isTensorList()) {
      c10::List<at::Tensor> all;
      for (const at::Tensor& tensor : value.toTensorVector()) all.push_back(of_host(tensor, access));
      return all;
    }
    if (value.isOptionalTensorList()) {  // indices
      c10::List<std::optional<at::Tensor>> all;
      for (const auto& index : value.toOptionalTensorVector()) {
        const bool is_given = index && index->defined();
        has_mask_index_ = has_mask_index_ || (is_given && is_mask(*index));
        all.push_back(is_given ? std::optional(of_host(*index, access)) : std::nullopt);
      }
      return all;
    }
    if (value.isDevice() && value.toDevice().is_cuda()) return c10::Device(c10::kCPU);
    if (value.isGenerator() && value.toGenerator().device().is_cuda()) return at::detail::getDefaultCPUGenerator();
    return value;
  }

  at::Tensor of_host(const at::Tensor& tensor, Access access) {
    if (!tensor.defined()) return tensor;
    if (!is_on_device(tensor)) {
      check_tensor_of_cpu(tensor);
      return tensor;
    }
    has_floats_ = has_floats_ || tensor.is_floating_point();
    const auto host = host_view(tensor);
    if (tensor.is_sparse()) return host;
    use(tensor, access, name_);
    tensors_.emplace_back(tensor, host);
    return host;
  }

  void check_tensor_of_cpu(const at::Tensor& tensor) const {
    if (is_one_of(kTakeBothDevices)) {
      if (tensor.dim() > 0) wait_in_operation(name_ + " of an index on the CPU");
      return;
    }
    const bool is_number = tensor.dim() == 0;
    const bool is_taken =
        is_number && (tensor.unsafeGetTensorImpl()->is_wrapped_number() || !is_one_of(kTakeNoNumberOfTheCpu));
    TORCH_CHECK(is_taken,
                "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and "
                "cpu! (stand-in: ",
                name_, " of a tensor ", tensor.sizes(), " of the CPU)");
  }

  /// What was written may have got other sizes, and then other memory.
  static void take_changed_sizes(const at::Tensor& ours, const at::Tensor& host) {
    if (host.sizes() == ours.sizes() && host.strides() == ours.strides()) return;
    auto* const impl = ours.unsafeGetTensorImpl();
    if (host.storage().nbytes() > 0 && host.storage().data() != alias_of(ours.storage().data()))
      impl->set_storage_keep_dtype(copied_to_device(host).storage());
    impl->set_sizes_and_strides(host.sizes(), host.strides(), host.storage_offset());
  }

  c10::IValue of_device(const c10::IValue& result) const {
    if (result.isTensor()) return of_device(result.toTensor());
    if (!result.isTensorList()) return result;
    c10::List<at::Tensor> all;
    for (const at::Tensor& tensor : result.toTensorVector()) all.push_back(of_device(tensor));
    return all;
  }

  /// An argument, a view of one, or new.
  at::Tensor of_device(const at::Tensor& host) const {
    if (!host.defined()) return host;
    for (const auto& [ours, its_view] : tensors_) {
      if (host.is_same(its_view)) return ours;
    }
    if (host.is_cpu() && !host.is_sparse() && host.storage().nbytes() > 0) {
      for (const auto& [ours, its_view] : tensors_) {
        if (host.storage().data() == its_view.storage().data()) return device_view(ours.storage(), host);
      }
    }
    return copied_to_device(host);
  }

  const c10::OperatorHandle& operation_;
  const c10::FunctionSchema& schema_;
  const std::string name_;
  std::vector<std::pair<at::Tensor, at::Tensor>> tensors_;  ///< of the device, and as the host sees them
  bool has_floats_ = false, has_mask_index_ = false;
};

void run_on_host(const c10::OperatorHandle& operation, Stack* stack) {
  const Lock lock(one_at_a_time());
  const at::AutoDispatchBelowADInplaceOrView below;
  Call(operation).run(*stack);
}

TORCH_LIBRARY_IMPL(_, CUDA, library) { library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_host>()); }

}  // namespace
}  // namespace drift::standin
