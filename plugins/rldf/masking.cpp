// RLDF's masking: states of the response's own denoising trajectory (docs/spec/rldf.md 2.2; paper, section "Sampling
// timesteps with probability-based weighting" and Algorithm "Weighted Timestep Sampling").

#include "rldf.h"

#include <drift/plan_builder.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace drift::rldf {
namespace {

// From this temperature on, and below this spread of the surprisals, the original samples uniformly.
constexpr double kUniformTemperature = 1e4;
constexpr double kUniformDeviation = 1e-8;
constexpr double kSmallestProbability = 1e-10;

constexpr Choices<bool, 2> kFill{{{"fill", true}, {"truncate", false}}};
constexpr Choices<bool, 2> kPadsFollow{{{"trajectory", true}, {"zero", false}}};
constexpr Choices<bool, 2> kSoftmaxWeights{{{"none", false}, {"softmax", true}}};
constexpr Choices<bool, 2> kCommittedOnly{{{"x0", false}, {"xt-1", true}}};

/// A step at which at least one valid token was committed. Its place in the list is its dense number.
struct Candidate {
  std::int32_t raw_step;
  double surprisal;
};

/// u_s = -(1 / |I_s|) sum over I_s of ln max(p_i, 1e-10), I_s = the valid tokens committed at s; equation
/// (step_weight). Raw steps may have gaps: padding was committed there, or another block's tokens.
std::vector<Candidate> candidate_steps(const Response& response, std::int64_t length) {
  struct Sum {
    double surprisal = 0;
    std::int64_t tokens = 0;
  };
  std::map<std::int32_t, Sum> sums;
  for (std::int64_t i = 0; i < length; ++i) {
    if (!response.valid[i]) continue;
    Sum& sum = sums[response.step[i]];
    sum.surprisal -= std::max<double>(response.commit_logprob[i], std::log(kSmallestProbability));
    ++sum.tokens;
  }
  std::vector<Candidate> candidates;
  for (const auto& [step, sum] : sums) candidates.push_back({step, sum.surprisal / static_cast<double>(sum.tokens)});
  return candidates;
}

double sample_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n - 1));
}

}  // namespace

TrajectoryMasking::TrajectoryMasking(Parameters& parameters)
    : k_(parameters("k", 16, "denoising steps scored per response", between(1, 4096))),
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
  const std::int64_t length = responses.length();
  PlanBuilder builder(length, responses.prompt_length());

  for (std::int64_t b = 0; b < responses.size(); ++b) {
    const Response response = responses[b];
    const std::vector<Candidate> candidates = candidate_steps(response, length);
    if (candidates.empty() || (skip_single_step_ && candidates.size() == 1)) continue;

    std::vector<double> surprisal;
    for (const Candidate& candidate : candidates) surprisal.push_back(candidate.surprisal);
    const auto selected = select(surprisal, input, response.number);
    const auto weights = view_weights(surprisal, selected);

    for (std::size_t f = 0; f < selected.size(); ++f) {
      const std::int64_t s = selected[f];
      const std::int32_t raw_step = candidates[s].raw_step;
      builder.begin_view(b, static_cast<std::int64_t>(f));
      builder.weigh(weights[f]);
      for (std::int64_t i = 0; i < length; ++i) {
        const bool valid = response.valid[i];
        // The state before step s: what was committed at s or later, or never, is still a mask token. The original
        // gives padding the dense step 0, so that it is visible from s = 1 on (D-4 in docs/spec/rldf.md 2.7).
        const bool still_masked =
            valid || pads_follow_trajectory_ ? response.step[i] < 0 || response.step[i] >= raw_step : s == 0;
        if (!still_masked) continue;
        builder.mask(i);
        const bool committed = response.step[i] == raw_step;  // C_f: decoded from this very state
        if (valid && (committed || !committed_targets_only_)) builder.score(i, committed);
      }
    }
  }
  plan = builder.finish(k_);
}

/// S_b: k steps (dense numbers) in the order in which they were drawn. Forward f of the estimator takes the f-th.
std::vector<std::int64_t> TrajectoryMasking::select(const std::vector<double>& surprisal, const MaskingInput& input,
                                                    std::int64_t sample) const {
  const auto n = static_cast<std::int64_t>(surprisal.size());
  auto order = draw_order(surprisal, input, {input.step, sample, 0, 0});
  if (n >= k_) {
    order.resize(static_cast<std::size_t>(k_));
    return order;
  }

  // Fewer candidates than k: all of them, ascending; then what fills up the rest.
  std::vector<std::int64_t> selected(static_cast<std::size_t>(n));
  std::iota(selected.begin(), selected.end(), 0);
  if (!fill_) return selected;
  if (uniform(surprisal)) {
    selected.reserve(static_cast<std::size_t>(k_));
    for (std::int64_t f = n; f < k_ - k_ % n; ++f) selected.push_back(f % n);
    selected.insert(selected.end(), order.begin(), order.begin() + k_ % n);
  } else {
    for (std::int64_t f = n; f < k_; ++f) {  // with replacement: each draw is the first of a separate order
      selected.push_back(draw_order(surprisal, input, {input.step, sample, 0, 1 + f - n}).front());
    }
  }
  return selected;
}

/// The order in which sampling without replacement from softmax(u / tau) draws the candidates: an exponential race
/// (Gumbel top-k in other words). tau = 0: descending surprisal. Candidate s draws at `point` with position s.
std::vector<std::int64_t> TrajectoryMasking::draw_order(const std::vector<double>& surprisal, const MaskingInput& input,
                                                        RandomPoint point) const {
  const std::vector<double> logit = logits(surprisal);
  const bool greedy = temperature_ == 0 && !uniform(surprisal);
  std::vector<double> arrival(surprisal.size());
  for (std::size_t s = 0; s < surprisal.size(); ++s) {
    point.position = static_cast<std::int64_t>(s);
    arrival[s] = greedy ? -surprisal[s] : std::log(-std::log1p(-input.random.uniform(point))) - logit[s];
  }
  std::vector<std::int64_t> order(surprisal.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return arrival[a] < arrival[b]; });
  return order;
}

/// (u - max u) / tau, the logarithm of w up to a constant; equation (step_softmax).
std::vector<double> TrajectoryMasking::logits(const std::vector<double>& surprisal) const {
  std::vector<double> logit(surprisal.size(), 0.0);
  if (uniform(surprisal)) return logit;
  const double largest = *std::max_element(surprisal.begin(), surprisal.end());
  for (std::size_t s = 0; s < surprisal.size(); ++s) {
    if (surprisal[s] < largest) {
      logit[s] = temperature_ == 0 ? -std::numeric_limits<double>::infinity() : (surprisal[s] - largest) / temperature_;
    }
  }
  return logit;
}

/// Weights of one response's views, k in total: equal ones give the mean over its views. `softmax` weighs the selected
/// steps by w, as equation (rldf) is printed (D-11 in docs/spec/rldf.md 2.7).
std::vector<double> TrajectoryMasking::view_weights(const std::vector<double>& surprisal,
                                                    const std::vector<std::int64_t>& selected) const {
  const std::vector<double> logit = logits(surprisal);
  std::vector<double> weights;
  for (const std::int64_t s : selected) weights.push_back(softmax_weights_ ? std::exp(logit[s]) : 1.0);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight *= static_cast<double>(k_) / total;
  return weights;
}

bool TrajectoryMasking::uniform(const std::vector<double>& surprisal) const {
  return temperature_ >= kUniformTemperature || sample_deviation(surprisal) < kUniformDeviation;
}

}  // namespace drift::rldf
