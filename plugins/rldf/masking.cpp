// RLDF's masking: states of the response's own denoising trajectory (docs/spec/rldf.md 2.2; paper, section "Sampling
// timesteps with probability-based weighting"). step_sampling.cpp draws the steps.

#include "rldf.h"
#include "step_sampling.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace drift::rldf {
namespace {

constexpr Choices<Steps, 3> kSteps{{{"sampled", Steps::kSampled}, {"first", Steps::kFirst}, {"last", Steps::kLast}}};
constexpr Choices<bool, 2> kFill{{{"fill", true}, {"truncate", false}}};
constexpr Choices<bool, 2> kPadsFollow{{{"trajectory", true}, {"zero", false}}};
constexpr Choices<bool, 2> kSoftmaxWeights{{{"none", false}, {"softmax", true}}};
constexpr Choices<bool, 2> kCommittedOnly{{{"x0", false}, {"xt-1", true}}};

/// The first or last of n steps, ascending, again and again until there are `count`.
std::vector<std::int64_t> end_steps(std::int64_t n, std::int64_t count, bool last) {
  const std::int64_t distinct = std::min(n, count);
  std::vector<std::int64_t> steps;
  for (std::int64_t f = 0; f < count; ++f) steps.push_back((last ? n - distinct : 0) + f % distinct);
  return steps;
}

}  // namespace

TrajectoryMasking::TrajectoryMasking(Parameters& parameters)
    : k_(parameters("k", 16, "denoising steps scored per response", between(1, 4096))),
      steps_(parameters("steps", kSteps, Steps::kSampled,
                        "which steps are scored: a draw by their surprisal, or for comparison the first or last k")),
      temperature_(parameters("sample_temperature", 1.0, "tau: 0 takes the least confident steps, inf draws uniformly",
                              or_infinite(at_least(0)))),
      fill_(parameters("short_trajectory", kFill, true,
                       "fewer than k steps: draw some again, or average over the existing ones")),
      skip_single_step_(
          parameters("skip_single_step", false, "as in the original, responses written in one step give no signal")),
      pads_follow_trajectory_(
          parameters("pad_steps", kPadsFollow, true,
                     "padding is masked until its own step, or (original) in the first state only")),
      softmax_weights_(
          parameters("step_weighting", kSoftmaxWeights, false,
                     "weight of the selected steps in the loss: equal, or by the softmax of their surprisal")),
      committed_targets_only_(
          parameters("target", kCommittedOnly, false,
                     "tokens that are scored: all masked ones, or those that this step committed")) {}

void TrajectoryMasking::plan(const MaskingInput& input, MaskPlan& plan) const {
  const Responses responses(input);
  PlanBuilder builder(responses.length(), responses.prompt_length());
  for (std::int64_t b = 0; b < responses.size(); ++b) {
    if (input.block_size == 0) {
      const auto draw = states(input.random, input.step, responses[b], 0, responses.length());
      for (std::size_t f = 0; f < draw.selected.size(); ++f) {
        builder.begin_view(b, static_cast<std::int64_t>(f));
        builder.weigh(draw.weight[f]);
        add_state(builder, responses[b], draw, f);
      }
    } else {
      add_block_states(builder, responses, b, input);
    }
  }
  plan = builder.finish(k_);
}

/// View f shows of each block the f-th of its own drawn steps: with block attention each is seen behind the clean
/// blocks before it, whatever the others show.
void TrajectoryMasking::add_block_states(PlanBuilder& builder, const Responses& responses, std::int64_t b,
                                         const MaskingInput& input) const {
  const auto block = responses.blocks(b, BlockOrigin::kText);
  std::vector<States> blocks;
  std::size_t views = 0;
  for (std::int64_t begin = 0, end = 0; begin < responses.length(); begin = end) {
    while (end < responses.length() && block[end] == block[begin]) ++end;
    const auto random = input.random.child("block " + std::to_string(block[begin]));
    blocks.push_back(states(random, input.step, responses[b], begin, end));
    views = std::max(views, blocks.back().selected.size());
  }
  for (std::size_t f = 0; f < views; ++f) {
    builder.begin_view(b, static_cast<std::int64_t>(f));
    for (const States& of_block : blocks) {
      if (f >= of_block.selected.size()) continue;
      add_state(builder, responses[b], of_block, f);
      for (std::int64_t i = of_block.begin; i < of_block.end; ++i) builder.weigh_token(i, of_block.weight[f]);
    }
  }
}

