#pragma once

// wd1, weighted log-likelihoods without a ratio: the part that this plugin registers.

#include <drift/loss_estimator.h>
#include <drift/params.h>

#include <cstdint>

namespace drift::wd1 {

/// Log-likelihoods weighed by softmaxes of the advantages.
class WeightedLikelihood final : public LossEstimator {
 public:
  explicit WeightedLikelihood(const Params& params);
  Coupling coupling() const override { return Coupling::kView; }
  void needs(LossNeeds& needs) const override { needs.old = false; }
  Loss evaluate(const LossInput& input) const override;

 private:
  at::Tensor weight_B(const LossInput& input) const;

  bool positive_only_;
  std::int64_t micro_batch_;
};

}  // namespace drift::wd1
