#include "tensor_decoder.h"

#include "guidance.h"
#include "rows.h"

#include <drift/commits.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cumprod.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace drift::diffusion {

TensorDecoder::TensorDecoder(const DiffusionSettings& settings, const Schedule& schedule, const RolloutInput& input,
                             std::int64_t first, std::int64_t last)
    : settings_(settings),
      schedule_(schedule),
      input_(input),
      traits_(input.policy->traits()),
      sampling_(settings.sampling(traits_)),
      rows_(settings, input, first, last),
      stopped_R_(at::zeros({last - first}, rows_.row_R.options().dtype(at::kBool))) {}

void TensorDecoder::run(Trajectories& trajectories) {
  const bool may_end_early = settings_.early_stop || settings_.by_chance();
  for (std::int64_t step = 0; step < schedule_.steps() && !rollouts::is_cancelled(input_); ++step) {
    const auto step_11 = at::full({1, 1}, step, rows_.row_R.options());
    const Turn now = turn(step_11, step);
    if (now.commits > 0) commit(now, step_11);
    if (may_end_early && (step + 1) % rollouts::kForwardsBetweenLooks == 0 && !look(trajectories)) return;
  }
  look(trajectories);
  rows_.write(at::arange(rows_.count(), rows_.row_R.options()), trajectories);
}

// Where chance does not decide, all rows that have not stopped have as many masked positions.
TensorDecoder::Turn TensorDecoder::turn(const at::Tensor& step_11, std::int64_t step) const {
  const std::int64_t rows = rows_.count(), length = settings_.length;
  const auto masked_RL = (rows_.step_RL < 0) & ~stopped_R_.unsqueeze(1);
  if (settings_.by_chance()) {
    const auto position_RL = at::arange(length, rows_.row_R.options()).expand({rows, length});
    const auto chosen_RL = rows_.uniforms(rows_.order_random, position_RL, step_11) < schedule_.probability(step);
    return {position_RL, masked_RL & chosen_RL, length};
  }
  const std::int64_t masked = length - committed_;
  const auto position_RK = at::argsort(masked_RL, /*stable=*/true, /*dim=*/1, /*descending=*/true).narrow(1, 0, masked);
  return {position_RK, masked_RL.gather(1, position_RK), schedule_.commits(step, masked)};
}

void TensorDecoder::commit(const Turn& turn, const at::Tensor& step_11) {
  const std::int64_t sequence = rows_.prompt_RP.size(1) + settings_.length;
  const auto request = rows_.request({0, sequence, sequence}, turn.position_RK, step_11);
  const auto sampled_M = rollouts::draw_tokens(settings_, input_, request, {}, sampling_);
  const auto sampled = rollouts::by_position(sampled_M, turn.position_RK);
  CommitRule rule;
  rule.by = CommitBy::kCount;
  rule.count_R = at::full({rows_.count()}, turn.commits, rows_.row_R.options());
  const auto chosen_RK = rows_.commit(turn.position_RK, turn.open_RK, step_11, sampled.confidence_M,
                                      settings_.drawing_temperature(), rule, sampled);
  rows_.forwards_R = rows_.forwards_R + chosen_RK.any(1).to(at::kLong);
  if (!settings_.by_chance()) committed_ += turn.commits;
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
  const auto left_R = rows_.look(stopped_R_ | (rows_.step_RL >= 0).all(1), trajectories);
  stopped_R_ = stopped_R_.index_select(0, left_R);
  return left_R.size(0) > 0;
}

}  // namespace drift::diffusion
