// ESPO (docs/spec/espo.md): the action is the entire response, padding included; its likelihood is an ELBO from
// complementary masks. The settings of the release are the files in presets/.

#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>

namespace {

using namespace drift;

/// l of a response's L positions are masked, l spread evenly over {0, …, L} in a micro-batch, and in a second view the
/// other L - l (4.2).
class StratifiedMasking final : public MaskingStrategy {
 public:
  explicit StratifiedMasking(Parameters& parameters)
      : num_mc_(parameters("num_mc", 1, "Monte Carlo samples of the ELBO, M", between(1, 1024))),
        coupled_(parameters("coupled", true, "a second view for each mask, with the complement masked")),
        micro_batch_(parameters(
            "micro_batch", 0, "responses over which the sizes of the masks are spread evenly, 0 = all", at_least(0))) {}

  PlanRefresh refresh() const override { return PlanRefresh::kEachInnerIteration; }

  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Responses responses(input);
    const std::int64_t length = responses.length();
    const std::int64_t micro_batch = micro_batch_ > 0 ? micro_batch_ : std::max<std::int64_t>(responses.size(), 1);
    const std::int64_t views = coupled_ ? 2 : 1;  // per Monte Carlo sample
    const RandomStream size_random = input.random.child("mask size");
    PlanBuilder builder(length, responses.prompt_length());

    for (std::int64_t b = 0; b < responses.size(); ++b) {
      const std::int64_t n = b % micro_batch, first = b - n;
      const std::int64_t together = std::min(micro_batch, responses.size() - first);
      for (std::int64_t m = 0; m < num_mc_; ++m) {
        const std::int64_t draw = input.inner_iteration * num_mc_ + m;
        const std::int64_t c = size_random.below(length + 1, {input.step, responses[first].number, 0, draw});
        const std::int64_t masked = mask_size(c, n, together, length);
        const auto order = random_order(input, responses[b].number, length, draw);

        // The first `masked` of the order are one view's, the others the complement's. A view without a mask adds
        // nothing.
        for (std::int64_t view = 0; view < views; ++view) {
          const std::int64_t begin = view == 0 ? 0 : masked, end = view == 0 ? masked : length;
          if (begin == end) continue;
          builder.begin_view(b, views * m + view);
          for (std::int64_t k = begin; k < end; ++k) {
            builder.mask(order[static_cast<std::size_t>(k)]);
            builder.score(order[static_cast<std::size_t>(k)]);
          }
        }
      }
    }
    plan = builder.finish(views * num_mc_);
  }

 private:
  /// round_half_even(c + n (L + 1) / b) mod (L + 1): the size of mask n of b. std::nearbyint rounds halves to even.
  static std::int64_t mask_size(std::int64_t c, std::int64_t n, std::int64_t b, std::int64_t length) {
    const double size = static_cast<double>(c) + static_cast<double>(n * (length + 1)) / static_cast<double>(b);
    return static_cast<std::int64_t>(std::nearbyint(size)) % (length + 1);
  }

  std::int64_t num_mc_;
  bool coupled_;
  std::int64_t micro_batch_;
};

enum class Length { kGenerated, kValid };
constexpr Choices<Length, 2> kLengths{{{"gen_len", Length::kGenerated}, {"valid", Length::kValid}}};

/// The clipped ratio and a KL per response, from estimates of the ELBO (4.3 to 4.5).
class SequenceLoss final : public LossEstimator {
 public:
  explicit SequenceLoss(Parameters& parameters)
      : valid_only_(parameters("length", kLengths, Length::kGenerated,
                               "what the ELBO adds up and is divided by: all positions, or valid tokens only") ==
                    Length::kValid),
        clip_(parameters, 0.2, 0.2),
        kl_(parameters, 0.01, KlEstimator::kK2) {}

  /// The ratio is not linear in the ELBO, which adds up a response's views.
  Coupling coupling() const override { return Coupling::kResponse; }
  void needs(LossNeeds& needs) const override { needs.reference = kl_.needed(); }

  Loss evaluate(const LossInput& in) const override {
    const auto type = in.log_probs.current_FL.scalar_type();
    const auto counted = counted_FL(in);
    const auto current_B = elbo(in, in.log_probs.current_FL, counted);
    const auto old_B = elbo(in, in.log_probs.old_FL.detach(), counted);
    const auto valid_B = in.valid_BL.sum(1).to(type);
    const auto length_B =
        valid_only_ ? valid_B.clamp_min(1) : at::full_like(valid_B, static_cast<double>(in.valid_BL.size(1)));
    const auto here_B = sum_over_views(in, at::ones_like(in.plan.response_F)) > 0;  // responses with views in this call
    Loss loss;

    // -min(rho A, clip(rho, 1 - eps, 1 + eps) A), rho = exp((ELBO - ELBO_old) / length)
    const auto log_ratio_B = log_ratio(current_B / length_B, old_B / length_B, here_B, clip_.log_ratio_clamp());
    auto response_loss_B = clip_.loss(log_ratio_B, in.advantage_B, here_B, loss);
    if (in.advantage_BL.defined()) response_loss_B = token_loss_B(in, log_ratio_B, counted, length_B);
    loss.add_mean("elbo", current_B / length_B, here_B);

    // + beta KL / length
    if (in.log_probs.reference_FL.defined()) {
      const auto reference_B = elbo(in, in.log_probs.reference_FL.detach(), counted);
      const auto kl_B = divergence_B(current_B, reference_B) / length_B;
      if (kl_.needed()) response_loss_B = response_loss_B + kl_.beta() * kl_B;
      loss.add_mean("kl", kl_B, here_B);
    }

    // Mean over responses
    loss.value = at::where(here_B, response_loss_B, at::zeros_like(response_loss_B)).sum() /
                 static_cast<double>(in.totals.responses);
    return loss;
  }

