// VRPO (docs/algorithms/vrpo.md): DPO with ELBOs in the place of log-likelihoods, from as many timesteps as the budget
// allows and one mask for each. The settings are the files in presets/.

#include <drift/error.h>
#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace drift;

enum class Spacing { kIndependent, kEven };
constexpr Choices<Spacing, 2> kSpacings{{{"independent", Spacing::kIndependent}, {"even", Spacing::kEven}}};

/// Timesteps of the ELBO and masks for each: l uniform on {1, …, n}, l of the n tokens through the end masked. A view
/// weighs n / l, so that the mean over views of weight times sum is the ELBO on average.
class ElboMasking final : public MaskingStrategy {
 public:
  explicit ElboMasking(Parameters& parameters)
      : timesteps_(parameters("num_t", 8, "n_t: drawn sizes of the mask, each for a timestep", between(1, 4096))),
        masks_(parameters("num_masks", 1, "masks per timestep; of a budget num_t x num_masks, 1 has the least variance",
                          between(1, 1024))),
        spacing_(parameters("spacing", kSpacings, Spacing::kIndependent,
                            "sizes of a response's timesteps: each drawn by itself, or evenly spaced from one draw")),
        end_id_(parameters("end_id", -1,
                           "token that ends the valid part of a response, itself valid; -1 = the model's end token",
                           at_least(-1))) {}

  PlanRefresh refresh() const override { return PlanRefresh::kEachInnerIteration; }

  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Responses responses(input);
    const std::int64_t length = responses.length(), views = timesteps_ * masks_;
    const RandomStream sizes = input.random.child("mask size");
    PlanBuilder builder(length, responses.prompt_length());
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      const std::int64_t number = responses[b].number;
      const std::int64_t valid = responses.positions_through_end(b, end_id_ >= 0 ? end_id_ : input.end_id);
      for (std::int64_t view = 0; view < views; ++view) {
        const std::int64_t timestep = input.inner_iteration * timesteps_ + view / masks_;
        const std::int64_t masked = size(timestep, valid, [&](std::int64_t draw) {
          return sizes.below(valid, {input.step, number, 0, draw});
        });
        const auto order = random_order(input, number, valid, input.inner_iteration * views + view);
        builder.begin_view(b, view);
        for (std::int64_t k = 0; k < masked; ++k) {
          builder.mask(order[static_cast<std::size_t>(k)]);
          builder.score(order[static_cast<std::size_t>(k)]);
        }
        for (std::int64_t i = valid; i < length; ++i) builder.mask(i);
        builder.weigh(static_cast<double>(valid) / static_cast<double>(masked));
      }
    }
    plan = builder.finish(views);
  }

 private:
  /// l of a timestep. Evenly spaced: the n sizes in a circle, from a drawn one in steps of n / n_t. Each size is as
  /// likely as before; those of one plan cover the circle.
  template <class Draw>
  std::int64_t size(std::int64_t timestep, std::int64_t valid, const Draw& draw) const {
    if (spacing_ == Spacing::kIndependent) return 1 + draw(timestep);
    const std::int64_t place = timestep % timesteps_;
    return 1 + (draw(timestep - place) + (2 * place * valid + timesteps_) / (2 * timesteps_)) % valid;
  }

  std::int64_t timesteps_, masks_;
  Spacing spacing_;
  std::int64_t end_id_;
};

enum class Pairs { kBestWorst, kAll };
constexpr Choices<Pairs, 2> kPairs{{{"best_worst", Pairs::kBestWorst}, {"all", Pairs::kAll}}};

/// -ln sigmoid(beta (margin of the preferred response - margin of the other)), margin = ELBO - ELBO of the reference.
class PreferenceLoss final : public LossEstimator {
 public:
  explicit PreferenceLoss(Parameters& parameters)
      : beta_(parameters("beta", 0.2, "how much a margin over the reference policy counts", above(0))),
        pairs_(parameters("pairs", kPairs, Pairs::kBestWorst,
                          "of each group: the best response against the worst, or all pairs of different rewards")) {}

