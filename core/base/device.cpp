#include <core/base/device.h>

#include <drift/error.h>

#include <ATen/Context.h>

#include <cstdlib>

#include <dlfcn.h>

namespace drift {
namespace {

// The library registers its kernels and hooks with the dispatcher while it is loaded; nothing has to be called. It is
// tried once, and dlerror() reports the reason only once as well.
void load_cuda() {
  static const std::string failure = [] {
    if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr) return std::string();
    const char* reason = dlerror();
    return std::string(reason ? reason : "unknown reason");
  }();
  if (!failure.empty()) {
    throw Error("LibTorch's CUDA library cannot be loaded: " + failure,
                "install the CUDA libraries that this LibTorch was built for, or use --device cpu");
  }
}

}  // namespace

void use_deterministic_algorithms() {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);  // LibTorch refuses products without it
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

bool built_with_cuda() {
#ifdef DRIFT_WITH_CUDA
  return true;
#else
  return false;
#endif
}

at::Device run_device(const std::string& name) {
  if (name == "cpu") return at::kCPU;
  if (!built_with_cuda()) {
    throw Error("this build of Drift has no CUDA: nvcc was not found when it was configured",
                "install the CUDA Toolkit and build again, or use --device cpu");
  }
  load_cuda();
  // Its plans cost up to 0.08 s for each new shape, and there are many: lengths of prompts, numbers of rows.
  at::globalContext().setSDPUseCuDNN(false);
  if (!at::hasCUDA()) throw Error("there is no CUDA device on this machine", "check `nvidia-smi`, or use --device cpu");
  return at::Device(at::kCUDA, 0);
}

}  // namespace drift
