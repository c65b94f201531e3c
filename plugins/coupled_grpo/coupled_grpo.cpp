// Coupled-GRPO (docs/spec/coupled_grpo.md): every token is scored from a fully masked response, and once in each pair
// of complementary masks. The settings of the release are the files in presets/.

#include <drift/error.h>
#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/any.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <mutex>
#include <numeric>
#include <vector>

namespace {

using namespace drift;

/// The fully masked response, and pairs of complementary random masks (6.2).
class PairMasking final : public MaskingStrategy {
 public:
  explicit PairMasking(Parameters& parameters)
      : t_low_(parameters("t_low", 0.2, "smallest share of masked positions in the first mask of a pair", kInside)),
        t_high_(parameters("t_high", 0.8, "largest share", kInside)),
        pairs_(parameters("pairs", 1, "pairs of complementary masks, lambda", between(1, 1024))),
        include_full_mask_(
            parameters("include_full_mask", true, "also score every token from a fully masked response")),
        random_masking_(parameters("random_masking", true,
                                   "draw new masks for every optimizer step; false: the same ones throughout the run")),
        end_id_(parameters("end_id", -1,
                           "token that ends the valid part of a response, itself valid; -1 = the model's end token",
                           at_least(-1))) {
    if (t_low_ > t_high_) throw Error("t_low is greater than t_high", "the range of t starts at the lower bound");
  }

  PlanRefresh refresh() const override {
    return random_masking_ ? PlanRefresh::kEachInnerIteration : PlanRefresh::kOncePerRollout;
  }

  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Responses responses(input);
    const std::int64_t length = responses.length();
    const std::int64_t end_id = end_id_ >= 0 ? end_id_ : input.end_id;
    // Without random masking every rollout and iteration draws the same.
    const std::int64_t step = random_masking_ ? input.step : 0;
    const std::int64_t first_draw = random_masking_ ? input.inner_iteration * pairs_ : 0;
    const RandomStream t_random = input.random.child("t");
    const std::int64_t first_pair = include_full_mask_ ? 1 : 0;
    std::vector<std::int64_t> everything(static_cast<std::size_t>(length));
    std::iota(everything.begin(), everything.end(), 0);
    PlanBuilder builder(length, responses.prompt_length());

    for (std::int64_t b = 0; b < responses.size(); ++b) {
      const std::int64_t scored = responses.positions_through_end(b, end_id);  // masks continue after it, scores do not
      if (include_full_mask_) add_view(builder, b, 0, 1, everything, scored);
      for (std::int64_t pair = 0; pair < pairs_; ++pair) {
        const std::int64_t draw = first_draw + pair;
        const double t = t_low_ + (t_high_ - t_low_) * t_random.uniform({step, 0, 0, draw});  // one for all responses
        std::vector<std::int64_t> masked, complement;
        for (std::int64_t i = 0; i < length; ++i) {
          const bool selected = input.random.uniform({step, responses[b].number, i, draw}) < t;
          (selected ? masked : complement).push_back(i);
        }
        add_view(builder, b, first_pair + 2 * pair, 1 / t, masked, scored);
        add_view(builder, b, first_pair + 2 * pair + 1, 1 / (1 - t), complement, scored);
      }
    }
    plan = builder.finish(first_pair + 2 * pairs_);
  }

 private:
  static inline const AllowedValues kInside = {
      .minimum = 0, .maximum = 1, .minimum_excluded = true, .maximum_excluded = true};

  /// A view with these positions masked, of which those before `scored` are scored. Without one there is nothing to
  /// learn.
  static void add_view(PlanBuilder& builder, std::int64_t b, std::int64_t term, double weight,
                       const std::vector<std::int64_t>& masked, std::int64_t scored) {
    if (masked.empty() || masked.front() >= scored) return;
    builder.begin_view(b, term);
    builder.weigh(weight);
    for (const std::int64_t i : masked) {
      builder.mask(i);
      if (i < scored) builder.score(i);
    }
  }

  double t_low_, t_high_;
  std::int64_t pairs_;
  bool include_full_mask_, random_masking_;
  std::int64_t end_id_;
};

