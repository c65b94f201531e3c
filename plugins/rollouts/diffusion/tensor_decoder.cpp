#include "tensor_decoder.h"

#include "guidance.h"
#include "rows.h"

#include <drift/commits.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cumprod.h>
#include <ATen/ops/full.h>
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
    if (may_end_early && (step + 1) % rollouts::kForwardsBetweenLooks == 0) leave();
    if (rows_.count() == 0) break;
  }
  rows_.write(trajectories);
}

// Where chance does not decide, all rows that have not stopped have as many masked positions.
TensorDecoder::Turn TensorDecoder::turn(const at::Tensor& step_11, std::int64_t step) const {
  const std::int64_t length = settings_.length, masked = length - committed_;
  auto [position_RK, open_RK] = rows_.masked(0, length, masked);
  open_RK = open_RK & ~stopped_R_.unsqueeze(1);
  if (!settings_.by_chance()) return {{position_RK, open_RK}, schedule_.commits(step, masked)};
  const auto chosen_RL = rows_.uniforms(rows_.order_random, position_RK, step_11) < schedule_.probability(step);
  return {{position_RK, open_RK & chosen_RL}, length};
}

void TensorDecoder::commit(const Turn& turn, const at::Tensor& step_11) {
  const auto& position_RK = turn.positions.position_RK;
  const std::int64_t sequence = rows_.prompt_length + settings_.length;
  const auto request = rows_.request({0, sequence, sequence}, position_RK, step_11);
  const auto sampled_M = rollouts::draw_tokens(settings_, input_, request, {}, sampling_);
  const auto sampled = rollouts::by_position(sampled_M, position_RK);
  CommitRule rule;
  rule.by = CommitBy::kCount;
  rule.count_R = at::full({rows_.count()}, turn.commits, rows_.row_R.options());
  const auto chosen_RK =
      rows_.commit(turn.positions, step_11, sampled.confidence_M, settings_.drawing_temperature(), rule, sampled);
  rows_.forwards_R1.add_(chosen_RK.any(1, /*keepdim=*/true));
  if (!settings_.by_chance()) committed_ += turn.commits;
  if (settings_.early_stop) stop_at_end();
}

/// As DiffusionDecoder::stop_at_end.
void TensorDecoder::stop_at_end() {
  const auto committed_RL = rows_.step_RL >= 0;
  const auto complete_RL = at::cumprod(committed_RL.to(at::kInt), 1) > 0;
  const auto response_RL = rows_.response(0, settings_.length);
  stopped_R_ = stopped_R_ | (complete_RL & ends_response(response_RL, traits_)).any(1);
  response_RL.masked_fill_(stopped_R_.unsqueeze(1) & ~committed_RL, traits_.pad_id);
}

void TensorDecoder::leave() { stopped_R_ = rows_.leave(stopped_R_ | (rows_.step_RL >= 0).all(1)).of(stopped_R_); }

}  // namespace drift::diffusion
