#include "device_rows.h"

#include "rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace drift::rollouts {

at::Tensor chosen_rows(const at::Tensor& tensor, const at::Tensor& row_R) {
  return tensor.defined() ? tensor.index_select(0, row_R) : tensor;
}

at::Tensor drawn_scores(const at::Tensor& score_RK, double temperature, const at::Tensor& uniform_RK) {
  return (score_RK.to(at::kDouble) / temperature + uniform_RK.log().neg().log().neg()).to(at::kFloat);
}

DeviceRows::DeviceRows(const RolloutInput& rollout, std::int64_t first, std::int64_t last, std::int64_t length)
    : input(rollout) {
  const std::int64_t rows = last - first;
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

at::Tensor DeviceRows::key_mask() const {
  if (!prompt_mask_RP.defined()) return {};
  return at::cat({prompt_mask_RP, at::ones(tokens_RL.sizes(), prompt_mask_RP.options())}, 1);
}

at::Tensor DeviceRows::uniforms(const RandomStream& random, const at::Tensor& position_RK,
                                const at::Tensor& draw) const {
  const auto response_RK = (row_R + input.first_response).unsqueeze(1).expand_as(position_RK);
  return uniform(random, input.step, response_RK, position_RK, draw);
}

void DeviceRows::commit(const at::Tensor& position_RK, const at::Tensor& chosen_RK, const SampledTokens& sampled_RK) {
  const auto put = [&](at::Tensor& state_RL, const at::Tensor& value_RK) {
    state_RL.scatter_(1, position_RK, at::where(chosen_RK, value_RK, state_RL.gather(1, position_RK)));
  };
  put(tokens_RL, sampled_RK.token_M);
  put(logprob_RL, sampled_RK.logprob_M);
  put(step_RL, forwards_R.unsqueeze(1).expand_as(chosen_RK).to(at::kInt));
}

void DeviceRows::copy(const at::Tensor& row_of_state, const at::Tensor& values, at::Tensor& to) const {
  if (!to.defined()) return;
  to.index_copy_(0, chosen_rows(row_R, row_of_state).cpu(), chosen_rows(values, row_of_state).cpu());
}

void DeviceRows::write(const at::Tensor& row_of_state, Trajectories& trajectories) const {
  copy(row_of_state, tokens_RL, trajectories.tokens_BL);
  copy(row_of_state, step_RL, trajectories.step_BL);
  copy(row_of_state, logprob_RL, trajectories.commit_logprob_BL);
  copy(row_of_state, forwards_R, trajectories.forwards_B);
}

void DeviceRows::keep(const at::Tensor& row_of_state) {
  for (at::Tensor* tensor : {&row_R, &prompt_RP, &prompt_mask_RP, &tokens_RL, &step_RL, &logprob_RL, &forwards_R})
    *tensor = chosen_rows(*tensor, row_of_state);
}

}  // namespace drift::rollouts
