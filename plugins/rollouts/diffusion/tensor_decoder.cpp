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
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <limits>

namespace drift::diffusion {

TensorDecoder::TensorDecoder(const DiffusionSettings& settings, const Schedule& schedule, const RolloutInput& input,
                             std::int64_t first, std::int64_t last)
    : settings_(settings),
      schedule_(schedule),
      input_(input),
      traits_(input.policy->traits()),
      sampling_(sampling_options(settings, traits_)),
      order_random_(input.random.child("order")),
      rows_(input, first, last, settings.length),
      stopped_R_(at::zeros({last - first}, rows_.row_R.options().dtype(at::kBool))) {}

void TensorDecoder::run(Trajectories& trajectories) {
  const auto cancelled = [&] { return input_.cancelled != nullptr && input_.cancelled->load(); };
  const bool may_end_early = settings_.early_stop || by_chance();
  for (std::int64_t step = 0; step < schedule_.steps() && !cancelled(); ++step) {
    const Turn now = turn(step);
    if (now.commits > 0) commit(now, predict(now, step), step);
    if (may_end_early && (step + 1) % rollouts::kForwardsBetweenLooks == 0 && !look(trajectories)) return;
  }
  look(trajectories);
  rows_.write(at::arange(rows_.count(), rows_.row_R.options()), trajectories);
}

// Where chance does not decide, all rows that have not stopped have as many masked positions.
TensorDecoder::Turn TensorDecoder::turn(std::int64_t step) const {
  const std::int64_t rows = rows_.count(), length = settings_.length;
  const auto masked_RL = (rows_.step_RL < 0) & ~stopped_R_.unsqueeze(1);
  if (by_chance()) {
    const auto position_RL = at::arange(length, rows_.row_R.options()).expand({rows, length});
    const auto chosen_RL = uniforms(order_random_, position_RL, step) < schedule_.probability(step);
    return {position_RL, masked_RL & chosen_RL, length};
  }
  const std::int64_t masked = length - committed_;
  const auto position_RK = at::argsort(masked_RL, /*stable=*/true, /*dim=*/1, /*descending=*/true).narrow(1, 0, masked);
  return {position_RK, masked_RL.gather(1, position_RK), schedule_.commits(step, masked)};
}

at::Tensor TensorDecoder::uniforms(const RandomStream& random, const at::Tensor& position_RK, std::int64_t step) const {
  return rows_.uniforms(random, position_RK, at::full({1, 1}, step, rows_.row_R.options()));
}

SampledTokens TensorDecoder::predict(const Turn& turn, std::int64_t step) const {
  const std::int64_t prompt_length = rows_.prompt_RP.size(1);
  const std::int64_t sequence = prompt_length + settings_.length;
  ForwardInput forward;
  forward.tokens_BS = at::cat({rows_.prompt_RP, rows_.tokens_RL}, 1);
  const auto row_R1 = at::arange(rows_.count(), rows_.row_R.options()).unsqueeze(1);
  forward.rows_N = (row_R1 * sequence + prompt_length + turn.position_RK).flatten();
  forward.key_mask_BS = rows_.key_mask();
  const auto uniform_M =
      settings_.temperature == 0 ? at::Tensor() : uniforms(input_.random, turn.position_RK, step).flatten();
  const auto row_M = at::arange(turn.position_RK.numel(), rows_.row_R.options());
  auto sampled = draw_tokens(settings_, input_, forward, row_M, uniform_M, sampling_);
  for (at::Tensor* tensor : {&sampled.token_M, &sampled.logprob_M, &sampled.confidence_M})
    *tensor = tensor->view_as(turn.position_RK);
  return sampled;
}

/// As DiffusionDecoder::surest_first.
at::Tensor TensorDecoder::scores(const Turn& turn, const SampledTokens& sampled, std::int64_t step) const {
  auto score_RK = sampled.confidence_M;
  if (settings_.order_temperature > 0 && !by_chance()) {
    const auto uniform_RK = uniforms(order_random_, turn.position_RK, step);
    score_RK = rollouts::drawn_scores(score_RK, settings_.order_temperature, uniform_RK);
  }
  return at::where(turn.open_RK, score_RK, -std::numeric_limits<float>::infinity());
}

void TensorDecoder::commit(const Turn& turn, const SampledTokens& sampled, std::int64_t step) {
  CommitRule rule;
  rule.by = CommitBy::kCount;
  rule.count_R = at::full({rows_.count()}, turn.commits, rows_.row_R.options());
  const auto chosen_RK = choose_commits(scores(turn, sampled, step), rule, rows_.failed);
  rows_.commit(turn.position_RK, chosen_RK, sampled);
  rows_.forwards_R = rows_.forwards_R + chosen_RK.any(1).to(at::kLong);
  if (!by_chance()) committed_ += turn.commits;
  if (settings_.early_stop) stop_at_end();
}

/// As DiffusionDecoder::stop_at_end.
void TensorDecoder::stop_at_end() {
  const auto committed_RL = rows_.step_RL >= 0;
  const auto complete_RL = at::cumprod(committed_RL.to(at::kInt), 1) > 0;
  stopped_R_ = stopped_R_ | (complete_RL & ends_response(rows_.tokens_RL, traits_)).any(1);
  const auto rest_RL = stopped_R_.unsqueeze(1) & ~committed_RL;
  rows_.tokens_RL = at::where(rest_RL, traits_.pad_id, rows_.tokens_RL);
}

bool TensorDecoder::look(Trajectories& trajectories) {
  if (rows_.failed.item<bool>()) rollouts::refuse_scores();
  const auto done_R = stopped_R_ | (rows_.step_RL >= 0).all(1);
  rows_.write(done_R.nonzero().squeeze(1), trajectories);
  const auto left_R = done_R.logical_not().nonzero().squeeze(1);
  rows_.keep(left_R);
  stopped_R_ = rollouts::chosen_rows(stopped_R_, left_R);
  return left_R.size(0) > 0;
}

}  // namespace drift::diffusion
