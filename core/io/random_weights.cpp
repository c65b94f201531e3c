#include <core/io/random_weights.h>

#include <drift/random.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace drift {
namespace {

constexpr std::size_t kQuantiles = std::size_t{1} << 16;
constexpr std::int64_t kPerDraw = 4;  // a draw of 64 bits picks four quantiles

// Where the normal distribution's integral is `probability` >= 1/2, by Newton's method from a point at or below it: the
// integral is concave there, so that no step goes too far.
double normal_quantile(double probability, double from) {
  double x = from;
  for (int step = 0; step < 64; ++step) {
    const double missing = probability - 0.5 * std::erfc(-x / std::numbers::sqrt2);
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    if (std::abs(missing) < 1e-15) break;
    x += missing / density;
  }
  return x;
}

/// The middles of as many equal parts of a normal distribution: much faster to draw from than the distribution.
std::vector<float> make_quantiles(double standard_deviation) {
  std::vector<float> quantiles(kQuantiles);
  double x = 0;
  for (std::size_t i = kQuantiles / 2; i < kQuantiles; ++i) {
    x = normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(kQuantiles), x);
    quantiles[i] = static_cast<float>(standard_deviation * x);
    quantiles[kQuantiles - 1 - i] = -quantiles[i];
  }
  return quantiles;
}

void fill_random(const RandomStream& random, std::int64_t first, const at::Tensor& target) {
  static const std::vector<float> quantiles = make_quantiles(0.02);
  at::Tensor values = at::empty({target.numel()}, at::kFloat);
  float* out = values.data_ptr<float>();
  at::parallel_for(0, target.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    std::uint64_t bits = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t element = first + i, part = element % kPerDraw;
      if (i == begin || part == 0) bits = random.bits({0, 0, element / kPerDraw, 0});
      out[i] = quantiles[(bits >> (16 * part)) & 0xFFFF];
    }
  });
  target.view({-1}).copy_(values);
}

}  // namespace

FillElements random_weights(std::uint64_t seed) {
  const RandomStream random(seed, "random weights");
  return [random](const NamedTensor& tensor, std::int64_t first, const at::Tensor& target) {
    if (tensor.tensor.dim() > 1) {
      fill_random(random.child(tensor.name), first, target);
    } else {
      target.fill_(tensor.name.ends_with("bias") ? 0 : 1);
    }
  };
}

}  // namespace drift
