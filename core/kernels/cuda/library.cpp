#include <core/kernels/cuda/library.h>

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <filesystem>

#include <dlfcn.h>

namespace drift::kernels::cuda {

const KernelTable* built_kernels() {
  static const KernelTable* const kernels = []() -> const KernelTable* {
    Dl_info here;  // it lies beside the library that this code is in
    if (dladdr(reinterpret_cast<const void*>(&check), &here) == 0) return nullptr;
    const auto path = std::filesystem::path(here.dli_fname).parent_path() / "libdrift_cuda.so";
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* function = library == nullptr ? nullptr : dlsym(library, "drift_cuda_kernels");
    return function == nullptr ? nullptr : reinterpret_cast<const KernelTable* (*)()>(function)();
  }();
  return kernels;
}

const KernelTable* kernels_for(const at::Tensor& x) {
  const bool served = x.is_cuda() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
  return served ? built_kernels() : nullptr;
}

Stream stream_of(const at::Tensor& x) {
  if (x.is_cpu()) return nullptr;
  return c10::impl::VirtualGuardImpl(x.device().type()).getStream(x.device()).native_handle();
}

Element element_of(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 ? Element::kBfloat16 : Element::kFloat32;
}

void check(const KernelTable& kernels, Status status) {
  TORCH_CHECK(status == 0, "a CUDA kernel could not be started: ", kernels.describe(status));
}

}  // namespace drift::kernels::cuda
