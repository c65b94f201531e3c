#pragma once

// CUDA's words for g++: runs a kernel on the CPU, one block after the other, the threads of a block as fibres that
// change at barriers and at exchanges within a warp. For tests: it checks a kernel's arithmetic, indices and barriers,
// and says nothing about speed.
//
// It finds what a GPU hides. A barrier or exchange that some threads of the block or warp do not reach is an error with
// its line. Shared memory holds NaN before it is written. The order in which threads run can be reversed: a kernel
// without races computes the same bits. Dynamic shared memory ends where the launch says, and each index is checked.
// Under AddressSanitizer every shared object and every pointer is watched.

#include <core/kernels/cuda/calls.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>

#define __global__
#define __device__
#define __forceinline__ inline

namespace drift::kernels::emulated {

struct Index {
  unsigned x = 0;
};

// Of the thread that runs.
extern Index threadIdx, blockIdx, blockDim, gridDim;

/// As CUDA's launch; threads are whole warps.
struct Grid {
  std::int64_t blocks;
  int threads;
  std::int64_t dynamic_shared_bytes = 0;
};

/// Whether blocks, and threads between two barriers, run from the last to the first.
void run_in_reverse(bool reverse);

/// @throws std::logic_error at a barrier or an exchange that not all threads reach; and what a thread throws.
void run(const Grid& grid, const std::function<void()>& thread);

template <class... Parameters>
cuda::Status launch(void (*kernel)(Parameters...), Grid grid, cuda::Stream,
                    std::type_identity_t<Parameters>... arguments) {
  run(grid, [&] { kernel(arguments...); });
  return 0;
}

/// The block's object called `name`.
void* shared_bytes(const char* name, std::size_t size);

/// @throws std::logic_error if the launch gave less.
void* dynamic_shared_bytes(std::size_t size);

template <class T>
T& shared() {
  static_assert(std::is_trivially_copyable_v<T>);
  return *static_cast<T*>(shared_bytes(__PRETTY_FUNCTION__, sizeof(T)));
}

/// As a pointer is used, but for an index that is not below `count`.
template <class T>
class CheckedArray {
 public:
  CheckedArray(T* first, std::int64_t count) : first_(first), count_(count) {}

  T& operator[](std::int64_t index) const {
    if (index < 0 || index >= count_) {
      throw std::logic_error("element " + std::to_string(index) + " of " + std::to_string(count_) +
                             " in dynamic shared memory");
    }
    return first_[index];
  }

 private:
  T* first_;
  std::int64_t count_;
};

template <class T>
CheckedArray<T> dynamic_shared(std::int64_t count) {
  return {static_cast<T*>(dynamic_shared_bytes(static_cast<std::size_t>(count) * sizeof(T))), count};
}

void wait_for_block(const char* file, unsigned line);

/// What lane `lane` of the warp gave at the same place.
std::uint64_t exchange(std::uint64_t value, int lane, const char* file, unsigned line);

inline void __syncthreads(std::source_location at = std::source_location::current()) {
  wait_for_block(at.file_name(), at.line());
}

template <class T>
T __shfl_xor_sync(unsigned, T value, int distance, std::source_location at = std::source_location::current()) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(bits, static_cast<int>(threadIdx.x % 32) ^ distance, at.file_name(), at.line());
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// Fibres change nowhere else, so these are atomic.
template <class T>
T atomicAdd(T* to, T value) {
  const T before = *to;
  *to += value;
  return before;
}

}  // namespace drift::kernels::emulated
