#include "device_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <limits>

namespace drift::rollouts {

at::Tensor chosen_rows(const at::Tensor& tensor, const at::Tensor& row_R) {
  return tensor.defined() ? tensor.index_select(0, row_R) : tensor;
}

SampledTokens by_position(const SampledTokens& sampled_M, const at::Tensor& position_RK) {
  return {sampled_M.token_M.view_as(position_RK),
          sampled_M.logprob_M.view_as(position_RK),
          sampled_M.confidence_M.view_as(position_RK),
          {}};
}

namespace {

/// drawn_score() of rows.h, of each.
at::Tensor drawn_scores(const at::Tensor& score_RK, double temperature, const at::Tensor& uniform_RK) {
  return (score_RK.to(at::kDouble) / temperature + uniform_RK.log().neg().log().neg()).to(at::kFloat);
}

}  // namespace

DeviceRows::DeviceRows(const DecodingSettings& given, const RolloutInput& rollout, std::int64_t first,
                       std::int64_t last)
    : settings(given), input(rollout), order_random(rollout.random.child("order")) {
  const std::int64_t rows = last - first, length = settings.length;
  const auto device = input.policy->device();
  const auto integers = at::TensorOptions(at::kLong).device(device);
  row_R = at::arange(first, last, integers);
  prompt_RP = input.prompts.tokens_BP.narrow(0, first, rows).to(device);
  if (is_padded(input.prompts)) prompt_mask_RP = input.prompts.mask_BP.narrow(0, first, rows).to(device);
  tokens_RL = at::full({rows, length}, input.policy->traits().mask_id, integers);
  step_RL = at::full({rows, length}, -1, integers.dtype(at::kInt));
  logprob_RL = at::zeros({rows, length}, integers.dtype(at::kFloat));
  forwards_R = at::zeros({rows}, integers);
  failed = at::zeros({}, integers.dtype(at::kBool));
}

at::Tensor DeviceRows::uniforms(const RandomStream& random, const at::Tensor& position_RK,
                                const at::Tensor& step_R1) const {
  const auto response_RK = (row_R + input.first_response).unsqueeze(1).expand_as(position_RK);
  return uniform(random, input.step, response_RK, position_RK, step_R1);
}

DrawRequest DeviceRows::request(const Window& window, const at::Tensor& position_RK, const at::Tensor& step_R1) const {
  const auto row_R1 = at::arange(count(), row_R.options()).unsqueeze(1);
  const auto place_RK = (position_RK + (prompt_RP.size(1) - window.begin)).clamp(0, window.width - 1);
  DrawRequest request;
  request.forward.tokens_BS = at::cat({prompt_RP, tokens_RL}, 1).narrow(1, window.begin, window.width);
  request.forward.rows_N = (row_R1 * window.width + place_RK).flatten();
  if (prompt_mask_RP.defined()) {
    const auto response_RL = at::ones(tokens_RL.sizes(), prompt_mask_RP.options());
    request.forward.key_mask_BS = at::cat({prompt_mask_RP, response_RL}, 1);
  }
  request.row_M = at::arange(position_RK.numel(), row_R.options());
  if (settings.temperature != 0) request.uniform_M = uniforms(input.random, position_RK, step_R1).flatten();
  return request;
}

at::Tensor DeviceRows::commit(const at::Tensor& position_RK, const at::Tensor& open_RK, const at::Tensor& step_R1,
                              const at::Tensor& score_RK, double temperature, const CommitRule& rule,
                              const SampledTokens& sampled_RK) {
  const auto compared_RK =
      temperature > 0 ? drawn_scores(score_RK, temperature, uniforms(order_random, position_RK, step_R1)) : score_RK;
  const auto open_score_RK = at::where(open_RK, compared_RK, -std::numeric_limits<float>::infinity());
  const auto chosen_RK = choose_commits(open_score_RK, rule, failed);
  const auto put = [&](at::Tensor& state_RL, const at::Tensor& value_RK) {
    state_RL.scatter_(1, position_RK, at::where(chosen_RK, value_RK, state_RL.gather(1, position_RK)));
  };
  put(tokens_RL, sampled_RK.token_M);
  put(logprob_RL, sampled_RK.logprob_M);
  put(step_RL, forwards_R.unsqueeze(1).expand_as(chosen_RK).to(at::kInt));
  return chosen_RK;
}

void DeviceRows::write(const at::Tensor& row_of_state, Trajectories& trajectories) const {
  const auto row = row_R.index_select(0, row_of_state).cpu();
  const auto copy = [&](const at::Tensor& values, at::Tensor& to) {
    to.index_copy_(0, row, values.index_select(0, row_of_state).cpu());
  };
  copy(tokens_RL, trajectories.tokens_BL);
  copy(step_RL, trajectories.step_BL);
  copy(logprob_RL, trajectories.commit_logprob_BL);
  copy(forwards_R, trajectories.forwards_B);
}

at::Tensor DeviceRows::look(const at::Tensor& done_R, Trajectories& trajectories) {
  if (failed.item<bool>()) refuse_scores();
  write(done_R.nonzero().squeeze(1), trajectories);
  const auto left_R = done_R.logical_not().nonzero().squeeze(1);
  for (at::Tensor* tensor : {&row_R, &prompt_RP, &prompt_mask_RP, &tokens_RL, &step_RL, &logprob_RL, &forwards_R})
    *tensor = chosen_rows(*tensor, left_R);
  return left_R;
}

}  // namespace drift::rollouts
