#include "decoder.h"

#include "rows.h"

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>

namespace drift::block {
namespace {

constexpr std::int64_t kMostForwards = 1000;  // of a block, beyond one for each position

template <class T>
at::Tensor tensor_of(const std::vector<T>& values, at::ScalarType type) {
  auto tensor = at::empty({static_cast<std::int64_t>(values.size())}, type);
  std::memcpy(tensor.data_ptr(), values.data(), values.size() * sizeof(T));
  return tensor;
}

}  // namespace

BlockDecoder::BlockDecoder(const BlockSettings& settings, const Quirks& quirks, const RolloutInput& input,
                           std::int64_t first, std::int64_t last, std::int64_t at_once)
    : settings_(settings),
      quirks_(quirks),
      input_(input),
      traits_(input.policy->traits()),
      first_(first),
      last_(last),
      at_once_(at_once),
      prompt_length_(input.prompts.tokens_BP.size(1)),
      prediction_(settings, quirks, input),
      remasking_random_(input.random.child("remasking")),
      order_random_(input.random.child("order")),
      padded_(!quirks.attends_padding && rollouts::is_padded(input.prompts)) {}

BlockDecoder::Row BlockDecoder::new_row(std::int64_t index) const {
  Row row;
  row.index = index;
  row.tokens.assign(static_cast<std::size_t>(settings_.length), traits_.mask_id);
  row.step.assign(static_cast<std::size_t>(settings_.length), -1);
  row.logprob.assign(static_cast<std::size_t>(settings_.length), 0.0f);
  row.forwards_of_block.assign(static_cast<std::size_t>(settings_.blocks()), 0);
  return row;
}

void BlockDecoder::run(Trajectories& trajectories, std::vector<RowForwards>& forwards) {
  std::vector<std::unique_ptr<Row>> active;
  std::int64_t next = first_;
  while (!(input_.cancelled && input_.cancelled->load())) {
    std::erase_if(active, [&](const std::unique_ptr<Row>& row) {
      if (row->block_start < settings_.length) return false;
      write(*row, trajectories);
      forwards[static_cast<std::size_t>(row->index)] = row->forwards_of_block;
      return true;
    });
    while (next < last_ && static_cast<std::int64_t>(active.size()) < at_once_) {
      active.push_back(std::make_unique<Row>(new_row(next++)));
    }
    if (active.empty()) return;
    // With a cache the rows at the earliest block, so that new ones catch up with the others.
    const auto earliest = (*std::ranges::min_element(active, {}, &Row::block_start))->block_start;
    Rows rows;
    for (const auto& row : active) {
      if (settings_.cache == Cache::kNone || row->block_start == earliest) rows.push_back(row.get());
    }
    decode_block(rows);
  }
}

void BlockDecoder::write(const Row& row, Trajectories& trajectories) const {
  const auto copy = [&](const at::Tensor& to, const auto& from) {
    std::memcpy(to[row.index].data_ptr(), from.data(), from.size() * sizeof(from[0]));
  };
  copy(trajectories.tokens_BL, row.tokens);
  copy(trajectories.step_BL, row.step);
  copy(trajectories.commit_logprob_BL, row.logprob);
  trajectories.forwards_B.data_ptr<std::int64_t>()[row.index] = row.forwards;
}

void BlockDecoder::decode_block(const Rows& rows) {
  if (settings_.cache == Cache::kNone) {
    const std::int64_t sequence = prompt_length_ + settings_.length;
    advance(distinct_states(rows), {0, sequence, sequence}, nullptr);
    return;
  }
  const std::int64_t block_start = rows.front()->block_start;
  const auto at_block = [&](const Row* row) { return row->block_start == block_start; };
  auto cache = fill_cache(rows);
  Rows working;
  std::ranges::copy_if(rows, std::back_inserter(working), at_block);
  const Window window = block_window(settings_, quirks_, traits_.prediction_row, prompt_length_, block_start);
  while (!working.empty() && !(input_.cancelled && input_.cancelled->load())) {
    std::vector<Rows> states;
    for (Row* row : working) states.push_back({row});
    advance(states, window, cache.get());
    std::vector<std::int64_t> remaining;
    for (std::size_t r = 0; r < working.size(); ++r) {
      if (at_block(working[r])) remaining.push_back(static_cast<std::int64_t>(r));
    }
    if (remaining.size() == working.size()) continue;
    std::erase_if(working, std::not_fn(at_block));
    if (!working.empty()) cache = cache->select(tensor_of(remaining, at::kLong).to(input_.policy->device()));
  }
}

std::unique_ptr<KeyValueCache> BlockDecoder::fill_cache(const Rows& rows) {
  const std::int64_t block_start = rows.front()->block_start, sequence = prompt_length_ + settings_.length;
  const auto states = distinct_states(rows);
  auto cache = input_.policy->make_cache(static_cast<std::int64_t>(states.size()), sequence);
  if (!cache) refuse_cache(traits_);
  advance(states, {0, sequence, sequence}, cache.get());
  // In the order of `rows`, as the block's other forwards have them.
  std::unordered_map<const Row*, std::int64_t> state_of;
  for (std::size_t s = 0; s < states.size(); ++s) {
    for (const Row* row : states[s]) state_of[row] = static_cast<std::int64_t>(s);
  }
  std::vector<std::int64_t> chosen;
  for (const Row* row : rows) {
    if (row->block_start == block_start) chosen.push_back(state_of[row]);
  }
  const bool as_they_are = chosen.size() == states.size() && std::ranges::is_sorted(chosen, std::less_equal<>());
  if (chosen.empty() || as_they_are) return cache;
  return cache->select(tensor_of(chosen, at::kLong).to(input_.policy->device()));
}

std::vector<BlockDecoder::Rows> BlockDecoder::distinct_states(const Rows& rows) const {
  std::vector<Rows> states;
  std::unordered_map<std::string, std::size_t> seen;
  for (Row* row : rows) {
    const auto [found, is_new] =
        seen.emplace(rollouts::state_key(input_.prompts, row->index, row->tokens), states.size());
    if (is_new) states.emplace_back();
    states[found->second].push_back(row);
  }
  return states;
}

std::vector<std::int64_t> BlockDecoder::positions_to_predict(const Row& row) const {
  if (quirks_.first_position && row.block_forwards == 0) return {row.block_start};
  std::vector<std::int64_t> masked;
  for (std::int64_t i = quirks_.goes_back ? 0 : row.block_start; i < row.block_start + settings_.block; ++i) {
    if (row.step[static_cast<std::size_t>(i)] < 0) masked.push_back(i);
  }
  return masked;
}

at::Tensor BlockDecoder::key_mask(const std::vector<Rows>& states) const {
  if (!padded_) return {};
  std::vector<std::int64_t> index;
  for (const Rows& rows : states) index.push_back(rows.front()->index);
  const auto response = at::ones({static_cast<std::int64_t>(states.size()), settings_.length}, at::kBool);
  const auto prompt = input_.prompts.mask_BP.index_select(0, tensor_of(index, at::kLong));
  return at::cat({prompt, response}, 1).to(input_.policy->device());
}

// One requested row for each position to predict of each state, state after state.
ForwardInput BlockDecoder::forward_input(const std::vector<Rows>& states, const Window& window) const {
  const auto count = static_cast<std::int64_t>(states.size());
  auto tokens = at::empty({count, window.width}, at::kLong);
  std::vector<std::int64_t> wanted;
  const std::int64_t from_prompt = std::max<std::int64_t>(0, prompt_length_ - window.begin);
  for (std::int64_t s = 0; s < count; ++s) {
    const Row& row = *states[static_cast<std::size_t>(s)].front();
    std::int64_t* to = tokens.data_ptr<std::int64_t>() + s * window.width;
    const std::int64_t* prompt = input_.prompts.tokens_BP.const_data_ptr<std::int64_t>() + row.index * prompt_length_;
    std::copy_n(prompt + window.begin, from_prompt, to);
    std::copy_n(row.tokens.data() + (window.begin + from_prompt - prompt_length_), window.width - from_prompt,
                to + from_prompt);
    for (const std::int64_t i : positions_to_predict(row)) {
      // No window has a row before its first position. Where that was committed as a mask token, its own predicts it.
      const std::int64_t place = prompt_length_ + i - window.begin;
      const bool own_row = place == 0 && traits_.prediction_row == PredictionRow::kPrevious;
      wanted.push_back(s * window.width + (own_row ? 1 : place));
    }
  }
  const auto device = input_.policy->device();
  ForwardInput forward;
  forward.tokens_BS = tokens.to(device);
  forward.rows_N = tensor_of(wanted, at::kLong).to(device);
  return forward;
}

SampledTokens BlockDecoder::sample(const std::vector<Rows>& states, const Window& window, KeyValueCache* cache,
                                   const at::Tensor& row_M, const at::Tensor& uniform_M) const {
  ForwardInput forward = forward_input(states, window);
  ForwardCache cached;
  CacheWindow in_cache;
  if (cache == nullptr) {
    forward.key_mask_BS = key_mask(states);
  } else {
    const auto count = static_cast<std::int64_t>(states.size());
    in_cache.begin_B = at::full({count}, window.begin, at::kLong);
    if (window.attended < prompt_length_ + settings_.length) {
      in_cache.attended_B = at::full({count}, window.attended, at::kLong);
    }
    in_cache.key_mask_BS = key_mask(states);
    cached = {cache, &in_cache};
  }
  return prediction_.sample(forward, cached, row_M, uniform_M);
}

void BlockDecoder::advance(const std::vector<Rows>& states, const Window& window, KeyValueCache* cache) {
  std::vector<std::int64_t> rows;
  std::vector<double> uniforms;
  std::int64_t first = 0;
  for (const Rows& state : states) {
    const auto masked = positions_to_predict(*state.front());
    for (const Row* row : state) {
      for (std::size_t m = 0; m < masked.size(); ++m) {
        rows.push_back(first + static_cast<std::int64_t>(m));
        const RandomPoint point{input_.step, input_.first_response + row->index, masked[m], row->forwards};
        uniforms.push_back(settings_.temperature == 0 ? 0 : input_.random.uniform(point));
      }
    }
    first += static_cast<std::int64_t>(masked.size());
  }
  auto sampled = sample(states, window, cache, tensor_of(rows, at::kLong), tensor_of(uniforms, at::kDouble));
  sampled = {sampled.token_M.cpu(), sampled.logprob_M.cpu(), sampled.confidence_M.cpu(), {}};

  std::int64_t offset = 0;
  for (const Rows& state : states) {
    const auto masked = positions_to_predict(*state.front());
    for (Row* row : state) {
      commit(*row, masked, sampled, offset);
      offset += static_cast<std::int64_t>(masked.size());
    }
  }
}

std::vector<float> BlockDecoder::scores(const Row& row, const std::vector<std::int64_t>& masked,
                                        const SampledTokens& sampled, std::int64_t offset) const {
  std::vector<float> score(masked.size());
  const float* const confidence = sampled.confidence_M.const_data_ptr<float>() + offset;
  const std::int64_t* const token = sampled.token_M.const_data_ptr<std::int64_t>() + offset;
  for (std::size_t m = 0; m < masked.size(); ++m) {
    const RandomPoint point{input_.step, input_.first_response + row.index, masked[m], row.forwards};
    score[m] = confidence[m];
    if (settings_.remasking == Remasking::kRandom) {
      score[m] = static_cast<float>(remasking_random_.uniform(point));
    } else if (settings_.remasking == Remasking::kNegativeEntropy && quirks_.highest_entropy) {
      score[m] = -score[m];
    }
    if (settings_.pad_penalty != 1 && token[m] == traits_.pad_id) {
      score[m] /= static_cast<float>(settings_.pad_penalty);
    }
    if (settings_.draws_positions())
      score[m] = rollouts::drawn_score(score[m], settings_.order_temperature, order_random_.uniform(point));
    if (std::isnan(score[m])) {
      rollouts::refuse_scores(" at denoising step " + std::to_string(row.forwards) + " of response " +
                              std::to_string(row.index));
    }
  }
  return score;
}

void BlockDecoder::commit(Row& row, const std::vector<std::int64_t>& masked, const SampledTokens& sampled,
                          std::int64_t offset) {
  const auto score = scores(row, masked, sampled, offset);
  // Surest first; equal scores in the order of positions.
  std::vector<std::size_t> order(masked.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t m) { return score[m]; });
  std::vector<float> descending(score);
  std::ranges::transform(order, descending.begin(), [&](std::size_t m) { return score[m]; });

