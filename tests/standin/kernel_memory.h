#pragma once

// For libraries that work on the stand-in's memory without LibTorch: kernels, NCCL. The functions are those of the
// stand-in if it is loaded; else memory is the host's, and stays as it is.

#include <dlfcn.h>

namespace drift::standin {

template <class Function>
Function* standin_function(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

/// A kernel begins in a stream.
inline void begin_kernel(const char* kernel, void* stream) {
  static auto* const begin = standin_function<void(const char*, void*)>("drift_standin_begin");
  if (begin != nullptr) begin(kernel, stream);
}

/// The host's address of what the kernel reads or writes; null of null.
inline void* kernel_memory(const void* pointer, bool writes, const char* kernel, void* stream) {
  static auto* const use = standin_function<void*(const void*, bool, const char*, void*)>("drift_standin_use");
  return use == nullptr || pointer == nullptr ? const_cast<void*>(pointer) : use(pointer, writes, kernel, stream);
}

}  // namespace drift::standin
