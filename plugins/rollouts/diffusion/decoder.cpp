#include "decoder.h"

#include "prediction.h"
#include "rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <unordered_map>

namespace drift::diffusion {
namespace {

at::Tensor tensor_of(const std::vector<std::int64_t>& values) {
  auto tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
  std::memcpy(tensor.data_ptr(), values.data(), values.size() * sizeof(std::int64_t));
  return tensor;
}

at::Tensor uniforms(const RandomStream& random, const std::vector<RandomPoint>& points) {
  auto values = at::empty({static_cast<std::int64_t>(points.size())}, at::kDouble);
  for (std::size_t m = 0; m < points.size(); ++m) values.data_ptr<double>()[m] = random.uniform(points[m]);
  return values;
}

}  // namespace

DiffusionDecoder::DiffusionDecoder(const DiffusionSettings& settings, const Schedule& schedule,
                                   const RolloutInput& input, std::int64_t first, std::int64_t last)
    : settings_(settings),
      schedule_(schedule),
      input_(input),
      traits_(input.policy->traits()),
      sampling_(sampling_options(settings, traits_)),
      order_random_(input.random.child("order")),
      padded_(rollouts::is_padded(input.prompts)) {
  for (std::int64_t index = first; index < last; ++index) {
    Row row;
    row.index = index;
    row.tokens.assign(static_cast<std::size_t>(settings.length), traits_.mask_id);
    row.step.assign(static_cast<std::size_t>(settings.length), -1);
    row.logprob.assign(static_cast<std::size_t>(settings.length), 0.0f);
    rows_.push_back(std::move(row));
  }
}

void DiffusionDecoder::run(Trajectories& trajectories) {
  const auto cancelled = [&] { return input_.cancelled != nullptr && input_.cancelled->load(); };
  for (std::int64_t step = 0; step < schedule_.steps() && !cancelled(); ++step) {
    auto now = turns(step);
    if (!now.empty()) {
      const auto sampled = predict(distinct_states(now), step);
      for (const Turn& turn : now) commit(turn, sampled, step);
    }
    if (settings_.quirks != Quirks::kDream) continue;
    for (Row& row : rows_) row.forwards = step + 1;  // those that commit nothing are counted, and not computed
  }
  for (const Row& row : rows_) {
    const auto copy = [&](const at::Tensor& to, const void* from, std::size_t bytes) {
      std::memcpy(to[row.index].data_ptr(), from, bytes);
    };
    copy(trajectories.tokens_BL, row.tokens.data(), row.tokens.size() * sizeof(std::int64_t));
    copy(trajectories.step_BL, row.step.data(), row.step.size() * sizeof(std::int32_t));
    copy(trajectories.commit_logprob_BL, row.logprob.data(), row.logprob.size() * sizeof(float));
    trajectories.forwards_B.data_ptr<std::int64_t>()[row.index] = row.forwards;
  }
}

RandomPoint DiffusionDecoder::point(const Row& row, std::int64_t position, std::int64_t step) const {
  return {input_.step, input_.first_response + row.index, position, step};
}

std::vector<DiffusionDecoder::Turn> DiffusionDecoder::turns(std::int64_t step) {
  std::vector<Turn> turns;
  for (Row& row : rows_) {
    if (row.finished) continue;
    Turn turn{&row, positions(row, step), 0};
    const auto masked = static_cast<std::int64_t>(turn.positions.size());
    turn.commits = settings_.order == Order::kOrigin ? masked : schedule_.commits(step, masked);
    if (turn.commits > 0) turns.push_back(std::move(turn));
  }
  return turns;
}

/// The masked positions, or those that chance commits now.
std::vector<std::int64_t> DiffusionDecoder::positions(const Row& row, std::int64_t step) const {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < settings_.length; ++i) {
    if (row.step[static_cast<std::size_t>(i)] >= 0) continue;
    if (settings_.order == Order::kOrigin && order_random_.uniform(point(row, i, step)) >= schedule_.probability(step))
      continue;
    positions.push_back(i);
  }
  return positions;
}

std::vector<DiffusionDecoder::State> DiffusionDecoder::distinct_states(std::vector<Turn>& turns) const {
  std::vector<State> states;
  std::unordered_map<std::string, std::size_t> seen;
  for (Turn& turn : turns) {
    const auto [found, is_new] =
        seen.emplace(rollouts::state_key(input_.prompts, turn.row->index, turn.row->tokens), states.size());
    if (is_new) states.emplace_back();
    states[found->second].push_back(&turn);
  }
  return states;
}

