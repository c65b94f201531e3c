#include <drift/plan_builder.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>

#include <drift/error.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
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

/// @param what  the call, for messages: "PlanBuilder::mask"
template <class T>
T& in_last_row(const char* what, std::vector<T>& rows, std::int64_t length, std::int64_t position) {
  if (position < 0 || position >= length) {
    throw Error(std::string(what) + "(" + std::to_string(position) + "): there are " + std::to_string(length) +
                " positions");
  }
  if (rows.empty()) throw Error(std::string(what) + " comes before the first begin_view()");
  return rows[rows.size() - static_cast<std::size_t>(length - position)];
}

/// One of the tensors of a MaskingInput as plain numbers.
at::Tensor plain(const char* name, const at::Tensor& tensor, at::ScalarType type, std::int64_t dimensions) {
  if (!tensor.defined() || tensor.scalar_type() != type || tensor.dim() != dimensions || !tensor.is_cpu())
    throw Error("Responses: `" + std::string(name) + "` is not as drift/trajectories.h says");
  return tensor.contiguous();
}

const Trajectories& trajectories_of(const MaskingInput& input) {
  if (input.trajectories == nullptr) throw Error("Responses: the input has no trajectories");
  return *input.trajectories;
}

std::vector<std::int64_t> end_ids_of(const MaskingInput& input) {
  if (!input.end_ids_E.defined()) return {input.end_id};
  const at::Tensor ids_E = plain("end_ids_E", input.end_ids_E, at::kLong, 1);
  return {ids_E.const_data_ptr<std::int64_t>(), ids_E.const_data_ptr<std::int64_t>() + ids_E.numel()};
}

/// Tokens of each prompt, without its padding.
std::vector<std::int64_t> prompt_tokens_of(const Prompts& prompts) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(prompts.tokens_BP.size(0)), prompts.tokens_BP.size(1));
  if (!prompts.mask_BP.defined()) return tokens;
  const at::Tensor sum_B = plain("prompts.mask_BP", prompts.mask_BP, at::kBool, 2).sum(1);
  std::copy_n(sum_B.const_data_ptr<std::int64_t>(), tokens.size(), tokens.begin());
  return tokens;
}

}  // namespace

struct Responses::State {
  at::Tensor number_B, tokens_BL, valid_BL, step_BL, commit_logprob_BL, forwards_B;
  std::int64_t prompt_length;
  std::vector<std::int64_t> prompt_tokens;
  std::int64_t block_size;
  std::vector<std::int64_t> end_ids;  ///< the model's; the first is end_id
};

Responses::Responses(const MaskingInput& input) {
  const Trajectories& from = trajectories_of(input);
  state_ = std::make_shared<State>(State{
      plain("response_number_B", input.response_number_B, at::kLong, 1),
      plain("tokens_BL", from.tokens_BL, at::kLong, 2), plain("valid_BL", from.valid_BL, at::kBool, 2),
      plain("step_BL", from.step_BL, at::kInt, 2), plain("commit_logprob_BL", from.commit_logprob_BL, at::kFloat, 2),
      plain("forwards_B", from.forwards_B, at::kLong, 1),
      plain("prompts.tokens_BP", from.prompts.tokens_BP, at::kLong, 2).size(1), prompt_tokens_of(from.prompts),
      input.block_size, end_ids_of(input)});
  for (const at::Tensor* tensor : {&state_->valid_BL, &state_->step_BL, &state_->commit_logprob_BL}) {
    if (tensor->sizes() != state_->tokens_BL.sizes()) throw Error("Responses: tensors of different shapes");
  }
  if (state_->number_B.size(0) != size() || state_->forwards_B.size(0) != size())
    throw Error("Responses: not one number and one number of forwards for each response");
}

std::int64_t Responses::size() const { return state_->tokens_BL.size(0); }
std::int64_t Responses::length() const { return state_->tokens_BL.size(1); }
std::int64_t Responses::prompt_length() const { return state_->prompt_length; }

