#include <core/nn/initialization.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>

namespace drift::nn {
namespace {

// Box-Muller.
double normal(const RandomStream& random, std::int64_t element, double cut) {
  for (std::int64_t draw = 0;; ++draw) {
    const double u = 1.0 - random.uniform({0, 0, element, 2 * draw});
    const double v = random.uniform({0, 0, element, 2 * draw + 1});
    const double value = std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
    if (cut == 0 || std::abs(value) <= cut) return value;
  }
}

}  // namespace

void fill_normal(const at::Tensor& tensor, double standard_deviation, double cut, const RandomStream& random) {
  const at::NoGradGuard no_gradient;
  auto values = at::empty(tensor.sizes(), at::kFloat);
  float* data = values.data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    data[i] = static_cast<float>(standard_deviation * normal(random, i, cut));
  }
  tensor.copy_(values);
}

}  // namespace drift::nn