/// One row for each state; which hidden rows are wanted, predict() adds.
ForwardInput DiffusionDecoder::forward_input(const std::vector<State>& states) const {
  const auto& prompts = input_.prompts;
  const std::int64_t prompt_length = prompts.tokens_BP.size(1), sequence = prompt_length + settings_.length;
  const auto count = static_cast<std::int64_t>(states.size());
  auto tokens = at::empty({count, sequence}, at::kLong);
  std::vector<std::int64_t> representatives;
  for (std::int64_t s = 0; s < count; ++s) {
    const Row& row = *states[static_cast<std::size_t>(s)].front()->row;
    representatives.push_back(row.index);
    std::int64_t* to = tokens.data_ptr<std::int64_t>() + s * sequence;
    std::memcpy(to, prompts.tokens_BP.const_data_ptr<std::int64_t>() + row.index * prompt_length,
                static_cast<std::size_t>(prompt_length) * sizeof(std::int64_t));
    std::memcpy(to + prompt_length, row.tokens.data(), row.tokens.size() * sizeof(std::int64_t));
  }
  ForwardInput forward;
  forward.tokens_BS = tokens.to(input_.policy->device());
  if (padded_) {
    const auto response = at::ones({count, settings_.length}, at::kBool);
    const auto mask = at::cat({prompts.mask_BP.index_select(0, tensor_of(representatives)), response}, 1);
    forward.key_mask_BS = mask.to(input_.policy->device());
  }
  return forward;
}

/// A token for each position of each turn. Turns of a state that ask for the same position share its logits.
SampledTokens DiffusionDecoder::predict(const std::vector<State>& states, std::int64_t step) const {
  const std::int64_t prompt_length = input_.prompts.tokens_BP.size(1), sequence = prompt_length + settings_.length;
  std::vector<std::int64_t> wanted, rows;
  std::vector<RandomPoint> points;
  for (std::size_t s = 0; s < states.size(); ++s) {
    std::vector<std::int64_t> row_of_position(static_cast<std::size_t>(settings_.length), -1);
    for (Turn* turn : states[s]) {
      turn->first_draw = static_cast<std::int64_t>(rows.size());
      for (const std::int64_t i : turn->positions) {
        std::int64_t& row = row_of_position[static_cast<std::size_t>(i)];
        if (row < 0) {
          row = static_cast<std::int64_t>(wanted.size());
          wanted.push_back(static_cast<std::int64_t>(s) * sequence + prompt_length + i);
        }
        rows.push_back(row);
        points.push_back(point(*turn->row, i, step));
      }
    }
  }
  ForwardInput forward = forward_input(states);
  forward.rows_N = tensor_of(wanted).to(input_.policy->device());
  return sample(forward, tensor_of(rows), points);
}

SampledTokens DiffusionDecoder::sample(const ForwardInput& forward, const at::Tensor& row_M,
                                       const std::vector<RandomPoint>& points) const {
  const auto uniform_M = settings_.temperature == 0 ? at::Tensor() : uniforms(input_.random, points);
  const auto sampled = draw_tokens(settings_, input_, forward, row_M, uniform_M, sampling_);
  return {sampled.token_M.cpu(), sampled.logprob_M.cpu(), sampled.confidence_M.cpu(), {}};
}

/// Indices into the turn's positions, in the order in which they are committed; equal ones by position.
std::vector<std::size_t> DiffusionDecoder::surest_first(const Turn& turn, const SampledTokens& sampled,
                                                        std::int64_t step) const {
  std::vector<float> score(turn.positions.size());
  for (std::size_t m = 0; m < score.size(); ++m) {
    score[m] = sampled.confidence_M.const_data_ptr<float>()[turn.first_draw + static_cast<std::int64_t>(m)];
    if (std::isnan(score[m])) {
      rollouts::refuse_scores(" at denoising step " + std::to_string(step) + " of response " +
                              std::to_string(turn.row->index));
    }
    if (settings_.order_temperature > 0 && settings_.order != Order::kOrigin) {
      const double uniform = order_random_.uniform(point(*turn.row, turn.positions[m], step));
      score[m] = rollouts::drawn_score(score[m], settings_.order_temperature, uniform);
    }
  }
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
  return order;
}

void DiffusionDecoder::commit(const Turn& turn, const SampledTokens& sampled, std::int64_t step) {
  Row& row = *turn.row;
  const auto order = surest_first(turn, sampled, step);
  const std::int64_t number = settings_.quirks == Quirks::kDream ? step : row.forwards;
  for (std::size_t c = 0; c < static_cast<std::size_t>(turn.commits); ++c) {
    const auto position = static_cast<std::size_t>(turn.positions[order[c]]);
    const std::int64_t draw = turn.first_draw + static_cast<std::int64_t>(order[c]);
    row.tokens[position] = sampled.token_M.const_data_ptr<std::int64_t>()[draw];
    if (row.tokens[position] == traits_.mask_id) continue;  // the original may: it stays masked
    row.logprob[position] = sampled.logprob_M.const_data_ptr<float>()[draw];
    row.step[position] = static_cast<std::int32_t>(number);
  }
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
