#include "decoder.h"

#include "guidance.h"
#include "rows.h"

#include <algorithm>
#include <utility>

namespace drift::diffusion {

DiffusionDecoder::DiffusionDecoder(const DiffusionSettings& settings, const Schedule& schedule,
                                   const RolloutInput& input, std::int64_t first, std::int64_t last)
    : settings_(settings),
      schedule_(schedule),
      input_(input),
      traits_(input.policy->traits()),
      sampling_(settings.sampling(traits_)),
      host_(settings, input) {
  for (std::int64_t index = first; index < last; ++index) rows_.emplace_back(index, settings.length, traits_.mask_id);
}

void DiffusionDecoder::run(Trajectories& trajectories) {
  for (std::int64_t step = 0; step < schedule_.steps() && !rollouts::is_cancelled(input_); ++step) {
    advance(step);
    if (!settings_.quirks.counts_batch) continue;
    for (Row& row : rows_) row.forwards = step + 1;  // those that commit nothing are counted, and not computed
  }
  for (const Row& row : rows_) row.write(trajectories);
}

void DiffusionDecoder::advance(std::int64_t step) {
  std::vector<rollouts::Turn> turns;
  std::vector<Row*> rows;
  std::vector<std::int64_t> counts;
  for (Row& row : rows_) {
    if (row.finished) continue;
    rollouts::Turn turn{&row, masked_positions(row), step};
    if (settings_.by_chance()) leave_to_chance(turn);
    const auto masked = static_cast<std::int64_t>(turn.positions.size());
    const std::int64_t count = settings_.by_chance() ? masked : schedule_.commits(step, masked);
    if (count == 0) continue;
    turns.push_back(std::move(turn));
    rows.push_back(&row);
    counts.push_back(count);
  }
  if (turns.empty()) return;
  const std::int64_t sequence = input_.prompts.tokens_BP.size(1) + settings_.length;
  const auto request = host_.request(host_.distinct_states(turns), {0, sequence, sequence});
  const auto sampled = rollouts::on_cpu(rollouts::draw_tokens(settings_, input_, request, {}, sampling_));
  for (std::size_t r = 0; r < rows.size(); ++r) commit(*rows[r], turns[r], counts[r], sampled);
}

std::vector<std::int64_t> DiffusionDecoder::masked_positions(const Row& row) const {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < settings_.length; ++i) {
    if (row.step[static_cast<std::size_t>(i)] < 0) positions.push_back(i);
  }
  return positions;
}

/// Only the positions that chance commits now are predicted.
void DiffusionDecoder::leave_to_chance(rollouts::Turn& turn) const {
  const auto all = std::exchange(turn.positions, {});
  for (const std::int64_t position : all) {
    if (host_.order_uniform(turn, position) < schedule_.probability(turn.step)) turn.positions.push_back(position);
  }
}

/// Indices into the turn's positions, in the order in which they are committed; equal ones by position.
std::vector<std::size_t> DiffusionDecoder::order(const rollouts::Turn& turn, const SampledTokens& sampled) const {
  std::vector<float> score(turn.positions.size());
  const float* const confidence = sampled.confidence_M.const_data_ptr<float>() + turn.first_draw;
  for (std::size_t m = 0; m < score.size(); ++m)
    score[m] = host_.score(turn, turn.positions[m], confidence[m], settings_.drawing_temperature());
  return rollouts::surest_first(score);
}

void DiffusionDecoder::commit(Row& row, const rollouts::Turn& turn, std::int64_t count, const SampledTokens& sampled) {
  const std::int64_t number = settings_.quirks.counts_batch ? turn.step : row.forwards;
  host_.commit(turn, order(turn, sampled), count, sampled, number);
  row.forwards = number + 1;
  row.finished = std::ranges::none_of(row.step, [](std::int32_t at) { return at < 0; });
  if (settings_.early_stop && !row.finished) stop_at_end(row);
}

/// Where everything up to the first end token is committed, the positions that are still masked become padding.
void DiffusionDecoder::stop_at_end(Row& row) const {
  for (std::size_t i = 0; i < row.tokens.size(); ++i) {
    if (row.step[i] < 0) return;
    if (!ends_response(row.tokens[i], traits_)) continue;
    std::ranges::replace(row.tokens, traits_.mask_id, traits_.pad_id);
    row.finished = true;
    return;
  }
}

}  // namespace drift::diffusion
