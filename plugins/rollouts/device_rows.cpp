#include "device_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <unordered_map>

namespace drift::rollouts {
namespace {

/// drawn_score() of rows.h, of each.
at::Tensor drawn_scores(const at::Tensor& score_RK, double temperature, const at::Tensor& uniform_RK) {
  return (score_RK.to(at::kDouble) / temperature + uniform_RK.log().neg().log().neg()).to(at::kFloat);
}

}  // namespace

at::Tensor on_device(const at::Tensor& host, at::Device device) {
  return device.is_cpu() ? host : host.pin_memory().to(device, /*non_blocking=*/true);
}

RowNumbers::RowNumbers(const std::vector<std::int64_t>& rows, at::Device where)
    : host(at::tensor(rows, at::kLong)), device(on_device(host, where)) {}

at::Tensor RowNumbers::of(const at::Tensor& tensor) const {
  return tensor.defined() ? tensor.index_select(0, tensor.is_cpu() ? host : device) : tensor;
}

SampledTokens by_position(const SampledTokens& sampled_M, const at::Tensor& position_RK) {
  return {sampled_M.token_M.view_as(position_RK),
          sampled_M.logprob_M.view_as(position_RK),
          sampled_M.confidence_M.view_as(position_RK),
          {}};
}

DeviceRows::DeviceRows(const DecodingSettings& given, const RolloutInput& rollout, std::int64_t first_row,
                       std::int64_t last)
    : settings(given),
      input(rollout),
      first(first_row),
      prompt_length(rollout.prompts.tokens_BP.size(1)),
      order_random(rollout.random.child("order")) {
  const std::int64_t rows = last - first, length = settings.length;
  const auto device = input.policy->device();
  const auto integers = at::TensorOptions(at::kLong).device(device);
  const auto of_rows = [&](const at::Tensor& tensor) { return tensor.narrow(0, first, rows); };
  const auto masks_RL = at::full({rows, length}, input.policy->traits().mask_id, at::kLong);
  tokens_RS = on_device(at::cat({of_rows(input.prompts.tokens_BP), masks_RL}, 1), device);
  if (is_padded(input.prompts)) {
    const auto mask_RP = of_rows(input.prompts.mask_BP);
    key_mask_RS = on_device(at::cat({mask_RP, at::ones({rows, length}, at::kBool)}, 1), device);
    padding_R = mask_RP.logical_not().sum(1);
  }
  number_M = at::arange(rows * length, integers);
  row_R = number_M.narrow(0, 0, rows);
  response_R1 = (row_R + (input.first_response + first)).unsqueeze(1);
  step_RL = at::full({rows, length}, -1, integers);
  logprob_RL = at::zeros({rows, length}, integers.dtype(at::kFloat));
  forwards_R1 = at::zeros({rows, 1}, integers);
  failed = at::zeros({}, integers.dtype(at::kBool));
  saved_RC = at::zeros({rows, 3 * length + 2}, integers.dtype(at::kDouble));
  states = initial_states();
}

at::Tensor DeviceRows::response(std::int64_t begin, std::int64_t width) const {
  return tokens_RS.narrow(1, prompt_length + begin, width);
}

std::optional<SharedStates> DeviceRows::initial_states() const {
  const auto* group = input.prompts.group_B.const_data_ptr<std::int64_t>() + first;
  std::unordered_map<std::int64_t, std::int64_t> state_of_group;
  std::vector<std::int64_t> first_of_state, state;
  for (std::int64_t r = 0; r < count(); ++r) {
    const auto [found, is_new] = state_of_group.emplace(group[r], state_of_group.size());
    if (is_new) first_of_state.push_back(r);
    state.push_back(found->second);
  }
  if (first_of_state.size() == state.size()) return std::nullopt;
  const auto device = row_R.device();
  return SharedStates{{first_of_state, device}, on_device(at::tensor(state, at::kLong), device)};
}

OpenPositions DeviceRows::first_open(const at::Tensor& open_RW, std::int64_t begin, std::int64_t most) const {
  const std::int64_t width = open_RW.size(1);
  if (most == width) return {number_M.narrow(0, begin, width).expand_as(open_RW), open_RW};
  const auto place_RK = at::argsort(open_RW, /*stable=*/true, /*dim=*/1, /*descending=*/true).narrow(1, 0, most);
  return {place_RK + begin, open_RW.gather(1, place_RK)};
}

at::Tensor DeviceRows::uniforms(const RandomStream& random, const at::Tensor& position_RK,
                                const at::Tensor& step_R1) const {
  return uniform(random, input.step, response_R1, position_RK, step_R1);
}

DrawRequest DeviceRows::request(const Window& window, const at::Tensor& position_RK, const at::Tensor& step_R1) const {
  const auto of_states = [&](const at::Tensor& tensor) { return states ? states->first_D.of(tensor) : tensor; };
  const std::int64_t positions = position_RK.size(1), rows = states ? states->first_D.count() : count();
  const std::int64_t shift = prompt_length - window.begin;
  const auto shift_R1 = at::arange(shift, shift + rows * window.width, window.width, row_R.options()).unsqueeze(1);
  DrawRequest request;
  request.forward.tokens_BS = of_states(tokens_RS).narrow(1, window.begin, window.width);
  request.forward.key_mask_BS = of_states(key_mask_RS);
  // Where nothing behind the window exists, the forward is a shorter one.
  if (key_mask_RS.defined() && window.is_text())
    request.forward.key_mask_BS = request.forward.key_mask_BS.narrow(1, 0, window.width);
  request.forward.padding_B = of_states(padding_R);
  request.forward.rows_N = (position_RK.narrow(0, 0, rows) + shift_R1).flatten();
  request.row_M = number_M.narrow(0, 0, position_RK.numel());
  if (states) request.row_M = (states->state_R.unsqueeze(1) * positions + number_M.narrow(0, 0, positions)).flatten();
  if (settings.temperature != 0) request.uniform_M = uniforms(input.random, position_RK, step_R1).flatten();
  return request;
}

at::Tensor DeviceRows::commit(const OpenPositions& positions, const at::Tensor& step_R1, const at::Tensor& score_RK,
                              double temperature, const CommitRule& rule, const SampledTokens& sampled_RK) {
  const auto& [position_RK, open_RK] = positions;
  const auto compared_RK =
      temperature > 0 ? drawn_scores(score_RK, temperature, uniforms(order_random, position_RK, step_R1)) : score_RK;
  const auto open_score_RK = at::where(open_RK, compared_RK, -std::numeric_limits<float>::infinity());
  auto chosen_RK = choose_commits(open_score_RK, rule, failed);
  // A mask token leaves its position masked.
  if (settings.quirks.writes_any_id) chosen_RK = chosen_RK & (sampled_RK.token_M != input.policy->traits().mask_id);
  const auto put = [&](const at::Tensor& state_RL, const at::Tensor& value_RK) {
    state_RL.scatter_(1, position_RK, at::where(chosen_RK, value_RK, state_RL.gather(1, position_RK)));
  };
  put(response(0, settings.length), sampled_RK.token_M);
  put(logprob_RL, sampled_RK.logprob_M);
  put(step_RL, forwards_R1);
  states.reset();
  return chosen_RK;
}

at::Tensor DeviceRows::look(const at::Tensor& number_R) const {
  const auto seen = at::cat({failed.view({1}).to(at::kLong), number_R.to(at::kLong)}).cpu();
  if (seen[0].item<std::int64_t>() != 0) refuse_scores();
  return seen.narrow(0, 1, count());
}

RowNumbers DeviceRows::leave(const at::Tensor& done_R) {
  const auto seen_R = look(done_R);
  std::vector<std::int64_t> left;
  for (std::int64_t r = 0; r < count(); ++r) {
    if (seen_R.const_data_ptr<std::int64_t>()[r] == 0) left.push_back(r);
  }
  const RowNumbers stay(left, row_R.device());
  if (stay.count() == count()) return stay;
  save();
  for (at::Tensor* tensor :
       {&row_R, &response_R1, &tokens_RS, &key_mask_RS, &padding_R, &step_RL, &logprob_RL, &forwards_R1})
    *tensor = stay.of(*tensor);
  return stay;
}

// Tokens, steps and float32 numbers are what they are in float64.
void DeviceRows::save() {
  const auto failed_R1 = failed.to(at::kDouble).expand({count(), 1});
  saved_RC.index_copy_(0, row_R,
                       at::cat({failed_R1, forwards_R1, response(0, settings.length), step_RL, logprob_RL}, 1));
}

void DeviceRows::write(Trajectories& trajectories) {
  save();
  const auto saved = saved_RC.cpu();
  if (saved.select(1, 0).any().item<bool>()) refuse_scores();
  const std::int64_t length = settings.length;
  trajectories.forwards_B.narrow(0, first, saved.size(0)).copy_(saved.select(1, 1));
  std::int64_t begin = 2;
  for (const auto& to : {trajectories.tokens_BL, trajectories.step_BL, trajectories.commit_logprob_BL}) {
    to.narrow(0, first, saved.size(0)).copy_(saved.narrow(1, begin, to.size(1)));
    begin += length;
  }
}

}  // namespace drift::rollouts
