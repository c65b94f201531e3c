#include "tensor_decoder.h"

#include "prediction.h"
#include "rows.h"

#include <drift/commits.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cumprod.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <limits>

namespace drift::diffusion {
namespace {

// Forwards that a row may idle after its end, against a wait of the device for the host.
constexpr std::int64_t kForwardsBetweenLooks = 4;

}  // namespace

TensorDecoder::TensorDecoder(const DiffusionSettings& settings, const Schedule& schedule, const RolloutInput& input,
                             std::int64_t first, std::int64_t last)
    : settings_(settings),
      schedule_(schedule),
      input_(input),
      traits_(input.policy->traits()),
      sampling_(sampling_options(settings, traits_)),
      order_random_(input.random.child("order")) {
  const std::int64_t rows = last - first, length = settings.length;
  const auto device = input.policy->device();
  const auto integers = at::TensorOptions(at::kLong).device(device);
  state_.row_R = at::arange(first, last, integers);
  state_.prompt_RP = input.prompts.tokens_BP.narrow(0, first, rows).to(device);
  if (rollouts::is_padded(input.prompts))
    state_.prompt_mask_RP = input.prompts.mask_BP.narrow(0, first, rows).to(device);
  state_.tokens_RL = at::full({rows, length}, traits_.mask_id, integers);
  state_.step_RL = at::full({rows, length}, -1, integers.dtype(at::kInt));
  state_.logprob_RL = at::zeros({rows, length}, integers.dtype(at::kFloat));
  state_.forwards_R = at::zeros({rows}, integers);
  state_.stopped_R = at::zeros({rows}, integers.dtype(at::kBool));
  state_.failed = at::zeros({}, integers.dtype(at::kBool));
}

void TensorDecoder::run(Trajectories& trajectories) {
  const auto cancelled = [&] { return input_.cancelled != nullptr && input_.cancelled->load(); };
  const bool may_end_early = settings_.early_stop || by_chance();
  for (std::int64_t step = 0; step < schedule_.steps() && !cancelled(); ++step) {
    const Turn now = turn(step);
    if (now.commits > 0) commit(now, predict(now, step), step);
    if (may_end_early && (step + 1) % kForwardsBetweenLooks == 0 && !look(trajectories)) return;
  }
  look(trajectories);
  leave(at::arange(state_.row_R.size(0), state_.row_R.options()), trajectories);
}

// Where chance does not decide, all rows that have not stopped have as many masked positions.
TensorDecoder::Turn TensorDecoder::turn(std::int64_t step) const {
  const std::int64_t rows = state_.row_R.size(0), length = settings_.length;
  const auto masked_RL = (state_.step_RL < 0) & ~state_.stopped_R.unsqueeze(1);
  if (by_chance()) {
    const auto position_RL = at::arange(length, state_.row_R.options()).expand({rows, length});
    const auto chosen_RL = uniforms(order_random_, position_RL, step) < schedule_.probability(step);
    return {position_RL, masked_RL & chosen_RL, length};
  }
  const std::int64_t masked = length - committed_;
  const auto position_RK = at::argsort(masked_RL, /*stable=*/true, /*dim=*/1, /*descending=*/true).narrow(1, 0, masked);
  return {position_RK, masked_RL.gather(1, position_RK), schedule_.commits(step, masked)};
}

at::Tensor TensorDecoder::uniforms(const RandomStream& random, const at::Tensor& position_RK, std::int64_t step) const {
  const auto response_RK = (state_.row_R + input_.first_response).unsqueeze(1).expand_as(position_RK);
  return uniform(random, input_.step, response_RK, position_RK, at::full({1, 1}, step, state_.row_R.options()));
}

SampledTokens TensorDecoder::predict(const Turn& turn, std::int64_t step) const {
  const std::int64_t rows = state_.row_R.size(0), prompt_length = state_.prompt_RP.size(1);
  const std::int64_t sequence = prompt_length + settings_.length;
  ForwardInput forward;
  forward.tokens_BS = at::cat({state_.prompt_RP, state_.tokens_RL}, 1);
  const auto row_R1 = at::arange(rows, state_.row_R.options()).unsqueeze(1);
  forward.rows_N = (row_R1 * sequence + prompt_length + turn.position_RK).flatten();
  if (state_.prompt_mask_RP.defined()) {
    const auto response = at::ones({rows, settings_.length}, state_.prompt_mask_RP.options());
    forward.key_mask_BS = at::cat({state_.prompt_mask_RP, response}, 1);
  }
  const auto uniform_M =
      settings_.temperature == 0 ? at::Tensor() : uniforms(input_.random, turn.position_RK, step).flatten();
  const auto row_M = at::arange(turn.position_RK.numel(), state_.row_R.options());
  auto sampled = draw_tokens(settings_, input_, forward, row_M, uniform_M, sampling_);
  for (at::Tensor* tensor : {&sampled.token_M, &sampled.logprob_M, &sampled.confidence_M})
    *tensor = tensor->view_as(turn.position_RK);
  return sampled;
}

/// As DiffusionDecoder::surest_first.
at::Tensor TensorDecoder::scores(const Turn& turn, const SampledTokens& sampled, std::int64_t step) const {
  auto score_RK = sampled.confidence_M;
  if (settings_.order_temperature > 0 && !by_chance()) {
    const auto gumbel_RK = uniforms(order_random_, turn.position_RK, step).log().neg().log().neg();
    score_RK = (score_RK.to(at::kDouble) / settings_.order_temperature + gumbel_RK).to(at::kFloat);
  }
  return at::where(turn.open_RK, score_RK, -std::numeric_limits<float>::infinity());
}

void TensorDecoder::commit(const Turn& turn, const SampledTokens& sampled, std::int64_t step) {
  CommitRule rule;
  rule.by = CommitBy::kCount;
  rule.count_R = at::full({state_.row_R.size(0)}, turn.commits, state_.row_R.options());
  const auto chosen_RK = choose_commits(scores(turn, sampled, step), rule, state_.failed);
  const auto put = [&](at::Tensor& state_RL, const at::Tensor& value_RK) {
    state_RL.scatter_(1, turn.position_RK, at::where(chosen_RK, value_RK, state_RL.gather(1, turn.position_RK)));
  };
  put(state_.tokens_RL, sampled.token_M);
  put(state_.logprob_RL, sampled.logprob_M);
  put(state_.step_RL, state_.forwards_R.unsqueeze(1).expand_as(chosen_RK).to(at::kInt));
  state_.forwards_R = state_.forwards_R + chosen_RK.any(1).to(at::kLong);
  if (!by_chance()) committed_ += turn.commits;
  if (settings_.early_stop) stop_at_end();
}

/// As DiffusionDecoder::stop_at_end.
void TensorDecoder::stop_at_end() {
  const auto committed_RL = state_.step_RL >= 0;
  const auto complete_RL = at::cumprod(committed_RL.to(at::kInt), 1) > 0;
  const auto ends_RL = (state_.tokens_RL == traits_.end_id).logical_or(state_.tokens_RL == traits_.pad_id);
  state_.stopped_R = state_.stopped_R | (complete_RL & ends_RL).any(1);
  const auto rest_RL = state_.stopped_R.unsqueeze(1) & ~committed_RL;
  state_.tokens_RL = at::where(rest_RL, traits_.pad_id, state_.tokens_RL);
}

bool TensorDecoder::look(Trajectories& trajectories) {
  if (state_.failed.item<bool>()) rollouts::refuse_scores();
  const auto done_R = state_.stopped_R | (state_.step_RL >= 0).all(1);
  leave(done_R.nonzero().squeeze(1), trajectories);
  const auto left_R = done_R.logical_not().nonzero().squeeze(1);
  for (at::Tensor* tensor : {&state_.row_R, &state_.prompt_RP, &state_.prompt_mask_RP, &state_.tokens_RL,
                             &state_.step_RL, &state_.logprob_RL, &state_.forwards_R, &state_.stopped_R}) {
    *tensor = rollouts::chosen_rows(*tensor, left_R);
  }
  return left_R.size(0) > 0;
}

void TensorDecoder::leave(const at::Tensor& row_of_state, Trajectories& trajectories) const {
  const auto row_R = rollouts::chosen_rows(state_.row_R, row_of_state).cpu();
  const auto copy = [&](at::Tensor& to, const at::Tensor& from) {
    to.index_copy_(0, row_R, rollouts::chosen_rows(from, row_of_state).cpu());
  };
  copy(trajectories.tokens_BL, state_.tokens_RL);
  copy(trajectories.step_BL, state_.step_RL);
  copy(trajectories.commit_logprob_BL, state_.logprob_RL);
  copy(trajectories.forwards_B, state_.forwards_R);
}

}  // namespace drift::diffusion
