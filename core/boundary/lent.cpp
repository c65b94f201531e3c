#include <core/boundary/lent.h>

#include <drift/error.h>

#include <ATen/core/grad_mode.h>

#include <atomic>
#include <cstring>

namespace drift {
namespace {

#ifdef __OPTIMIZE__
std::atomic<bool> g_compares{false};
#else
std::atomic<bool> g_compares{true};
#endif

std::uint32_t version_of(const at::Tensor& tensor) {
  return tensor.is_inference() ? 0 : static_cast<std::uint32_t>(tensor._version());
}

/// By their bytes, so that a nan equals itself.
bool same_bytes(const at::Tensor& tensor, const at::Tensor& copy) {
  const at::NoGradGuard no_gradient;
  const at::Tensor now = tensor.contiguous();
  return now.sizes() == copy.sizes() && now.nbytes() == copy.nbytes() &&
         std::memcmp(now.const_data_ptr(), copy.const_data_ptr(), copy.nbytes()) == 0;
}

}  // namespace

void compare_lent_tensors(bool on) { g_compares = on; }

void Lent::add(const std::string& name, const at::Tensor& tensor) {
  if (!g_compares || !tensor.defined() || tensor.is_meta()) return;
  const at::NoGradGuard no_gradient;
  lent_.push_back({name, tensor, tensor.is_cpu() ? tensor.clone() : at::Tensor(), version_of(tensor)});
}

void Lent::check() const {
  for (const One& one : lent_) {
    if (version_of(one.tensor) != one.version || (one.copy.defined() && !same_bytes(one.tensor, one.copy)))
      throw Error("it changed `" + one.name + "`, which is only lent to it", "change a clone() of it");
  }
}

}  // namespace drift
