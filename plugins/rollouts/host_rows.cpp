#include "host_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <unordered_map>

namespace drift::rollouts {

HostRow::HostRow(std::int64_t number, std::int64_t length, std::int64_t mask_id)
    : index(number),
      tokens(static_cast<std::size_t>(length), mask_id),
      step(static_cast<std::size_t>(length), -1),
      logprob(static_cast<std::size_t>(length), 0.0f) {}

void HostRow::write(Trajectories& trajectories) const {
  const auto copy = [&](const at::Tensor& to, const auto& from) {
    std::memcpy(to[index].data_ptr(), from.data(), from.size() * sizeof(from[0]));
  };
  copy(trajectories.tokens_BL, tokens);
  copy(trajectories.step_BL, step);
  copy(trajectories.commit_logprob_BL, logprob);
  trajectories.forwards_B.data_ptr<std::int64_t>()[index] = forwards;
}

HostRows::HostRows(const DecodingSettings& settings, const RolloutInput& input)
    : settings_(settings),
      input_(input),
      traits_(input.policy->traits()),
      prompt_length_(input.prompts.tokens_BP.size(1)),
      padded_(!settings.quirks.attends_padding && is_padded(input.prompts)),
      order_random_(input.random.child("order")) {}

std::vector<State> HostRows::distinct_states(std::vector<Turn>& turns) const {
  const auto* group = input_.prompts.group_B.const_data_ptr<std::int64_t>();
  std::vector<State> states;
  std::unordered_map<std::string, std::size_t> seen;
  for (Turn& turn : turns) {
    const auto& tokens = turn.row->tokens;
    std::string key(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(std::int64_t));
    key.append(reinterpret_cast<const char*>(group + turn.row->index), sizeof(std::int64_t));
    const auto [found, is_new] = seen.emplace(std::move(key), states.size());
    if (is_new) states.emplace_back();
    states[found->second].push_back(&turn);
  }
  return states;
}

at::Tensor HostRows::tokens(const std::vector<State>& states, const Window& window) const {
  auto tokens = at::empty({static_cast<std::int64_t>(states.size()), window.width}, at::kLong);
  const std::int64_t from_prompt = std::max<std::int64_t>(0, prompt_length_ - window.begin);
  auto* to = tokens.data_ptr<std::int64_t>();
  for (const State& state : states) {
    const HostRow& row = *state.front()->row;
    const auto* prompt = input_.prompts.tokens_BP.const_data_ptr<std::int64_t>() + row.index * prompt_length_;
    std::copy_n(prompt + window.begin, from_prompt, to);
    std::copy_n(row.tokens.data() + (window.begin + from_prompt - prompt_length_), window.width - from_prompt,
                to + from_prompt);
    to += window.width;
  }
  return tokens.to(input_.policy->device());
}

at::Tensor HostRows::key_mask(const std::vector<State>& states, const Window& window) const {
  if (!padded_) return {};
  std::vector<std::int64_t> index;
  for (const State& state : states) index.push_back(state.front()->row->index);
  const auto response = at::ones({static_cast<std::int64_t>(states.size()), settings_.length}, at::kBool);
  const auto prompt = input_.prompts.mask_BP.index_select(0, tensor_of(index));
  const auto mask = at::cat({prompt, response}, 1);
  // Where nothing behind the window exists, the forward is a shorter one.
  return (window.is_text() ? mask.narrow(1, 0, window.width) : mask).to(input_.policy->device());
}

DrawRequest HostRows::request(const std::vector<State>& states, const Window& window) const {
  std::vector<std::int64_t> wanted, rows;
  std::vector<double> uniforms;
  for (std::size_t s = 0; s < states.size(); ++s) {
    std::vector<std::int64_t> row_of_position(static_cast<std::size_t>(settings_.length), -1);
    for (Turn* turn : states[s]) {
      turn->first_draw = static_cast<std::int64_t>(rows.size());
      for (const std::int64_t i : turn->positions) {
        std::int64_t& row = row_of_position[static_cast<std::size_t>(i)];
        if (row < 0) {
          // No window has a row before its first position. Where that was committed as a mask token, its own predicts
          // it.
          const std::int64_t place = prompt_length_ + i - window.begin;
          const bool own_row = place == 0 && traits_.prediction_row == PredictionRow::kPrevious;
          row = static_cast<std::int64_t>(wanted.size());
          wanted.push_back(static_cast<std::int64_t>(s) * window.width + (own_row ? 1 : place));
        }
        rows.push_back(row);
        if (settings_.temperature != 0) uniforms.push_back(input_.random.uniform(point(*turn, i)));
      }
    }
  }
  DrawRequest request;
  request.forward.tokens_BS = tokens(states, window);
  request.forward.rows_N = tensor_of(wanted).to(input_.policy->device());
  request.forward.key_mask_BS = key_mask(states, window);
  request.row_M = tensor_of(rows);
  if (settings_.temperature != 0) request.uniform_M = at::tensor(uniforms, at::kDouble);
  return request;
}

RandomPoint HostRows::point(const Turn& turn, std::int64_t position) const {
  return {input_.step, input_.first_response + turn.row->index, position, turn.step};
}

double HostRows::order_uniform(const Turn& turn, std::int64_t position) const {
  return order_random_.uniform(point(turn, position));
}

float HostRows::score(const Turn& turn, std::int64_t position, float confidence, double temperature) const {
  if (std::isnan(confidence)) {
    refuse_scores(" at denoising step " + std::to_string(turn.step) + " of response " +
                  std::to_string(turn.row->index));
  }
  return temperature > 0 ? drawn_score(confidence, temperature, order_uniform(turn, position)) : confidence;
}

void HostRows::commit(const Turn& turn, const std::vector<std::size_t>& order, std::int64_t count,
                      const SampledTokens& sampled, std::int64_t number) const {
  HostRow& row = *turn.row;
  for (std::size_t c = 0; c < static_cast<std::size_t>(count); ++c) {
    const auto position = static_cast<std::size_t>(turn.positions[order[c]]);
    const std::int64_t draw = turn.first_draw + static_cast<std::int64_t>(order[c]);
    row.tokens[position] = sampled.token_M.const_data_ptr<std::int64_t>()[draw];
    if (row.tokens[position] == traits_.mask_id) continue;  // some originals may: it stays masked
    row.logprob[position] = sampled.logprob_M.const_data_ptr<float>()[draw];
    row.step[position] = static_cast<std::int32_t>(number);
  }
}

std::vector<std::size_t> surest_first(const std::vector<float>& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t m) { return scores[m]; });
  return order;
}

at::Tensor tensor_of(const std::vector<std::int64_t>& values) { return at::tensor(values, at::kLong); }

SampledTokens on_cpu(const SampledTokens& sampled) {
  return {sampled.token_M.cpu(), sampled.logprob_M.cpu(), sampled.confidence_M.cpu(), {}};
}

}  // namespace drift::rollouts
