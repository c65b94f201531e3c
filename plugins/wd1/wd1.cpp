// wd1 (docs/spec/further_algorithms.md 7): log-likelihoods weighed by softmaxes of the advantages; no ratio, no old
// policy, no KL. Its masking is that of plugin `d1`. The settings of the release are the files in presets/.

#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/plugin.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sum.h>

#include <limits>

namespace {

using namespace drift;

class WeightedLikelihood final : public LossEstimator {
 public:
  explicit WeightedLikelihood(Parameters& parameters)
      : positive_only_(parameters("positive_only", false, "only raise likelihoods, by the softmax of the advantages")),
        micro_batch_(parameters("micro_batch", 0, "neighbouring responses that share a softmax, 0 = those of a group",
                                at_least(0))) {}

  Coupling coupling() const override { return Coupling::kView; }
  void needs(LossNeeds& needs) const override { needs.old = false; }

  Loss evaluate(const LossInput& in) const override {
    const auto& target_FL = in.plan.target_FL;
    const auto& current_FL = in.log_probs.current_FL;
    auto weight_F = weight_B(in).index_select(0, in.plan.response_F).to(current_FL.scalar_type());
    if (in.plan.weight_F.defined()) weight_F = weight_F * in.plan.weight_F;

    // A sum over tokens, not a mean; where a plan has several forwards, their mean. The softmax weighs responses, of
    // which a token counts its share of the advantage.
    Loss loss;
    const auto logprob_F =
        sum_where(in.advantage_BL.defined() ? share_of_advantage(in) * current_FL : current_FL, target_FL);
    loss.value = (weight_F * logprob_F).sum() / static_cast<double>(in.totals.terms);
    loss.add_mean("logprob", current_FL, target_FL);
    return loss;
  }

 private:
  /// W-_b - W+_b, W+ = softmax of A and W- = softmax of -A over the response's micro-batch; micro-batches are averaged.
  /// All advantages are known beforehand, so that each view's share of the loss is.
  at::Tensor weight_B(const LossInput& in) const {
    const std::int64_t size = micro_batch_ > 0 ? micro_batch_ : in.totals.group_size;
    const std::int64_t responses = in.advantage_B.size(0);
    const auto micro_batches = [&](std::int64_t count) { return (count + size - 1) / size; };
    const std::int64_t missing = micro_batches(responses) * size - responses;
    const auto softmax = [&](const at::Tensor& value_B) {
      // The last micro-batch may be smaller.
      const auto full = at::constant_pad_nd(value_B, {0, missing}, -std::numeric_limits<double>::infinity());
      return full.view({-1, size}).softmax(1).view({-1}).narrow(0, 0, responses);
    };
    auto weight_B = -softmax(in.advantage_B);
    if (!positive_only_) weight_B = weight_B + softmax(-in.advantage_B);
    return weight_B / static_cast<double>(micro_batches(in.totals.responses));
  }

  bool positive_only_;
  std::int64_t micro_batch_;
};

}  // namespace

DRIFT_PLUGIN("wd1", "1.0.0", "Apache-2.0") {
  registry.add<WeightedLikelihood>("wd1", "Log-likelihoods weighted by softmaxes of the advantages.");
  registry.add_algorithm({
      .name = "wd1",
      .doc = "Log-likelihoods weighted by softmaxes of the advantages, up and down; no ratio and no old policy.",
      .paper = "wd1: Weighted Policy Optimization for Reasoning in Diffusion Language Models",
      .masking = "d1",
      .loss = "wd1",
      .presets = plugin_presets("gsm8k"),
      .plugin = {},
  });
}
