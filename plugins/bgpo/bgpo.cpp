// BGPO (docs/algorithms/bgpo.md): a lower bound of the objective with the ratio of ELBOs that is a sum over the masks,
// so that each mask is back-propagated alone. Its masking is that of plugin `vrpo`. The settings are the files in
// presets/.

#include <drift/error.h>
#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/plugin.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>

#include <algorithm>

namespace {

using namespace drift;

/// (1 + d) A where A >= 0 and e^d A where A < 0, mean over masks; d = the difference of a mask's weighted sums. The
/// released code divides d by the response length and clips as PPO does, with a second bound where A < 0.
class LinearBound final : public LossEstimator {
 public:
  explicit LinearBound(Parameters& parameters)
      : clamp_(parameters("logratio_clamp", 80.0, "bound on |d|, beyond which there is no gradient", above(0))),
        by_length_(parameters("divide_by_length", false, "divide d by the response length L")),
        clip_(parameters("clip", 0.0, "1 + d and e^d are clipped to 1 - clip … 1 + clip; 0: no clip", between(0, 1))),
        dual_clip_(parameters("dual_clip", 0.0, "where A < 0, e^d counts at most this, above 1; 0: no such bound",
                              at_least(0))) {
    if (dual_clip_ > 0 && dual_clip_ <= 1) {
      throw Error("bgpo: dual_clip = " + to_toml(Parameter::Value(dual_clip_)) +
                      " stops the gradient on-policy, where e^d is 1",
                  "a number above 1, or 0 for no bound; the released code has 3");
    }
  }

  Coupling coupling() const override { return Coupling::kView; }
  void needs(LossNeeds& needs) const override { needs.token_weights = true; }

  Loss evaluate(const LossInput& in) const override {
    const auto& target_FL = in.plan.target_FL;
    const double divisor = by_length_ ? static_cast<double>(target_FL.size(1)) : 1;
    const auto current_F = weighted_sum(in, current_by_token_advantage(in)) / divisor;
    const auto old_F = weighted_sum(in, in.log_probs.old_FL.detach()) / divisor;
    const auto every_F = at::ones_like(current_F, at::kBool);
    const auto difference_F = log_ratio(current_F, old_F, every_F, clamp_);  // d
    const auto advantage_F = in.advantage_F1().squeeze(1).to(current_F.scalar_type());
    const auto bound_F = at::where(advantage_F >= 0, 1 + difference_F, difference_F.exp());
    auto gain_F = advantage_F * bound_F;  // g
    if (clip_ > 0) gain_F = at::minimum(gain_F, advantage_F * bound_F.clamp(1 - clip_, 1 + clip_));
    if (dual_clip_ > 0) gain_F = at::where(advantage_F < 0, at::maximum(gain_F, advantage_F * dual_clip_), gain_F);

    Loss loss;
    const auto views = static_cast<double>(in.totals.responses) * static_cast<double>(in.totals.terms);
    loss.value = -gain_F.sum() / std::max(views, 1.0);
    loss.add_mean("difference", difference_F, every_F);
    loss.add_mean("logprob", in.log_probs.current_FL, target_FL);
    return loss;
  }

 private:
  /// Of each view: weight times the sum of the log-probabilities of what is masked.
  static at::Tensor weighted_sum(const LossInput& in, const at::Tensor& log_prob_FL) {
    auto sum_F = sum_where(by_token_weight(in, log_prob_FL), in.plan.target_FL);
    if (in.plan.weight_F.defined()) sum_F = sum_F * in.plan.weight_F;
    return sum_F;
  }

  double clamp_;
  bool by_length_;
  double clip_, dual_clip_;
};

}  // namespace

DRIFT_PLUGIN("bgpo", "1.0.0", "Apache-2.0") {
  registry.add<LinearBound>("bgpo", "A lower bound of the ELBO ratio's objective, linear in the masks.");
  registry.add_algorithm({
      .name = "bgpo",
      .doc = "The ratio of ELBOs through a lower bound that is a sum over many masks, each of which stands alone.",
      .paper = "Boundary-Guided Policy Optimization for Memory-efficient RL of Diffusion Large Language Models",
      .masking = "vrpo",
      .loss = "bgpo",
      .presets = plugin_presets("math"),
      .plugin = {},
  });
}