/// Which states of positions [begin, end) are scored.
TrajectoryMasking::States TrajectoryMasking::states(const RandomStream& random, std::int64_t step,
                                                    const Response& response, std::int64_t begin,
                                                    std::int64_t end) const {
  States states{begin, end, {}, {}, {}};
  const Response part{response.number, response.tokens + begin, response.valid + begin, response.step + begin,
                      response.commit_logprob + begin};
  CandidateSteps steps = candidate_steps(part, end - begin);
  const bool one_step = steps.raw_step.size() == 1;
  if (steps.raw_step.empty() || (one_step && skip_single_step_)) return states;
  states.selected = select(steps.surprisal, random, {step, response.number, 0, 0});
  states.weight = view_weights(steps.surprisal, states.selected);
  states.raw_step = std::move(steps.raw_step);
  return states;
}

/// S_b: k steps (dense numbers) in the order in which they were drawn, if they are drawn. Forward f of the estimator
/// takes the f-th.
std::vector<std::int64_t> TrajectoryMasking::select(const std::vector<double>& surprisal, const RandomStream& random,
                                                    const RandomPoint& point) const {
  const auto n = static_cast<std::int64_t>(surprisal.size());
  if (steps_ != Steps::kSampled) return end_steps(n, fill_ ? k_ : std::min(n, k_), steps_ == Steps::kLast);
  if (n < k_) return repeat_to(fill_ ? k_ : n, surprisal, temperature_, random, point);
  auto order = draw_order(surprisal, temperature_, random, point);
  order.resize(static_cast<std::size_t>(k_));
  return order;
}

/// Weights of one response's views, k in total: equal ones give the mean over its views. `softmax` weighs the selected
/// steps by w, as equation (rldf) is printed (D-11 in docs/spec/rldf.md 2.7).
std::vector<double> TrajectoryMasking::view_weights(const std::vector<double>& surprisal,
                                                    const std::vector<std::int64_t>& selected) const {
  std::vector<double> weights(selected.size(), 1.0);
  if (softmax_weights_) {
    const auto weight_of_step = step_weights(surprisal, temperature_);
    std::ranges::transform(selected, weights.begin(), [&](std::int64_t s) { return weight_of_step[s]; });
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight *= static_cast<double>(k_) / total;
  return weights;
}

/// The state before step s: what was committed at s or later, or never, is still a mask token.
void TrajectoryMasking::add_state(PlanBuilder& builder, const Response& response, const States& states,
                                  std::size_t f) const {
  const std::int32_t raw_step = states.raw_step[static_cast<std::size_t>(states.selected[f])];
  const bool first_state = states.selected[f] == 0;
  for (std::int64_t i = states.begin; i < states.end; ++i) {
    const bool valid = response.valid[i];
    bool masked = response.step[i] < 0 || response.step[i] >= raw_step;
    // The release gives padding the dense step 0, so that it is visible from s = 1 on (D-4 in docs/spec/rldf.md 2.7).
    if (!valid && !pads_follow_trajectory_) masked = first_state;
    if (!masked) continue;
    builder.mask(i);
    const bool committed = response.step[i] == raw_step;  // C_f: decoded from this very state
    if (valid && (committed || !committed_targets_only_)) builder.score(i, committed);
  }
}

}  // namespace drift::rldf
