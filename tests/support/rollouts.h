#pragma once

// Small hand-written rollouts, and what masking strategies and losses make of them.

#include "tests/support/support.h"

#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/params.h>
#include <drift/policy.h>
#include <drift/trajectories.h>

#include <atomic>

namespace drift::test {

/// One response, position by position.
struct ResponseRow {
  std::vector<double> raw_step;     ///< -1: never committed
  std::vector<double> valid;        ///< 1 or 0
  std::vector<double> probability;  ///< at commit time
};

/// Tokens of those responses: padding, valid tokens, and what was never committed.
constexpr std::int64_t kPadToken = 0, kWordToken = 1, kMaskToken = 2;

/// The responses as a rollout leaves them. Prompts are one token, every response is its own group.
Trajectories make_trajectories(const std::vector<ResponseRow>& responses);

/// `count` random responses of `length` positions: gaps in the steps, some padding at the end, one response without a
/// valid token.
Trajectories random_trajectories(std::int64_t count, std::int64_t length, std::uint64_t seed);

/// Responses of these tokens, all valid, with prompts of `prompt_length` tokens.
Trajectories token_trajectories(const std::vector<std::vector<std::int64_t>>& tokens, std::int64_t prompt_length = 1);

/// Prompts of `length` tokens below 100, one for each response; those of a group have the same. That of group 1 begins
/// with 3 of padding.
Prompts prompts_of_groups(const std::vector<std::int64_t>& groups, std::int64_t length);

/// The responses of the given numbers, in that order.
Trajectories select_responses(const Trajectories& trajectories, const std::vector<std::int64_t>& responses);

/// `count` responses of `length` equal tokens, none of which ends them.
Trajectories equal_trajectories(std::int64_t count, std::int64_t length);

/// What a strategy gets for these responses at step 0: response b has number b, kPadToken pads, no token ends.
/// `trajectories` must outlive it.
MaskingInput masking_input(const Trajectories& trajectories, std::uint64_t seed = 1);
MaskPlan draw_plan(const MaskingStrategy& strategy, const MaskingInput& input);

/// The plan at training step `step`; response b has number `response_numbers[b]` (default: b) and draws accordingly.
MaskPlan draw_plan(const MaskingStrategy& strategy, const Trajectories& trajectories, std::int64_t step = 0,
                   std::vector<std::int64_t> response_numbers = {}, std::uint64_t seed = 1);

/// The plan of an inner iteration.
MaskPlan draw_inner_plan(const MaskingStrategy& strategy, const Trajectories& trajectories, std::int64_t step,
                         std::int64_t inner_iteration);

/// The views of the given numbers alone. Totals stay those of the batch.
LossInput select_views(const LossInput& input, const std::vector<std::int64_t>& views);

/// Number of the view of `response` in `forward`; -1 if there is none.
std::int64_t find_view(const MaskPlan& plan, std::int64_t term, std::int64_t response);

/// The denoising step whose state each view shows: the earliest commit of a valid token that it masks, or, where it
/// masks none, of a token that it scores.
std::vector<double> shown_steps(const MaskPlan& plan, const Trajectories& trajectories);

/// Each view of a response as text: everything that a plan says of it except which response of the batch it is.
std::vector<std::string> views_of(const MaskPlan& plan, std::int64_t response);

/// Any tensor as numbers, row by row.
std::vector<double> numbers(const at::Tensor& tensor);
/// Row `row` of a matrix.
std::vector<double> numbers(const at::Tensor& tensor, std::int64_t row);
/// A float64 vector.
at::Tensor vector_tensor(const std::vector<double>& values);
/// A float64 matrix.
at::Tensor matrix_tensor(const std::vector<std::vector<double>>& rows);

/// Uniform draws of one stream, float64.
at::Tensor uniforms(std::int64_t count);

/// Random log-probabilities (of 0.02 to 0.99) at the true positions of `target`, 0 elsewhere; float64.
at::Tensor random_log_probs(const at::Tensor& target, std::uint64_t seed);

/// Random log-probabilities of all three policies on the plan of up to 8 valid responses, advantages of either sign,
/// two optimizer steps per rollout.
LossInput random_loss_input(const MaskPlan& plan, std::int64_t responses);

/// What the core says of the batch, from the input's plan and advantages: totals and scored_B.
void fill_totals(LossInput& input, std::int64_t group_size, std::int64_t optimizer_steps);

/// Sum over all calls / count over all calls of a metric.
struct MetricTotal {
  double sum = 0;
  double count = 0;
  void add(const Loss& loss, const std::string& name);
  double value() const { return sum / count; }
};

/// The gradient of the value by the current log-probabilities (by a fresh leaf of the same values), as numbers.
std::vector<double> gradient(const LossEstimator& loss, const LossInput& input);
/// The same by central finite differences.
std::vector<double> finite_difference_gradient(const LossEstimator& loss, const LossInput& input);

/// Responses that the rollout of a plugin of this name writes, without gradients, at training step 3.
Trajectories roll_out(const std::string& rollout, const std::map<std::string, Parameter::Value>& settings,
                      const Model& model, const Prompts& prompts, std::int64_t first_response = 0);
/// The same of any policy, until it is cancelled.
Trajectories roll_out(const std::string& rollout, const std::map<std::string, Parameter::Value>& settings,
                      const Policy& policy, const Prompts& prompts, std::int64_t first_response = 0,
                      const std::atomic<bool>* cancelled = nullptr);

/// Whether two responses have the same tokens, steps and number of forwards.
bool same_response(const Trajectories& a, std::int64_t row_a, const Trajectories& b, std::int64_t row_b);
/// Whether all have.
bool same_responses(const Trajectories& a, const Trajectories& b);

}  // namespace drift::test