Response Responses::operator[](std::int64_t b) const {
  if (b < 0 || b >= size())
    throw Error("Responses[" + std::to_string(b) + "]: there are " + std::to_string(size()) + " responses");
  const std::int64_t row = b * length();
  return {state_->number_B.const_data_ptr<std::int64_t>()[b], state_->tokens_BL.const_data_ptr<std::int64_t>() + row,
          state_->valid_BL.const_data_ptr<bool>() + row, state_->step_BL.const_data_ptr<std::int32_t>() + row,
          state_->commit_logprob_BL.const_data_ptr<float>() + row};
}

std::int64_t Responses::forwards(std::int64_t b) const {
  static_cast<void>((*this)[b]);  // there is such a response
  return state_->forwards_B.const_data_ptr<std::int64_t>()[b];
}

std::int64_t Responses::positions_through_end(std::int64_t b, std::int64_t end_id) const {
  const std::int64_t* begin = (*this)[b].tokens;
  const std::int64_t* end = begin + length();
  const std::vector<std::int64_t>& ids = state_->end_ids;
  const bool is_models = !ids.empty() && ids.front() == end_id;
  const std::int64_t* found =
      is_models ? std::find_first_of(begin, end, ids.begin(), ids.end()) : std::find(begin, end, end_id);
  return found == end ? length() : found - begin + 1;
}

std::vector<std::int64_t> Responses::blocks(std::int64_t b, BlockOrigin origin) const {
  static_cast<void>((*this)[b]);  // there is such a response
  const std::int64_t size = state_->block_size;
  if (size < 1) throw Error("Responses::blocks: the model has no blocks");
  const std::int64_t prompt = state_->prompt_tokens[static_cast<std::size_t>(b)];
  const std::int64_t before = origin == BlockOrigin::kText ? prompt % size : 0;
  std::vector<std::int64_t> block(static_cast<std::size_t>(length()));
  for (std::int64_t i = 0; i < length(); ++i) block[static_cast<std::size_t>(i)] = (before + i) / size;
  return block;
}

std::vector<std::int64_t> random_order(const MaskingInput& input, std::int64_t response, std::int64_t count,
                                       std::int64_t draw) {
  std::vector<std::uint64_t> key;
  for (std::int64_t i = 0; i < count; ++i) key.push_back(input.random.bits({input.step, response, i, draw}));
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return key[a] < key[b]; });
  return order;
}

struct PlanBuilder::State {
  std::int64_t length, prompt_length;
  std::vector<std::int64_t> response, term;
  std::vector<std::uint8_t> masked, target, committed, unattended, prompt_masked;
  std::vector<float> weight, token_weight;
  std::vector<std::int64_t> step;  ///< of targets; empty: of none
  BlockOrigin origin = BlockOrigin::kText;
};

PlanBuilder::PlanBuilder(std::int64_t length, std::int64_t prompt_length) : state_(std::make_unique<State>()) {
  if (length < 0 || prompt_length < 0) {
    throw Error("PlanBuilder(" + std::to_string(length) + ", " + std::to_string(prompt_length) +
                "): lengths cannot be negative");
  }
  state_->length = length;
  state_->prompt_length = prompt_length;
}

PlanBuilder::~PlanBuilder() = default;

void PlanBuilder::begin_view(std::int64_t response, std::int64_t term) {
  if (response < 0 || term < 0) {
    throw Error("PlanBuilder::begin_view(" + std::to_string(response) + ", " + std::to_string(term) +
                "): both count from 0");
  }
  state_->response.push_back(response);
  state_->term.push_back(term);
  state_->weight.push_back(1);
  for (auto* rows : {&state_->masked, &state_->target, &state_->committed, &state_->unattended}) {
    add_row(*rows, state_->length);
  }
  add_row(state_->prompt_masked, state_->prompt_length);
  state_->token_weight.resize(state_->token_weight.size() + static_cast<std::size_t>(state_->length), 1);
}