/// The clipped ratio and a KL of each token's log-probability, averaged over the views that score it (6.3 to 6.5).
class PairLoss final : public LossEstimator {
 public:
  PairLoss(Parameters& parameters, Host& host)
      : clip_(parameters, 0.5, 0.5),
        kl_(parameters, 0.01, KlEstimator::kK3),
        norm_(parameters, LossNormKind::kToken),
        host_(host) {}

  /// The ratio is one of the mean over a response's views.
  Coupling coupling() const override { return Coupling::kResponse; }
  void needs(LossNeeds& needs) const override { needs.reference = kl_.needed(); }

  Loss evaluate(const LossInput& in) const override {
    const auto& current_FL = in.log_probs.current_FL;
    const auto views_BL = sum_over_views(in, in.plan.target_FL.to(current_FL.scalar_type()));
    const auto scored_BL = views_BL > 0;
    std::call_once(first_call_, [&] { warn_of_bias(views_BL, scored_BL); });
    const auto current_BL = weighted_log_prob(in, current_FL, views_BL);
    const auto old_BL = weighted_log_prob(in, in.log_probs.old_FL.detach(), views_BL);
    const auto reference_BL = weighted_log_prob(in, in.log_probs.reference_FL, views_BL);
    const double clamp = clip_.log_ratio_clamp();
    Loss loss;

    // -min(r A, clip(r, 1 - eps, 1 + eps) A) + beta KL, of the weighted log-probabilities
    const auto log_ratio_BL = log_ratio(current_BL, old_BL, scored_BL, clamp);
    const auto advantage = in.advantage_BL.defined() ? in.advantage_BL : in.advantage_B.unsqueeze(1);
    const auto policy_BL = clip_.loss(log_ratio_BL, advantage, scored_BL, loss);
    const auto token_BL = kl_.added_to(policy_BL, reference_BL, current_BL, scored_BL, clamp, loss);
    loss.add_mean("weighted_logprob", current_BL, scored_BL);

    // Sum over valid tokens / their number
    loss.value = (sum_where(token_BL, scored_BL) * norm_.weight_B(in)).sum();
    return loss;
  }

 private:
  /// A token's weighted log-probability: the mean of weight_f lp_f,i over the views that score it; 0 where none does.
  /// With one pair and the full mask, 1/2 [lp0 + lp1 / t] in the first mask of the pair, 1/2 [lp0 + lp2 / (1 - t)]
  /// elsewhere.
  static at::Tensor weighted_log_prob(const LossInput& in, const at::Tensor& log_prob_FL, const at::Tensor& views_BL) {
    if (!log_prob_FL.defined()) return {};
    auto kept_FL = at::where(in.plan.target_FL, log_prob_FL, at::zeros_like(log_prob_FL));
    if (in.plan.weight_F.defined()) kept_FL = kept_FL * in.plan.weight_F.to(log_prob_FL.scalar_type()).unsqueeze(1);
    return sum_over_views(in, kept_FL) / views_BL.clamp_min(1);
  }

  /// With complementary pairs every token of a response is scored equally often. Once a run: the host waits for the
  /// device.
  void warn_of_bias(const at::Tensor& views_BL, const at::Tensor& scored_BL) const {
    const auto most_B1 = views_BL.amax(1, /*keepdim=*/true);
    if (!((views_BL != most_B1) & scored_BL).any().item<bool>()) return;
    host_.warn_once(
        "the masking strategy scores some tokens of a response in more views than others, so that their weighted "
        "log-probabilities are biased; coupled_grpo and espo draw complementary pairs");
  }

  RatioClip clip_;
  KlTerm kl_;
  LossNorm norm_;
  Host& host_;
  mutable std::once_flag first_call_;
};

}  // namespace

DRIFT_PLUGIN("coupled_grpo", "1.0.0", "Apache-2.0") {
  registry.add<PairMasking>("coupled_grpo", "The full mask, and pairs of complementary random masks with weights.");
  registry.add<PairLoss>("coupled_grpo", "Clipped ratio of each token's weighted mean over its views, plus KL.");
  registry.add_algorithm({
      .name = "coupled_grpo",
      .doc = "Tokens scored from complementary random masks and the full mask, weighted; clipped ratio of the mean.",
      .paper = "DiffuCoder: Understanding and Improving Masked Diffusion Models for Code Generation",
      .masking = "coupled_grpo",
      .loss = "coupled_grpo",
      .presets = plugin_presets("code"),
      .plugin = {},
  });
}
