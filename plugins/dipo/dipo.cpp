// DiPO (docs/algorithms/dipo.md): the trajectory of every block at once, one view a round; the clipped ratio of each
// token. The settings of the release are the files in presets/.

#include <drift/error.h>
#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace {

using namespace drift;

enum class Weights { kOne, kTransition };
constexpr Choices<Weights, 2> kWeights{{{"one", Weights::kOne}, {"transition", Weights::kTransition}}};
constexpr Choices<BlockOrigin, 2> kOrigins{{{"text", BlockOrigin::kText}, {"response", BlockOrigin::kResponse}}};

/// Round r of a response: in every block that has steps left, all positions from the smallest on are masked, and the
/// tokens of the smallest are scored. A model without blocks has one, the response.
class RoundMasking final : public MaskingStrategy {
 public:
  explicit RoundMasking(Parameters& parameters)
      : shrink_(parameters("shrink", 1,
                           "1: a round predicts one step of each block; else all steps of a block together, in the "
                           "only round",
                           at_least(1))),
        weights_(parameters("token_weights", kWeights, Weights::kOne,
                            "of each scored token; transition: every step of every block has equal weight, 1 in all")),
        origin_(parameters("blocks_from", kOrigins, BlockOrigin::kText, "where a view's blocks begin to count")) {}

  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Responses responses(input);
    const std::int64_t length = responses.length();
    PlanBuilder builder(length, responses.prompt_length());
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      add_rounds(responses, b, input.block_size > 0 ? responses.blocks(b, origin_) : at_once(length), builder);
    }
    builder.count_blocks_from(origin_);
    // A response has as many rows as its longest block could have steps, some of them empty.
    plan = builder.finish(shrink_ > 1 ? 1 : input.block_size > 0 ? input.block_size : length);
  }

 private:
  static std::vector<std::int64_t> at_once(std::int64_t length) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(length), 0);
  }

  struct Step {
    std::int32_t number;
    std::vector<std::int64_t> tokens;
  };

  /// The steps of each block, ascending, with shrink one of all tokens.
  std::map<std::int64_t, std::vector<Step>> steps_of_blocks(const Response& response,
                                                            const std::vector<std::int64_t>& block) const {
    std::map<std::pair<std::int64_t, std::int32_t>, std::vector<std::int64_t>> tokens;
    for (std::int64_t i = 0; i < std::ssize(block); ++i) {
      if (!response.valid[i] || response.step[i] < 0) continue;
      tokens[{block[static_cast<std::size_t>(i)], shrink_ > 1 ? 0 : response.step[i]}].push_back(i);
    }
    std::map<std::int64_t, std::vector<Step>> steps;
    for (auto& [key, own] : tokens) steps[key.first].push_back({key.second, std::move(own)});
    return steps;
  }

  void add_rounds(const Responses& responses, std::int64_t b, const std::vector<std::int64_t>& block,
                  PlanBuilder& builder) const {
    const Response response = responses[b];
    const auto blocks = steps_of_blocks(response, block);
    std::size_t rounds = 0, transitions = 0;
    for (const auto& [number, steps] : blocks) {
      rounds = std::max(rounds, steps.size());
      transitions += steps.size();
    }
    const auto step_of = [&](std::int64_t i) { return response.step[i]; };
    for (std::size_t round = 0; round < rounds; ++round) {
      builder.begin_view(b, static_cast<std::int64_t>(round));
      for (std::int64_t i = 0; i < std::ssize(block); ++i) {
        const auto own = blocks.find(block[static_cast<std::size_t>(i)]);
        if (own == blocks.end() || round >= own->second.size()) continue;
        if (shrink_ > 1 || response.step[i] < 0 || response.step[i] >= own->second[round].number) builder.mask(i);
      }
      for (const auto& [number, steps] : blocks) {
        if (round >= steps.size()) continue;
        const std::vector<std::int64_t>& tokens = steps[round].tokens;
        const std::int32_t first = step_of(std::ranges::min(tokens, {}, step_of));
        for (const std::int64_t i : tokens) {
          builder.score(i, step_of(i) == first);
          if (weights_ == Weights::kTransition)
            builder.weigh_token(i, 1 / static_cast<double>(tokens.size() * transitions));
        }
      }
    }
  }

  std::int64_t shrink_;
  Weights weights_;
  BlockOrigin origin_;
};

enum class Mode { kGrpo, kGrpoRows, kDapo };
constexpr Choices<Mode, 3> kModes{{{"grpo", Mode::kGrpo}, {"grpo_rows", Mode::kGrpoRows}, {"dapo", Mode::kDapo}}};

/// The clipped ratio and a KL, token by token, and three ways to make one number of them.
class RoundLoss final : public LossEstimator {
 public:
  explicit RoundLoss(Parameters& parameters)
      : mode_(parameters("mode", kModes, Mode::kGrpo,
                         "grpo: mean over all tokens; grpo_rows: mean over rows of the mean over a row's tokens; dapo: "
                         "sum divided by a number of each group, mean over groups")),
        rows_in_mean_(parameters("rows_in_mean", 0,
                                 "grpo_rows: rows, empty ones among them; 0: as many of each response as the plan has "
                                 "terms",
                                 at_least(0))),
        group_tokens_(parameters("group_tokens", std::vector<double>{},
                                 "dapo: divisor of each group; empty: the sum over its responses of length x views / "
                                 "terms of the plan",
                                 above(0))),
        clip_(parameters, 0.2, 0.28),
        kl_(parameters, 0.0, KlEstimator::kK3) {}

