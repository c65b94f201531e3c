#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

/// A number and its standard error.
struct Measured {
  double value = 0;
  double error = 0;
};

/// What independent draws g of a gradient estimator say of it, where t is the gradient that it estimates
/// (docs/paper.md). Each is free of the bias that the noise of a mean would give it; the errors are those of a
/// jackknife over batches of draws. Cosine and norm ratio are unknown where the draws do not tell E g from 0.
struct Fidelity {
  std::int64_t draws = 0;
  Measured bias_square;  ///< |E g - t|^2 / |t|^2; below 0 by chance only
  Measured cosine;       ///< of E g and t
  Measured norm_ratio;   ///< |E g| / |t|
  Measured variance;     ///< trace of the covariance of g / |t|^2
  Measured signal;       ///< square of E g along t / trace of the covariance: the signal-to-noise ratio of one draw
  Measured draw_cosine;  ///< mean of cos(g, t) over draws that are not 0
};

/// Adds up draws of a gradient estimator.
class GradientMoments {
 public:
  /// @param target_P  t, float64
  /// @param batches   of the jackknife; draw n is in batch n % batches
  GradientMoments(const at::Tensor& target_P, std::int64_t batches);
  GradientMoments(const GradientMoments&) = delete;  // a copy would add to the same tensor
  GradientMoments& operator=(const GradientMoments&) = delete;
  GradientMoments(GradientMoments&&) = default;
  GradientMoments& operator=(GradientMoments&&) = default;

  void add(const at::Tensor& gradient_P);
  std::int64_t draws() const { return draws_; }

  /// Of at least two draws in each batch.
  Fidelity fidelity() const;

 private:
  struct Batch {
    std::int64_t draws = 0, cosines = 0;
    double squares = 0;   // sum of |g|^2
    double products = 0;  // sum of (g t)^2
    double cosine = 0;    // sum of cos(g, t)
  };

  at::Tensor target_P_;
  double target_square_;
  at::Tensor sum_MP_;  // of each batch
  std::vector<Batch> batches_;
  std::int64_t draws_ = 0;
};

}  // namespace drift
