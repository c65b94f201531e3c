#include <drift/plan_builder.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <vector>

namespace drift {
namespace {

template <class T>
at::Tensor to_tensor(const std::vector<T>& values, at::IntArrayRef shape, at::ScalarType type) {
  // from_blob requires a mutable pointer; this function returns only the clone.
  return at::from_blob(const_cast<T*>(values.data()), shape, at::TensorOptions().dtype(type)).clone();
}

void add_row(std::vector<std::uint8_t>& rows, std::int64_t length) {
  rows.resize(rows.size() + static_cast<std::size_t>(length), 0);
}

std::uint8_t& in_last_row(std::vector<std::uint8_t>& rows, std::int64_t length, std::int64_t position) {
  return rows[rows.size() - static_cast<std::size_t>(length - position)];
}

}  // namespace

struct Responses::State {
  at::Tensor number_B, tokens_BL, valid_BL, step_BL, commit_logprob_BL;
  std::int64_t prompt_length;
};

Responses::Responses(const MaskingInput& input)
    : state_(std::make_shared<State>(
          State{input.sample_number_B.contiguous(), input.trajectories->tokens_BL.contiguous(),
                input.trajectories->valid_BL.contiguous(), input.trajectories->step_BL.contiguous(),
                input.trajectories->commit_logprob_BL.contiguous(), input.trajectories->prompts.tokens_BP.size(1)})) {}

std::int64_t Responses::size() const { return state_->tokens_BL.size(0); }
std::int64_t Responses::length() const { return state_->tokens_BL.size(1); }
std::int64_t Responses::prompt_length() const { return state_->prompt_length; }

Response Responses::operator[](std::int64_t b) const {
  const std::int64_t row = b * length();
  return {state_->number_B.const_data_ptr<std::int64_t>()[b], state_->tokens_BL.const_data_ptr<std::int64_t>() + row,
          state_->valid_BL.const_data_ptr<bool>() + row, state_->step_BL.const_data_ptr<std::int32_t>() + row,
          state_->commit_logprob_BL.const_data_ptr<float>() + row};
}

std::int64_t Responses::positions_through_end(std::int64_t b, std::int64_t end_id) const {
  const std::int64_t* begin = (*this)[b].tokens;
  const std::int64_t* end = begin + length();
  const std::int64_t* found = std::find(begin, end, end_id);
  return found == end ? length() : found - begin + 1;
}

struct PlanBuilder::State {
  std::int64_t length, prompt_length;
  std::vector<std::int64_t> sample, forward;
  std::vector<std::uint8_t> masked, target, committed, unattended, prompt_masked;
  std::vector<float> weight;
};

PlanBuilder::PlanBuilder(std::int64_t length, std::int64_t prompt_length) : state_(std::make_unique<State>()) {
  state_->length = length;
  state_->prompt_length = prompt_length;
}

PlanBuilder::~PlanBuilder() = default;

void PlanBuilder::begin_view(std::int64_t sample, std::int64_t forward) {
  state_->sample.push_back(sample);
  state_->forward.push_back(forward);
  state_->weight.push_back(1);
  for (auto* rows : {&state_->masked, &state_->target, &state_->committed, &state_->unattended}) {
    add_row(*rows, state_->length);
  }
  add_row(state_->prompt_masked, state_->prompt_length);
}

void PlanBuilder::mask(std::int64_t position) { in_last_row(state_->masked, state_->length, position) = 1; }

void PlanBuilder::mask_prompt(std::int64_t position) {
  in_last_row(state_->prompt_masked, state_->prompt_length, position) = 1;
}

void PlanBuilder::leave_unattended(std::int64_t position) {
  in_last_row(state_->unattended, state_->length, position) = 1;
}

void PlanBuilder::score(std::int64_t position, bool committed) {
  in_last_row(state_->target, state_->length, position) = 1;
  in_last_row(state_->committed, state_->length, position) = committed ? 1 : 0;
}

void PlanBuilder::weigh(double weight) { state_->weight.back() = static_cast<float>(weight); }

MaskPlan PlanBuilder::finish(std::int64_t forwards) const {
  const State& state = *state_;
  const auto views = static_cast<std::int64_t>(state.sample.size());
  const auto any = [](const std::vector<std::uint8_t>& rows) {
    return std::any_of(rows.begin(), rows.end(), [](std::uint8_t one) { return one != 0; });
  };
  const auto of_responses = [&](const std::vector<std::uint8_t>& rows) {
    return to_tensor(rows, {views, state.length}, at::kBool);
  };
  MaskPlan plan;
  plan.sample_F = to_tensor(state.sample, {views}, at::kLong);
  plan.forward_F = to_tensor(state.forward, {views}, at::kLong);
  plan.masked_FL = of_responses(state.masked);
  plan.target_FL = of_responses(state.target);
  plan.committed_FL = of_responses(state.committed);
  if (any(state.unattended)) plan.attended_FL = of_responses(state.unattended).logical_not();
  const bool weighted = std::any_of(state.weight.begin(), state.weight.end(), [](float weight) { return weight != 1; });
  if (weighted) plan.weight_F = to_tensor(state.weight, {views}, at::kFloat);
  if (any(state.prompt_masked)) {
    plan.prompt_masked_FP = to_tensor(state.prompt_masked, {views, state.prompt_length}, at::kBool);
  }
  plan.forwards = forwards;
  return plan;
}

}  // namespace drift