  /// A group's divisor counts the views of its responses.
  Coupling coupling() const override {
    return mode_ == Mode::kDapo && group_tokens_.empty() ? Coupling::kBatch : Coupling::kView;
  }
  void needs(LossNeeds& needs) const override {
    needs.reference = kl_.needed();
    needs.token_weights = true;
  }

  Loss evaluate(const LossInput& in) const override {
    const auto& target_FL = in.plan.target_FL;
    const auto& current_FL = in.log_probs.current_FL;
    const double clamp = clip_.log_ratio_clamp();
    Loss loss;

    // -min(r A, clip(r, 1 - eps_low, 1 + eps_high) A) + beta KL
    const auto log_ratio_FL = log_ratio(current_FL, in.log_probs.old_FL.detach(), target_FL, clamp);
    const auto policy_FL = clip_.loss(log_ratio_FL, in.token_advantage(), target_FL, loss);
    const auto token_FL = kl_.added_to(policy_FL, in.log_probs.reference_FL, current_FL, target_FL, clamp, loss);

    auto view_F = sum_where(by_token_weight(in, token_FL), target_FL) / divisor_F(in);
    if (in.plan.weight_F.defined()) view_F = view_F * in.plan.weight_F;
    loss.value = view_F.sum();
    return loss;
  }

 private:
  /// What the sum over a view's tokens is divided by.
  ///   grpo:       T                      targets of all views
  ///   grpo_rows:  T_f R                  targets of this view, rows
  ///   dapo:       D_g G                  divisor of its group, groups
  at::Tensor divisor_F(const LossInput& in) const {
    const auto targets_F = in.plan.target_FL.sum(1).clamp_min(1).to(in.log_probs.current_FL.scalar_type());
    if (mode_ == Mode::kGrpo)
      return at::full_like(targets_F, static_cast<double>(std::max<std::int64_t>(in.totals.targets, 1)));
    if (mode_ == Mode::kGrpoRows) {
      const auto rows = rows_in_mean_ > 0 ? rows_in_mean_ : in.totals.responses * in.totals.terms;
      return targets_F * static_cast<double>(std::max<std::int64_t>(rows, 1));
    }
    const std::int64_t responses = in.valid_BL.size(0), size = std::max<std::int64_t>(in.totals.group_size, 1);
    const std::int64_t groups = (responses + size - 1) / size;
    const auto group_B = at::arange(responses, in.plan.response_F.options()).floor_divide(size);
    const auto tokens_G = group_tokens_.empty() ? counted_G(in, group_B, groups) : given_G(groups, targets_F.options());
    return tokens_G.index_select(0, group_B.index_select(0, in.plan.response_F)) * static_cast<double>(groups);
  }

  /// Each row of a response has all its tokens as labels, empty rows none.
  static at::Tensor counted_G(const LossInput& in, const at::Tensor& group_B, std::int64_t groups) {
    const auto type = in.log_probs.current_FL.scalar_type();
    const auto views_B = sum_over_views(in, at::ones_like(in.plan.response_F));
    const auto labels_B = (in.valid_BL.sum(1) * views_B).to(type);
    return (at::zeros({groups}, labels_B.options()).index_add(0, group_B, labels_B) /
            static_cast<double>(std::max<std::int64_t>(in.totals.terms, 1)))
        .clamp_min(1);
  }

  at::Tensor given_G(std::int64_t groups, const at::TensorOptions& options) const {
    if (static_cast<std::int64_t>(group_tokens_.size()) != groups)
      throw Error("dipo: group_tokens has " + std::to_string(group_tokens_.size()) + " numbers, and there are " +
                      std::to_string(groups) + " groups",
                  "leave it empty: the loss counts them itself");
    return at::tensor(group_tokens_, options);
  }

  Mode mode_;
  std::int64_t rows_in_mean_;
  std::vector<double> group_tokens_;
  RatioClip clip_;
  KlTerm kl_;
};

}  // namespace

DRIFT_PLUGIN("dipo", "1.0.0", "Apache-2.0") {
  registry.add<RoundMasking>("dipo", "The trajectories of all blocks at once, one view for each step of the longest.");
  registry.add<RoundLoss>("dipo", "Clipped ratio and KL of every token, averaged over tokens, rows or groups.");
  registry.add_algorithm({
      .name = "dipo",
      .doc = "The trajectory of a block model: one view scores a step of every block; clipped ratio of each token.",
      .paper = "DiRL: An Efficient Post-Training Framework for Diffusion Language Models",
      .masking = "dipo",
      .loss = "dipo",
      .presets = plugin_presets("rl"),
      .plugin = {},
  });
}