 private:
  /// The policy term where tokens have advantages of their own. Each token has its response's ratio, through which
  /// only its own share of the ELBO is differentiated (as GSPO-token does); -min(rho A_i, clip(rho) A_i) is added up
  /// over the tokens and divided by the length. Equal advantages give the gradient of the response's term.
  at::Tensor token_loss_B(const LossInput& in, const at::Tensor& log_ratio_B, const at::Tensor& counted_FL,
                          const at::Tensor& length_B) const {
    const auto share_BL = elbo_BL(in, in.log_probs.current_FL, counted_FL);
    const auto clamped_B = log_ratio_B.detach().abs() >= clip_.log_ratio_clamp();
    const auto own_BL = at::where(clamped_B.unsqueeze(1), at::zeros_like(share_BL), share_BL - share_BL.detach());
    const auto counts_BL = valid_only_ ? in.valid_BL : at::ones_like(in.valid_BL);
    const auto token_BL = clip_.loss(log_ratio_B.detach().unsqueeze(1) + own_BL, in.advantage_BL);
    return at::where(counts_BL, token_BL, at::zeros_like(token_BL)).sum(1) / length_B;
  }

  /// What each position adds to the ELBO, [B, L].
  static at::Tensor elbo_BL(const LossInput& in, const at::Tensor& log_prob_FL, const at::Tensor& counted_FL) {
    const double length = static_cast<double>(log_prob_FL.size(1));
    const auto masked_F = in.plan.masked_FL.sum(1).to(log_prob_FL.scalar_type()).clamp_min(1);  // l_f
    const auto scale_F1 = (masked_F.reciprocal() * ((length + 1) / static_cast<double>(in.totals.terms))).unsqueeze(1);
    return sum_over_views(in, at::where(counted_FL, log_prob_FL, at::zeros_like(log_prob_FL)) * scale_F1);
  }

  /// ELBO_b = 1/K sum_f (L + 1) / l_f sum_{i in M_f} lp_f,i, l_f = |M_f|, [B]. With K = 2 and complementary masks it is
  /// 1/2 [(L + 1) / l sum lp1 + (L + 1) / (L - l) sum lp2]; with K = 2M the mean of that over M pairs. The masks' sizes
  /// are all the weight there is: those of the plan belong to other estimators.
  static at::Tensor elbo(const LossInput& in, const at::Tensor& log_prob_FL, const at::Tensor& counted_FL) {
    const double length = static_cast<double>(log_prob_FL.size(1));
    const auto masked_F = in.plan.masked_FL.sum(1).to(log_prob_FL.scalar_type()).clamp_min(1);  // l_f
    const auto scale = (length + 1) / static_cast<double>(in.totals.terms);
    return sum_over_views(in, sum_where(log_prob_FL, counted_FL) / masked_F * scale);
  }

  /// Which scored positions the ELBO adds up: all L as the original does, or (E-3 in docs/spec/espo.md 4.7) valid
  /// tokens only.
  at::Tensor counted_FL(const LossInput& in) const {
    if (!valid_only_) return in.plan.target_FL;
    return in.plan.target_FL & in.valid_BL.index_select(0, in.plan.response_F);
  }

  /// KL per response, from the ELBOs.
  at::Tensor divergence_B(const at::Tensor& current_B, const at::Tensor& reference_B) const {
    auto d_B = reference_B - current_B;
    // Only k3 has an exponential that could overflow.
    if (kl_.estimator() == KlEstimator::kK3) d_B = d_B.clamp(-clip_.log_ratio_clamp(), clip_.log_ratio_clamp());
    const auto kl_B = kl_.estimate(d_B);
    if (kl_.estimator() != KlEstimator::kK1) return kl_B;
    // k1's own gradient is 0 on average; this term is 0 and adds the KL's gradient: (ELBO - sg ELBO) sg(ELBO -
    // ELBO_ref).
    return kl_B + (current_B - current_B.detach()) * (current_B - reference_B).detach();
  }

  bool valid_only_;
  RatioClip clip_;
  KlTerm kl_;
};

}  // namespace

DRIFT_PLUGIN("espo", "1.0.0", "Apache-2.0") {
  registry.add<StratifiedMasking>("espo", "Random masks of evenly spread sizes, each with its complement.");
  registry.add<SequenceLoss>("espo", "Clipped ratio of the responses' ELBO per position, plus KL of the ELBOs.");
  registry.add_algorithm({
      .name = "espo",
      .doc = "The entire response as one action: sequence-level ratio of ELBO estimates from complementary masks.",
      .paper = "Principled RL for Diffusion LLMs Emerges from a Sequence-Level Perspective",
      .masking = "espo",
      .loss = "espo",
      .presets = plugin_presets("train"),
      .plugin = {},
  });
}