  const BlockProgress progress{row.block_start / settings_.block, settings_.block, row.block_forwards};
  const auto count = static_cast<std::size_t>(commits(settings_, quirks_, progress, descending));
  for (std::size_t c = 0; c < count; ++c) {
    const auto position = static_cast<std::size_t>(masked[order[c]]);
    const std::int64_t draw = offset + static_cast<std::int64_t>(order[c]);
    row.tokens[position] = sampled.token_M.const_data_ptr<std::int64_t>()[draw];
    if (row.tokens[position] == traits_.mask_id) continue;  // some originals may: it stays masked
    row.logprob[position] = sampled.logprob_M.const_data_ptr<float>()[draw];
    row.step[position] = static_cast<std::int32_t>(row.forwards);
  }
  ++row.forwards;
  ++row.block_forwards;
  if (block_ends(row)) end_block(row);
}

bool BlockDecoder::block_ends(const Row& row) const {
  if (positions_to_predict(row).empty()) return true;
  if (!quirks_.writes_any_id) return false;
  const std::int64_t scheduled = settings_.steps_of_block(row.block_start / settings_.block);
  const bool over = settings_.schedule == Schedule::kStatic && row.block_forwards >= scheduled;
  if (over && quirks_.ends_on_schedule) return true;
  if (over || row.block_forwards > kMostForwards + settings_.block) {
    throw Error("response " + std::to_string(row.index) + " commits the mask token, where the original " +
                (over ? "fails: its schedule is over" : "never ends"));
  }
  return false;
}

void BlockDecoder::end_block(Row& row) const {
  if (quirks_.first_position &&
      !positions_to_predict(row).empty()) {  // one more forward finds that the schedule is over
    ++row.forwards;
    ++row.block_forwards;
  }
  row.forwards_of_block[static_cast<std::size_t>(row.block_start / settings_.block)] = row.block_forwards;
  row.block_forwards = 0;
  row.block_start += settings_.block;
  const auto written = row.tokens.begin() + row.block_start;
  const auto ends = [&](std::int64_t token) { return ends_response(token, traits_); };
  if (settings_.early_stop && std::find_if(written - settings_.block, written, ends) != written) {
    std::fill(written, row.tokens.end(), traits_.pad_id);
    row.block_start = settings_.length;
  }
}

}  // namespace drift::block
