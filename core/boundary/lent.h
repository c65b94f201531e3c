#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// Whether Lent compares: `drift plugin check` and debug builds do, a run makes no copies. At first as the build is.
void compare_lent_tensors(bool on);

/// Tensors that a plugin may read and not write. On the CPU changes are found by comparing a copy; elsewhere the
/// tensor's version counter tells, which misses writes through raw pointers.
class Lent {
 public:
  void add(const std::string& name, const at::Tensor& tensor);

  /// @throws Error naming the first that was changed.
  void check() const;

 private:
  struct One {
    std::string name;
    at::Tensor tensor, copy;
    std::uint32_t version;
  };
  std::vector<One> lent_;
};

}  // namespace drift