  /// A pair is of two responses.
  Coupling coupling() const override { return Coupling::kBatch; }
  void needs(LossNeeds& needs) const override {
    needs.old = false;
    needs.reference = true;
    needs.token_weights = true;
  }

  Loss evaluate(const LossInput& in) const override {
    const auto [preferred_Q, other_Q] = pairs_of(in);
    const auto margin_B =
        elbo_of_views(in, current_by_token_advantage(in)) - elbo_of_views(in, in.log_probs.reference_FL.detach());
    const auto argument_Q = beta_ * (margin_B.index_select(0, preferred_Q) - margin_B.index_select(0, other_Q));
    const auto every_Q = at::ones_like(argument_Q, at::kBool);
    Loss loss;
    loss.value =
        -at::log_sigmoid(argument_Q).sum() / static_cast<double>(std::max<std::int64_t>(argument_Q.size(0), 1));
    loss.add_mean("margin", argument_Q, every_Q);
    loss.add_mean("preferred", (argument_Q > 0).to(argument_Q.scalar_type()), every_Q);
    return loss;
  }

 private:
  /// Numbers of the preferred responses and of the others. Within a group, advantages have the order of the rewards.
  std::pair<at::Tensor, at::Tensor> pairs_of(const LossInput& in) const {
    const auto advantage_B = in.advantage_B.to(at::kCPU, at::kDouble).contiguous();
    const double* advantage = advantage_B.data_ptr<double>();
    const std::int64_t responses = advantage_B.size(0), size = std::max<std::int64_t>(in.totals.group_size, 1);
    if (responses % size != 0) {
      throw Error("vrpo: an optimizer step has " + std::to_string(responses) + " responses, groups have " +
                      std::to_string(size),
                  "pairs are made within a group: leave train.views_per_update at 0, or make it a multiple of the "
                  "views of a group");
    }
    std::vector<std::int64_t> preferred, other;
    const auto add = [&](std::int64_t better, std::int64_t worse) {
      if (advantage[better] <= advantage[worse]) return;
      preferred.push_back(better);
      other.push_back(worse);
    };
    for (std::int64_t first = 0; first < responses; first += size) {
      if (pairs_ == Pairs::kBestWorst) {
        const double *begin = advantage + first, *end = begin + size;
        add(std::max_element(begin, end) - advantage, std::min_element(begin, end) - advantage);
        continue;
      }
      for (std::int64_t a = first; a < first + size; ++a) {
        for (std::int64_t b = first; b < first + size; ++b) add(a, b);
      }
    }
    const auto indices = [&](const std::vector<std::int64_t>& values) {
      const auto index = at::empty({static_cast<std::int64_t>(values.size())}, at::TensorOptions(at::kLong));
      std::copy(values.begin(), values.end(), index.data_ptr<std::int64_t>());
      return index.to(in.log_probs.current_FL.device());
    };
    return {indices(preferred), indices(other)};
  }

  double beta_;
  Pairs pairs_;
};

}  // namespace

DRIFT_PLUGIN("vrpo", "1.0.0", "Apache-2.0") {
  registry.add<ElboMasking>("vrpo", "Random masks of random sizes, each the size of a timestep of the ELBO.");
  registry.add<PreferenceLoss>("vrpo", "DPO's loss of ELBOs over pairs of a group's responses.");
  registry.add_algorithm({
      .name = "vrpo",
      .doc = "DPO with ELBOs from many timesteps; the pairs are the responses of a group, ordered by their rewards.",
      .paper = "LLaDA 1.5: Variance-Reduced Preference Optimization for Large Language Diffusion Models",
      .masking = "vrpo",
      .loss = "vrpo",
      .presets = plugin_presets("paper"),
      .plugin = {},
  });
}
