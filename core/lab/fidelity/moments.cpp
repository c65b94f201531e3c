#include <core/lab/fidelity/moments.h>

#include <core/base/unknown.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mv.h>
#include <ATen/ops/zeros.h>

#include <cassert>
#include <cmath>
#include <functional>
#include <utility>

namespace drift {
namespace {

/// Sums over some draws, from which everything is computed.
struct Sums {
  double draws = 0, cosines = 0;
  double squares = 0;     // of |g|^2
  double sum_square = 0;  // |sum of g|^2
  double product = 0;     // sum of g times t
  double products = 0;    // sum of (g times t)^2
  double cosine = 0;
  double target_square = 0;

  double trace() const { return (squares - sum_square / draws) / (draws - 1); }
  /// |E g|^2: the square of a mean is too large by the mean's own variance.
  double mean_square() const { return sum_square / (draws * draws) - trace() / draws; }
  double inner() const { return product / draws; }
  /// (E g times t)^2, likewise without the noise of the mean.
  double inner_square() const {
    return product * product / (draws * draws) - (products - product * product / draws) / (draws - 1) / draws;
  }
};

using Measure = double (*)(const Sums&);

double bias_square(const Sums& s) { return (s.mean_square() - 2 * s.inner() + s.target_square) / s.target_square; }
double cosine(const Sums& s) {
  return s.mean_square() > 0 ? s.inner() / std::sqrt(s.mean_square() * s.target_square) : kUnknown;
}
double norm_ratio(const Sums& s) {
  return s.mean_square() > 0 ? std::sqrt(s.mean_square() / s.target_square) : kUnknown;
}
double variance(const Sums& s) { return s.trace() / s.target_square; }
double signal(const Sums& s) { return s.inner_square() / (s.target_square * s.trace()); }
double draw_cosine(const Sums& s) { return s.cosine / s.cosines; }

/// The value from all draws, and the jackknife's error from those without one batch each.
Measured jackknife(Measure measure, const Sums& all, const std::vector<Sums>& without) {
  const auto count = static_cast<double>(without.size());
  double mean = 0, squares = 0;
  for (const Sums& sums : without) mean += measure(sums) / count;
  for (const Sums& sums : without) squares += std::pow(measure(sums) - mean, 2);
  return {measure(all), std::sqrt((count - 1) / count * squares)};
}

}  // namespace

GradientMoments::GradientMoments(const at::Tensor& target_P, std::int64_t batches)
    : target_P_(target_P),
      target_square_(target_P.dot(target_P).item<double>()),
      sum_MP_(at::zeros({batches, target_P.size(0)}, at::kDouble)),
      batches_(static_cast<std::size_t>(batches)) {
  assert(batches >= 2);
}

void GradientMoments::add(const at::Tensor& gradient_P) {
  const auto number = static_cast<std::size_t>(draws_++) % batches_.size();
  Batch& batch = batches_[number];
  sum_MP_.select(0, static_cast<std::int64_t>(number)).add_(gradient_P);
  const double square = gradient_P.dot(gradient_P).item<double>();
  ++batch.draws;
  batch.squares += square;
  const double product = gradient_P.dot(target_P_).item<double>();
  batch.products += product * product;
  if (square == 0) return;
  ++batch.cosines;
  batch.cosine += product / std::sqrt(square * target_square_);
}

Fidelity GradientMoments::fidelity() const {
  const auto total_P = sum_MP_.sum(0);
  const auto product_M = sum_MP_.mv(target_P_), square_M = sum_MP_.square().sum(1), with_total_M = sum_MP_.mv(total_P);
  Sums all;
  all.target_square = target_square_;
  all.sum_square = total_P.dot(total_P).item<double>();
  for (std::size_t m = 0; m < batches_.size(); ++m) {
    all.draws += static_cast<double>(batches_[m].draws);
    all.cosines += static_cast<double>(batches_[m].cosines);
    all.squares += batches_[m].squares;
    all.products += batches_[m].products;
    all.cosine += batches_[m].cosine;
    all.product += product_M.const_data_ptr<double>()[m];
  }
  std::vector<Sums> without(batches_.size(), all);
  for (std::size_t m = 0; m < batches_.size(); ++m) {
    Sums& sums = without[m];
    sums.draws -= static_cast<double>(batches_[m].draws);
    sums.cosines -= static_cast<double>(batches_[m].cosines);
    sums.squares -= batches_[m].squares;
    sums.products -= batches_[m].products;
    sums.cosine -= batches_[m].cosine;
    sums.product -= product_M.const_data_ptr<double>()[m];
    sums.sum_square += square_M.const_data_ptr<double>()[m] - 2 * with_total_M.const_data_ptr<double>()[m];
  }
  const auto measure = [&](Measure of) { return jackknife(of, all, without); };
  return {draws_,          measure(bias_square), measure(cosine), measure(norm_ratio), measure(variance),
          measure(signal), measure(draw_cosine)};
}

}  // namespace drift
