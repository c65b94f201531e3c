// PPO's clip replaced by a smooth weight, over plain arrays: the loss of ../soft_clip, without LibTorch.
#include <drift/pure.hpp>

#include <algorithm>
#include <cmath>

namespace {

class SoftClip final : public drift::pure::Loss {
 public:
  explicit SoftClip(drift::pure::Parameters& parameters)
      : width_(parameters.number("width", 4.0, "curvature of the weight", drift::pure::at_least(0))) {}

  // The ratio is taken token by token, so any split of the views into micro-batches gives the same gradient.
  std::uint32_t coupling() const noexcept override { return DRIFT_COUPLING_VIEW; }

  void evaluate(const drift::pure::Host&, const DriftLossInput& in, DriftLossResult& result) const override {
    const auto targets = static_cast<double>(in.total_targets);
    for (std::int64_t f = 0; f < in.views; ++f) {
      for (std::int64_t i = 0; i < in.length; ++i) {
        const std::int64_t at = f * in.length + i;
        if (in.target_FL[at] == 0) continue;
        // Bounded, or exp() would be infinite for a token that the old policy all but excluded.
        const double difference = in.current_FL[at] - in.old_FL[at];
        const double log_ratio = std::clamp(difference, -kBound, kBound);
        const double advantage = in.advantage_BL[in.response_F[f] * in.length + i];
        const double divisor = 1 + width_ * log_ratio * log_ratio;
        const double gain = advantage * std::exp(log_ratio) / divisor;
        result.value -= gain / targets;
        const double slope = gain * (1 - 2 * width_ * log_ratio / divisor);
        result.current_gradient_FL[at] = std::abs(difference) > kBound ? 0 : -slope / targets;
      }
    }
  }

 private:
  static constexpr double kBound = 20;
  double width_;
};

}  // namespace

DRIFT_PURE_PLUGIN("soft_clip_pure", "1.0.0", "Apache-2.0") {
  drift::pure::add<SoftClip>(registry, "soft_clip_pure", "PPO with a smooth clip, over plain arrays.");
}
