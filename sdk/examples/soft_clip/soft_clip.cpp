// PPO's clip replaced by a smooth weight.
#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/plugin.h>

namespace {

class SoftClip final : public drift::LossEstimator {
 public:
  explicit SoftClip(drift::Parameters& parameters)
      : width_(parameters("width", 4.0, "curvature of the weight", drift::at_least(0))) {}

  // The ratio is taken token by token, so any split of the views into micro-batches gives the same gradient.
  drift::Coupling coupling() const override { return drift::Coupling::kView; }

  drift::Loss evaluate(const drift::LossInput& in) const override {
    // Bounded, or exp() would be infinite for a token that the old policy all but excluded.
    auto log_ratio_FL = drift::log_ratio(in.log_probs.current_FL, in.log_probs.old_FL, in.plan.target_FL, 20);
    auto gain_FL = in.token_advantage() * log_ratio_FL.exp() / (1 + width_ * log_ratio_FL.square());
    return in.token_mean(-gain_FL);
  }

 private:
  double width_;
};

}  // namespace

DRIFT_PLUGIN("soft_clip", "1.0.0", "Apache-2.0") { registry.add<SoftClip>("soft_clip", "PPO with a smooth clip."); }
