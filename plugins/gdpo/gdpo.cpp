// GDPO (docs/algorithms/gdpo.md): the ELBO as an integral over the share of masked tokens, by quadrature at a few fixed
// shares and with random masks, hence semi-deterministic. The settings are the files in presets/.

#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

using namespace drift;

struct Node {
  double share, weight;
};

/// Gauss-Legendre quadrature of `points` points on [0, 1]: the zeros of the Legendre polynomial by Newton's method.
std::vector<Node> quadrature(std::int64_t points) {
  constexpr double kPi = 3.14159265358979323846;
  const auto n = static_cast<double>(points);
  std::vector<Node> nodes;
  for (std::int64_t i = points; i > 0; --i) {  // ascending
    double x = std::cos(kPi * (static_cast<double>(i) - 0.25) / (n + 0.5)), slope = 1;
    for (int step = 0; step < 100; ++step) {
      double before = 0, at = 1;
      for (std::int64_t k = 1; k <= points; ++k) {
        const auto degree = static_cast<double>(k);
        const double next = ((2 * degree - 1) * x * at - (degree - 1) * before) / degree;
        before = at;
        at = next;
      }
      slope = n * (x * at - before) / (x * x - 1);
      const double change = at / slope;
      x -= change;
      if (std::abs(change) < 1e-15) break;
    }
    nodes.push_back({(1 + x) / 2, 1 / ((1 - x * x) * slope * slope)});
  }
  return nodes;
}

/// At each node, masks of round(t n) of the response's n tokens through the end. A view weighs N w n / l, so that the
/// mean over views of weight times sum is the ELBO.
class QuadratureMasking final : public MaskingStrategy {
 public:
  explicit QuadratureMasking(Parameters& parameters)
      : nodes_(
            quadrature(parameters("points", 3, "N: quadrature points of the share of masked tokens", between(1, 64)))),
        masks_(parameters("masks", 1, "K: random masks per point", between(1, 1024))),
        end_id_(parameters("end_id", -1,
                           "token that ends the valid part of a response, itself valid; -1 = the model's end token",
                           at_least(-1))) {}

  PlanRefresh refresh() const override { return PlanRefresh::kEachInnerIteration; }

  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Responses responses(input);
    const std::int64_t length = responses.length(), views = static_cast<std::int64_t>(nodes_.size()) * masks_;
    PlanBuilder builder(length, responses.prompt_length());
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      const std::int64_t valid = responses.positions_through_end(b, end_id_ >= 0 ? end_id_ : input.end_id);
      for (std::int64_t view = 0; view < views; ++view) {
        const Node& node = nodes_[static_cast<std::size_t>(view / masks_)];
        const auto masked = std::clamp<std::int64_t>(std::llround(node.share * static_cast<double>(valid)), 1, valid);
        const auto order = random_order(input, responses[b].number, valid, input.inner_iteration * views + view);
        builder.begin_view(b, view);
        for (std::int64_t k = 0; k < masked; ++k) {
          builder.mask(order[static_cast<std::size_t>(k)]);
          builder.score(order[static_cast<std::size_t>(k)]);
        }
        for (std::int64_t i = valid; i < length; ++i) builder.mask(i);
        builder.weigh(static_cast<double>(nodes_.size()) * node.weight * static_cast<double>(valid) /
                      static_cast<double>(masked));
      }
    }
    plan = builder.finish(views);
  }

 private:
  std::vector<Node> nodes_;
  std::int64_t masks_;
  std::int64_t end_id_;
};

constexpr Choices<bool, 2> kRatios{{{"sequence", false}, {"token", true}}};

/// The clipped ratio of the responses' ELBOs, and a KL of them.
class ElboRatio final : public LossEstimator {
 public:
  explicit ElboRatio(Parameters& parameters)
      : per_token_(parameters("ratio", kRatios, false,
                              "exp of the difference of the ELBOs, or of the difference divided by the length")),
        clip_(parameters, 0.2, 0.2),
        kl_(parameters, 0.01, KlEstimator::kK2) {}

  /// The ratio is not linear in the ELBO, which adds up a response's views.
  Coupling coupling() const override { return Coupling::kResponse; }
  void needs(LossNeeds& needs) const override {
    needs.reference = kl_.needed();
    needs.token_weights = true;
  }

  Loss evaluate(const LossInput& in) const override {
    const auto type = in.log_probs.current_FL.scalar_type();
    const auto current_B = elbo_of_views(in, current_by_token_advantage(in));
    const auto old_B = elbo_of_views(in, in.log_probs.old_FL.detach());
    const auto length_B = elbo_of_views(in, at::ones_like(in.log_probs.old_FL)).clamp_min(1).to(type);  // |y|
    const auto here_B = sum_over_views(in, at::ones_like(in.plan.response_F)) > 0;
    const auto divisor_B = per_token_ ? length_B : at::ones_like(length_B);
    Loss loss;

    const auto log_ratio_B = log_ratio(current_B / divisor_B, old_B / divisor_B, here_B, clip_.log_ratio_clamp());
    auto response_B = clip_.loss(log_ratio_B, in.advantage_B.to(type), here_B, loss);
    if (!per_token_) response_B = response_B / length_B;
    loss.add_mean("elbo", current_B / length_B, here_B);

    if (in.log_probs.reference_FL.defined()) {
      const auto reference_B = elbo_of_views(in, in.log_probs.reference_FL.detach());
      const auto difference_B = log_ratio(reference_B, current_B, here_B, clip_.log_ratio_clamp());
      const auto kl_B = kl_.estimate(difference_B) / length_B;
      if (kl_.needed()) response_B = response_B + kl_.beta() * kl_B;
      loss.add_mean("kl", kl_B, here_B);
    }
    loss.value = at::where(here_B, response_B, at::zeros_like(response_B)).sum() /
                 static_cast<double>(std::max<std::int64_t>(in.totals.responses, 1));
    return loss;
  }

 private:
  bool per_token_;
  RatioClip clip_;
  KlTerm kl_;
};

}  // namespace

DRIFT_PLUGIN("gdpo", "1.0.0", "Apache-2.0") {
  registry.add<QuadratureMasking>("gdpo", "Random masks at the shares of a quadrature over [0, 1].");
  registry.add<ElboRatio>("gdpo", "Clipped ratio of the responses' ELBOs, and a KL of them.");
  registry.add_algorithm({
      .name = "gdpo",
      .doc = "Sequence-level ratio of ELBOs, whose integral over the masked share is taken by quadrature.",
      .paper = "Improving Reasoning for Diffusion Language Models via Group Diffusion Policy Optimization",
      .masking = "gdpo",
      .loss = "gdpo",
      .presets = plugin_presets("paper"),
      .plugin = {},
  });
}
