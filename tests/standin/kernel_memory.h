#pragma once

#include <dlfcn.h>

namespace drift::standin {

using UseByKernel = void*(const void* pointer, bool writes, const char* kernel, void* stream);

/// Null on a GPU, and where the stand-in is not loaded.
inline UseByKernel* use_by_kernel() {
  static auto* const use = reinterpret_cast<UseByKernel*>(::dlsym(RTLD_DEFAULT, "drift_standin_use"));
  return use;
}

/// For libraries without LibTorch: the host's address of what a kernel that begins in a stream reads or writes. Of
/// null, and without the stand-in, the pointer itself.
inline void* kernel_memory(const void* pointer, bool writes, const char* kernel, void* stream) {
  const bool is_translated = use_by_kernel() != nullptr && pointer != nullptr;
  return is_translated ? use_by_kernel()(pointer, writes, kernel, stream) : const_cast<void*>(pointer);
}

}  // namespace drift::standin
