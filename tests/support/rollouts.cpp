#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include "tests/support/plugins.h"

#include <core/boundary/checked.h>
#include <core/boundary/model_policy.h>
#include <core/update/update_batch.h>

#include <drift/rollout.h>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/log.h>
#include <ATen/ops/stack.h>

namespace drift::test {
namespace {

at::Tensor index_tensor(const std::vector<std::int64_t>& values) { return at::tensor(values, at::kLong); }

at::Tensor select_rows(const at::Tensor& tensor, const at::Tensor& index) {
  return tensor.defined() ? tensor.index_select(0, index) : tensor;
}

}  // namespace

at::Tensor vector_tensor(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

at::Tensor matrix_tensor(const std::vector<std::vector<double>>& rows) {
  std::vector<at::Tensor> tensors;
  for (const auto& row : rows) tensors.push_back(vector_tensor(row));
  return at::stack(tensors);
}

std::vector<double> numbers(const at::Tensor& tensor) {
  const auto flat = tensor.detach().to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

std::vector<double> numbers(const at::Tensor& tensor, std::int64_t row) { return numbers(tensor.select(0, row)); }

Trajectories make_trajectories(const std::vector<ResponseRow>& responses) {
  std::vector<std::vector<double>> step, valid, probability;
  for (const ResponseRow& response : responses) {
    step.push_back(response.raw_step);
    valid.push_back(response.valid);
    probability.push_back(response.probability);
  }
  const auto count = static_cast<std::int64_t>(responses.size());
  Trajectories made;
  made.prompts = {at::zeros({count, 1}, at::kLong), at::ones({count, 1}, at::kBool), at::arange(count, at::kLong)};
  made.step_BL = matrix_tensor(step).to(at::kInt);
  made.valid_BL = matrix_tensor(valid).to(at::kBool);
  made.tokens_BL = at::full_like(made.step_BL, kPadToken, at::kLong)
                       .masked_fill(made.valid_BL, kWordToken)
                       .masked_fill(made.step_BL < 0, kMaskToken);
  made.commit_logprob_BL = matrix_tensor(probability).log().to(at::kFloat).masked_fill(made.step_BL < 0, 0);
  made.forwards_B = made.step_BL.amax(1).to(at::kLong) + 1;
  return made;
}

Trajectories random_trajectories(std::int64_t count, std::int64_t length, std::uint64_t seed) {
  const RandomStream random(seed, "rollouts");
  std::vector<ResponseRow> responses(static_cast<std::size_t>(count));
  for (std::int64_t b = 0; b < count; ++b) {
    const std::int64_t valid_tokens = b == 1 ? 0 : length - random.below(length / 2, {0, b, 0, 0});
    for (std::int64_t i = 0; i < length; ++i) {
      auto& response = responses[b];
      response.valid.push_back(i < valid_tokens);
      response.raw_step.push_back(static_cast<double>(2 * random.below(length, {0, b, i, 1})));
      response.probability.push_back(0.05 + 0.95 * random.uniform({0, b, i, 2}));
      if (i + 1 == length && i >= valid_tokens) response.raw_step.back() = -1;
    }
  }
  return make_trajectories(responses);
}

Trajectories token_trajectories(const std::vector<std::vector<std::int64_t>>& tokens, std::int64_t prompt_length) {
  std::vector<ResponseRow> responses;
  std::vector<at::Tensor> rows;
  for (const auto& row : tokens) {
    const std::vector<double> zeros(row.size(), 0), ones(row.size(), 1);
    responses.push_back({zeros, ones, ones});
    rows.push_back(index_tensor(row));
  }
  Trajectories made = make_trajectories(responses);
  made.tokens_BL = at::stack(rows);
  made.prompts.tokens_BP = at::zeros({made.tokens_BL.size(0), prompt_length}, at::kLong);
  made.prompts.mask_BP = at::ones({made.tokens_BL.size(0), prompt_length}, at::kBool);
  return made;
}

Prompts prompts_of_groups(const std::vector<std::int64_t>& groups, std::int64_t length) {
  const auto group_B = index_tensor(groups);
  const auto token_BP = group_B.unsqueeze(1) * length + at::arange(length, at::kLong);
  const auto kept_BP = (group_B != 1).unsqueeze(1).logical_or(at::arange(length, at::kLong) >= 3);
  return {(token_BP * 31 + 5).remainder(100), kept_BP, group_B};
}

Trajectories select_responses(const Trajectories& all, const std::vector<std::int64_t>& responses) {
  const auto index = index_tensor(responses);
  Trajectories some;
  some.prompts = {select_rows(all.prompts.tokens_BP, index), select_rows(all.prompts.mask_BP, index),
                  select_rows(all.prompts.group_B, index)};
  some.tokens_BL = select_rows(all.tokens_BL, index);
  some.valid_BL = select_rows(all.valid_BL, index);
  some.step_BL = select_rows(all.step_BL, index);
  some.commit_logprob_BL = select_rows(all.commit_logprob_BL, index);
  some.forwards_B = select_rows(all.forwards_B, index);
  return some;
}

Trajectories equal_trajectories(std::int64_t count, std::int64_t length) {
  return token_trajectories(std::vector<std::vector<std::int64_t>>(
      static_cast<std::size_t>(count), std::vector<std::int64_t>(static_cast<std::size_t>(length), 1)));
}

MaskingInput masking_input(const Trajectories& trajectories, std::uint64_t seed) {
  MaskingInput input;
  input.trajectories = &trajectories;
  input.random = RandomStream(seed, "masking");
  input.response_number_B = at::arange(trajectories.valid_BL.size(0), at::kLong);
  input.pad_id = kPadToken;
  return input;
}

MaskPlan draw_plan(const MaskingStrategy& strategy, const MaskingInput& input) { return checked_plan(strategy, input); }

MaskPlan draw_plan(const MaskingStrategy& strategy, const Trajectories& trajectories, std::int64_t step,
                   std::vector<std::int64_t> response_numbers, std::uint64_t seed) {
  MaskingInput input = masking_input(trajectories, seed);
  input.step = step;
  if (!response_numbers.empty()) input.response_number_B = index_tensor(response_numbers);
  return draw_plan(strategy, input);
}

MaskPlan draw_inner_plan(const MaskingStrategy& strategy, const Trajectories& trajectories, std::int64_t step,
                         std::int64_t inner_iteration) {
  MaskingInput input = masking_input(trajectories);
  input.step = step;
  input.inner_iteration = inner_iteration;
  return draw_plan(strategy, input);
}

LossInput select_views(const LossInput& all, const std::vector<std::int64_t>& views) {
  const auto index = index_tensor(views);
  LossInput some = all;
  for (auto* tensor :
       {&some.plan.response_F, &some.plan.term_F, &some.plan.masked_FL, &some.plan.target_FL, &some.plan.committed_FL,
        &some.plan.weight_F, &some.plan.token_weight_FL, &some.plan.target_step_FL, &some.plan.prompt_masked_FP,
        &some.plan.attended_FL, &some.log_probs.current_FL, &some.log_probs.old_FL, &some.log_probs.reference_FL,
        &some.log_probs.entropy_FL, &some.log_probs.reference_entropy_FL}) {
    *tensor = select_rows(*tensor, index);
  }
  return some;
}

std::int64_t find_view(const MaskPlan& plan, std::int64_t term, std::int64_t response) {
  const auto terms = numbers(plan.term_F);
  const auto samples = numbers(plan.response_F);
  for (std::size_t f = 0; f < terms.size(); ++f) {
    if (terms[f] == static_cast<double>(term) && samples[f] == static_cast<double>(response))
      return static_cast<std::int64_t>(f);
  }
  return -1;
}

std::vector<double> shown_steps(const MaskPlan& plan, const Trajectories& trajectories) {
  std::vector<double> steps;
  for (std::int64_t view = 0; view < plan.response_F.size(0); ++view) {
    const auto masked = numbers(plan.masked_FL, view), scored = numbers(plan.target_FL, view);
    const std::int64_t response = plan.response_F[view].item<std::int64_t>();
    const auto step = numbers(trajectories.step_BL, response), valid = numbers(trajectories.valid_BL, response);
    double earliest = std::numeric_limits<double>::infinity();
    double earliest_scored = earliest;
    for (std::size_t i = 0; i < masked.size(); ++i) {
      if (masked[i] != 0 && valid[i] != 0) earliest = std::min(earliest, step[i]);
      if (scored[i] != 0) earliest_scored = std::min(earliest_scored, step[i]);
    }
    steps.push_back(std::isinf(earliest) ? earliest_scored : earliest);
  }
  return steps;
}

std::vector<std::string> views_of(const MaskPlan& plan, std::int64_t response) {
  std::vector<std::string> views;
  for (std::int64_t view = 0; view < plan.response_F.size(0); ++view) {
    if (plan.response_F[view].item<std::int64_t>() != response) continue;
    std::string text = std::to_string(plan.term_F[view].item<std::int64_t>()) + " " +
                       (plan.weight_F.defined() ? std::to_string(plan.weight_F[view].item<double>()) : "1");
    for (const auto& rows : {plan.masked_FL, plan.target_FL, plan.committed_FL, plan.prompt_masked_FP}) {
      text += " ";
      if (!rows.defined()) continue;
      for (const double bit : numbers(rows, view)) text += bit != 0 ? '1' : '0';
    }
    views.push_back(text);
  }
  return views;
}

at::Tensor uniforms(std::int64_t count) {
  const RandomStream random(3, "uniforms");
  auto values = at::empty({count}, at::kDouble);
  for (std::int64_t m = 0; m < count; ++m) values.data_ptr<double>()[m] = random.uniform({0, m, 0, 0});
  return values;
}

at::Tensor random_log_probs(const at::Tensor& target, std::uint64_t seed) {
  const RandomStream random(seed, "log-probs");
  auto values = at::zeros(target.sizes(), at::kDouble);
  auto* data = values.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) data[i] = std::log(0.02 + 0.97 * random.uniform({0, 0, i, 0}));
  return values.masked_fill(target.logical_not(), 0);
}

LossInput random_loss_input(const MaskPlan& plan, std::int64_t responses) {
  LossInput input;
  input.plan = plan;
  input.log_probs.current_FL = random_log_probs(plan.target_FL, 1);
  input.log_probs.old_FL = random_log_probs(plan.target_FL, 2);
  input.log_probs.reference_FL = random_log_probs(plan.target_FL, 3);
  input.advantage_B = vector_tensor({1.5, -0.5, 0.25, -1, 2, -0.75, 1, -1}).narrow(0, 0, responses);
  input.valid_BL = at::ones({responses, plan.target_FL.size(1)}, at::kBool);
  fill_totals(input, /*group_size=*/1, /*optimizer_steps=*/2);
  return input;
}

void fill_totals(LossInput& input, std::int64_t group_size, std::int64_t optimizer_steps) {
  const std::int64_t responses = input.advantage_B.size(0);
  input.totals = batch_totals(input.plan, responses, group_size, optimizer_steps);
  input.scored_B = scored_positions(input.plan, responses);
}

void MetricTotal::add(const Loss& loss, const std::string& name) {
  for (const LossMetric& metric : loss.metrics) {
    if (metric.name != name) continue;
    sum += metric.sum.item<double>();
    count += metric.count.item<double>();
    return;
  }
  throw std::runtime_error("the loss logs no `" + name + "`");
}

std::vector<double> gradient(const LossEstimator& loss, const LossInput& input) {
  LossInput with_leaf = input;
  with_leaf.log_probs.current_FL = input.log_probs.current_FL.detach().clone().requires_grad_();
  loss.evaluate(with_leaf).value.backward();
  const auto& grad = with_leaf.log_probs.current_FL.grad();
  return numbers(grad.defined() ? grad : at::zeros_like(input.log_probs.current_FL));
}

std::vector<double> finite_difference_gradient(const LossEstimator& loss, const LossInput& input) {
  constexpr double kStep = 1e-6;
  LossInput moved = input;
  moved.log_probs.current_FL = input.log_probs.current_FL.detach().to(at::kDouble).clone().contiguous();
  auto* values = moved.log_probs.current_FL.mutable_data_ptr<double>();
  std::vector<double> differences;
  for (std::int64_t i = 0; i < moved.log_probs.current_FL.numel(); ++i) {
    const double centre = values[i];
    values[i] = centre + kStep;
    const double above = loss.evaluate(moved).value.item<double>();
    values[i] = centre - kStep;
    const double below = loss.evaluate(moved).value.item<double>();
    values[i] = centre;
    differences.push_back((above - below) / (2 * kStep));
  }
  return differences;
}

Trajectories roll_out(const std::string& rollout, const std::map<std::string, Parameter::Value>& settings,
                      const Model& model, const Prompts& prompts, std::int64_t first_response) {
  return roll_out(rollout, settings, ModelPolicy(model), prompts, first_response);
}

Trajectories roll_out(const std::string& rollout, const std::map<std::string, Parameter::Value>& settings,
                      const Policy& policy, const Prompts& prompts, std::int64_t first_response,
                      const std::atomic<bool>* cancelled) {
  const auto component = create<Rollout>(rollout, rollout, settings);
  RolloutInput input;
  input.policy = &policy;
  input.prompts = prompts;
  input.random = RandomStream(11, "rollout");
  input.step = 3;
  input.first_response = first_response;
  input.cancelled = cancelled;
  Trajectories made;
  const at::NoGradGuard no_gradient;
  component->generate(input, made);
  return made;
}

bool same_response(const Trajectories& a, std::int64_t row_a, const Trajectories& b, std::int64_t row_b) {
  return at::equal(a.tokens_BL[row_a], b.tokens_BL[row_b]) && at::equal(a.step_BL[row_a], b.step_BL[row_b]) &&
         at::equal(a.forwards_B[row_a], b.forwards_B[row_b]);
}

bool same_responses(const Trajectories& a, const Trajectories& b) {
  return at::equal(a.tokens_BL, b.tokens_BL) && at::equal(a.step_BL, b.step_BL) &&
         at::equal(a.forwards_B, b.forwards_B);
}

}  // namespace drift::test
