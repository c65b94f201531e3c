#pragma once

#include <drift/error.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// Tensors that a plugin may read and not write. On the CPU, By::kContent finds changes by comparing a copy; otherwise
/// the tensor's version counter tells, which misses writes through raw pointers.
class Lent {
 public:
  enum class By { kVersion, kContent };
  explicit Lent(By by) : by_(by) {}

  void add(const char* name, const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.is_meta()) return;
    const at::NoGradGuard no_gradient;
    const bool copied = by_ == By::kContent && tensor.is_cpu();
    lent_.push_back({name, tensor, copied ? tensor.clone() : at::Tensor(), version(tensor)});
  }

  /// @throws Error naming the first that was changed.
  void check() const {
    for (const One& one : lent_) {
      const bool same = version(one.tensor) == one.version &&
                        (!one.copy.defined() || (one.copy.sizes() == one.tensor.sizes() && one.equal()));
      if (!same)
        throw Error("it changed `" + std::string(one.name) + "`, which is only lent to it", "change a clone() of it");
    }
  }

 private:
  struct One {
    const char* name;
    at::Tensor tensor, copy;
    std::uint32_t version;
    /// By their bytes, so that a nan equals itself.
    bool equal() const {
      const at::NoGradGuard no_gradient;
      const auto now = tensor.contiguous();
      return now.nbytes() == copy.nbytes() &&
             std::memcmp(now.const_data_ptr(), copy.const_data_ptr(), copy.nbytes()) == 0;
    }
  };
  static std::uint32_t version(const at::Tensor& tensor) {
    return tensor.is_inference() ? 0 : static_cast<std::uint32_t>(tensor._version());
  }

  By by_;
  std::vector<One> lent_;
};

}  // namespace drift
