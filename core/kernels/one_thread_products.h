#pragma once

// MKL, which computes LibTorch's float32 products, is found in libtorch_cpu; a LibTorch without it has no such
// function.
extern "C" int MKL_Set_Num_Threads_Local(int count) __attribute__((weak));

namespace drift::kernels {

/// While it lives, products of this thread are those of a run with one thread, bit by bit. Within a parallel region MKL
/// has one thread, too, but on some processors divides the sums as for all threads of the run.
class OneThreadProducts {
 public:
  OneThreadProducts() : before_(MKL_Set_Num_Threads_Local != nullptr ? MKL_Set_Num_Threads_Local(1) : 0) {}
  ~OneThreadProducts() {
    if (MKL_Set_Num_Threads_Local != nullptr) MKL_Set_Num_Threads_Local(before_);
  }
  OneThreadProducts(const OneThreadProducts&) = delete;
  OneThreadProducts& operator=(const OneThreadProducts&) = delete;

 private:
  const int before_;
};

}  // namespace drift::kernels
