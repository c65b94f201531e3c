#include "tensor_decoder.h"

#include "guidance.h"
#include "rows.h"

#include <drift/commits.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cumprod.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace drift::diffusion {

TensorDecoder::TensorDecoder(const DiffusionSettings& settings, const Schedule& schedule, const RolloutInput& input,
                             std::int64_t first, std::int64_t last)
    : settings_(settings),
      schedule_(schedule),
      input_(input),
      traits_(input.policy->traits()),
      sampling_(settings.sampling(traits_)),
      rows_(settings, input, first, last),
      stopped_R_(at::zeros({last - first}, rows_.row_R.options().dtype(at::kBool))) {
  if (settings.by_chance()) draw_chances();
}

/// As DiffusionDecoder::leave_to_chance.
void TensorDecoder::draw_chances() {
  const std::int64_t rows = rows_.count(), length = settings_.length;
  by_chance_.resize(static_cast<std::size_t>(schedule_.steps()));
  std::vector<std::int64_t> chances;
  for (std::int64_t row = rows_.first; row < rows_.first + rows; ++row) {
    std::vector<std::int64_t> commits(by_chance_.size());
    for (std::int64_t position = 0; position < length; ++position) {
      RandomPoint point{input_.step, input_.first_response + row, position, 0};
      while (rows_.order_random.uniform(point) >= schedule_.probability(point.draw)) ++point.draw;
      chances.push_back(point.draw);
      auto& most = by_chance_[static_cast<std::size_t>(point.draw)];
      most = std::max(most, ++commits[static_cast<std::size_t>(point.draw)]);
    }
  }
  chance_RL_ = rollouts::on_device(at::tensor(chances, at::kLong), rows_.row_R.device()).view({rows, length});
  rows_.states.reset();  // not the same positions
}

void TensorDecoder::run(Trajectories& trajectories) {
  for (std::int64_t step = 0; step < schedule_.steps() && rows_.count() > 0 && !rollouts::is_cancelled(input_);
       ++step) {
    const Turn now = turn(step);
    if (now.commits > 0) commit(now, step);
    if (settings_.early_stop && (step + 1) % rollouts::kForwardsBetweenLooks == 0) leave();
  }
  rows_.write(trajectories);
}

// Where chance does not decide, all rows that have not stopped have as many masked positions.
TensorDecoder::Turn TensorDecoder::turn(std::int64_t step) const {
  const auto masked_RL = (rows_.step_RL < 0) & ~stopped_R_.unsqueeze(1);
  if (settings_.by_chance()) {
    const std::int64_t commits = by_chance_[static_cast<std::size_t>(step)];
    return {rows_.first_open(masked_RL & (chance_RL_ == step), 0, commits), commits};
  }
  const std::int64_t masked = settings_.length - committed_;
  return {rows_.first_open(masked_RL, 0, masked), schedule_.commits(step, masked)};
}

void TensorDecoder::commit(const Turn& turn, std::int64_t step) {
  const auto& position_RK = turn.positions.position_RK;
  const std::int64_t sequence = rows_.prompt_length + settings_.length;
  const auto step_11 = at::full({1, 1}, step, rows_.row_R.options());
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

void TensorDecoder::leave() {
  const auto stay = rows_.leave(stopped_R_ | (rows_.step_RL >= 0).all(1));
  stopped_R_ = stay.of(stopped_R_);
  chance_RL_ = stay.of(chance_RL_);
}

}  // namespace drift::diffusion