void PlanBuilder::mask(std::int64_t position) {
  in_last_row("PlanBuilder::mask", state_->masked, state_->length, position) = 1;
}

void PlanBuilder::mask_prompt(std::int64_t position) {
  in_last_row("PlanBuilder::mask_prompt", state_->prompt_masked, state_->prompt_length, position) = 1;
}

void PlanBuilder::leave_unattended(std::int64_t position) {
  in_last_row("PlanBuilder::leave_unattended", state_->unattended, state_->length, position) = 1;
}

void PlanBuilder::score(std::int64_t position, bool committed) {
  in_last_row("PlanBuilder::score", state_->target, state_->length, position) = 1;
  in_last_row("PlanBuilder::score", state_->committed, state_->length, position) = committed ? 1 : 0;
}

void PlanBuilder::weigh(double weight) {
  if (state_->weight.empty()) throw Error("PlanBuilder::weigh comes before the first begin_view()");
  if (!std::isfinite(static_cast<float>(weight)))
    throw Error("PlanBuilder::weigh(" + std::to_string(weight) + "): a weight must be finite");
  state_->weight.back() = static_cast<float>(weight);
}

void PlanBuilder::weigh_token(std::int64_t position, double weight) {
  if (!std::isfinite(static_cast<float>(weight)))
    throw Error("PlanBuilder::weigh_token: " + std::to_string(weight) + ": a weight must be finite");
  in_last_row("PlanBuilder::weigh_token", state_->token_weight, state_->length, position) = static_cast<float>(weight);
}

void PlanBuilder::set_step(std::int64_t position, std::int64_t step) {
  state_->step.resize(state_->masked.size());
  in_last_row("PlanBuilder::set_step", state_->step, state_->length, position) = step;
}

void PlanBuilder::count_blocks_from(BlockOrigin origin) { state_->origin = origin; }

MaskPlan PlanBuilder::finish(std::int64_t terms) const {
  const State& state = *state_;
  const auto views = static_cast<std::int64_t>(state.response.size());
  const std::int64_t last = views == 0 ? 0 : *std::max_element(state.term.begin(), state.term.end());
  if (terms <= last) {
    throw Error("PlanBuilder::finish(" + std::to_string(terms) + "): there is a view of term " + std::to_string(last));
  }
  const auto any = [](const std::vector<std::uint8_t>& rows) {
    return std::any_of(rows.begin(), rows.end(), [](std::uint8_t one) { return one != 0; });
  };
  const auto of_responses = [&](const std::vector<std::uint8_t>& rows) {
    return to_tensor(rows, {views, state.length}, at::kBool);
  };
  MaskPlan plan;
  plan.response_F = to_tensor(state.response, {views}, at::kLong);
  plan.term_F = to_tensor(state.term, {views}, at::kLong);
  plan.masked_FL = of_responses(state.masked);
  plan.target_FL = of_responses(state.target);
  plan.committed_FL = of_responses(state.committed);
  if (any(state.unattended)) plan.attended_FL = of_responses(state.unattended).logical_not();
  const auto weighs = [](const std::vector<float>& weights) {
    return std::any_of(weights.begin(), weights.end(), [](float weight) { return weight != 1; });
  };
  if (weighs(state.weight)) plan.weight_F = to_tensor(state.weight, {views}, at::kFloat);
  if (weighs(state.token_weight))
    plan.token_weight_FL = to_tensor(state.token_weight, {views, state.length}, at::kFloat);
  if (!state.step.empty()) {
    auto step = state.step;
    step.resize(state.masked.size());
    plan.target_step_FL = to_tensor(step, {views, state.length}, at::kLong);
  }
  plan.block_origin = state.origin;
  if (any(state.prompt_masked)) {
    plan.prompt_masked_FP = to_tensor(state.prompt_masked, {views, state.prompt_length}, at::kBool);
  }
  plan.terms = terms;
  return plan;
}

}  // namespace drift
