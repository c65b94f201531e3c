#include "decoder.h"

#include "rows.h"

#include <drift/error.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <string>

namespace drift::block {
namespace {

constexpr std::int64_t kMostForwards = 1000;  // of a block, beyond one for each position

}  // namespace

BlockDecoder::BlockDecoder(const BlockSettings& settings, const RolloutInput& input, std::int64_t first,
                           std::int64_t last, std::int64_t at_once)
    : settings_(settings),
      quirks_(settings.quirks),
      input_(input),
      traits_(input.policy->traits()),
      first_(first),
      last_(last),
      at_once_(at_once),
      prompt_length_(input.prompts.tokens_BP.size(1)),
      prediction_(settings, input),
      host_(settings, input),
      remasking_random_(input.random.child("remasking")) {}

void BlockDecoder::run(Trajectories& trajectories, std::vector<RowForwards>& forwards) {
  std::vector<std::unique_ptr<Row>> active;
  std::int64_t next = first_;
  while (!rollouts::is_cancelled(input_)) {
    std::erase_if(active, [&](const std::unique_ptr<Row>& row) {
      if (row->block_start < settings_.length) return false;
      row->write(trajectories);
      forwards[static_cast<std::size_t>(row->index)] = row->forwards_of_block;
      return true;
    });
    while (next < last_ && static_cast<std::int64_t>(active.size()) < at_once_) {
      active.push_back(std::make_unique<Row>(next++, settings_.length, traits_.mask_id));
      active.back()->forwards_of_block.assign(static_cast<std::size_t>(settings_.blocks()), 0);
    }
    if (active.empty()) return;
    // With a cache, and where nothing behind the block exists, the rows at the earliest block, so that new ones catch
    // up with the others.
    const auto earliest = (*std::ranges::min_element(active, {}, &Row::block_start))->block_start;
    Rows rows;
    const bool together = settings_.cache != Cache::kNone || settings_.append;
    for (const auto& row : active) {
      if (!together || row->block_start == earliest) rows.push_back(row.get());
    }
    decode_block(rows);
  }
}

void BlockDecoder::decode_block(const Rows& rows) {
  if (settings_.cache == Cache::kNone) {
    auto turns = turns_of(rows);
    advance(rows, turns, host_.distinct_states(turns), window_of(rows), nullptr);
    return;
  }
  const std::int64_t block_start = rows.front()->block_start;
  const auto at_block = [&](const Row* row) { return row->block_start == block_start; };
  auto cache = fill_cache(rows);
  Rows working;
  std::ranges::copy_if(rows, std::back_inserter(working), at_block);
  const Window window = block_window(settings_, traits_.prediction_row, prompt_length_, block_start);
  while (!working.empty() && !rollouts::is_cancelled(input_)) {
    auto turns = turns_of(working);
    std::vector<rollouts::State> states;
    for (rollouts::Turn& turn : turns) states.push_back({&turn});
    advance(working, turns, states, window, cache.get());
    std::vector<std::int64_t> remaining;
    for (std::size_t r = 0; r < working.size(); ++r) {
      if (at_block(working[r])) remaining.push_back(static_cast<std::int64_t>(r));
    }
    if (remaining.size() == working.size()) continue;
    std::erase_if(working, std::not_fn(at_block));
    if (!working.empty()) cache = cache->select(rollouts::tensor_of(remaining).to(input_.policy->device()));
  }
}

Window BlockDecoder::window_of(const Rows& rows) const {
  return settings_.append ? append_window(settings_, prompt_length_, rows.front()->block_start)
                          : whole_window(settings_, prompt_length_);
}

std::unique_ptr<KeyValueCache> BlockDecoder::fill_cache(const Rows& rows) {
  const std::int64_t block_start = rows.front()->block_start;
  auto turns = turns_of(rows);
  const auto states = host_.distinct_states(turns);
  auto cache = prediction_.make_cache(static_cast<std::int64_t>(states.size()));
  advance(rows, turns, states, whole_window(settings_, prompt_length_), cache.get());
  // In the order of `rows`, as the block's other forwards have them.
  std::vector<std::int64_t> state_of(rows.size());
  for (std::size_t s = 0; s < states.size(); ++s) {
    for (const rollouts::Turn* turn : states[s]) {
      state_of[static_cast<std::size_t>(turn - turns.data())] = static_cast<std::int64_t>(s);
    }
  }
  std::vector<std::int64_t> chosen;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r]->block_start == block_start) chosen.push_back(state_of[r]);
  }
  const bool as_they_are = chosen.size() == states.size() && std::ranges::is_sorted(chosen, std::less_equal<>());
  if (chosen.empty() || as_they_are) return cache;
  return cache->select(rollouts::tensor_of(chosen).to(input_.policy->device()));
}

std::vector<std::int64_t> BlockDecoder::positions_to_predict(const Row& row) const {
  if (quirks_.first_position && row.block_forwards == 0) return {row.block_start};
  std::vector<std::int64_t> masked;
  for (std::int64_t i = quirks_.goes_back ? 0 : row.block_start; i < row.block_start + settings_.block; ++i) {
    if (row.step[static_cast<std::size_t>(i)] < 0) masked.push_back(i);
  }
  return masked;
}

BlockDecoder::Turns BlockDecoder::turns_of(const Rows& rows) const {
  Turns turns;
  for (Row* row : rows) turns.push_back({row, positions_to_predict(*row), row->forwards});
  return turns;
}

void BlockDecoder::advance(const Rows& rows, const Turns& turns, const std::vector<rollouts::State>& states,
                           const Window& window, KeyValueCache* cache) {
  const auto sampled = rollouts::on_cpu(prediction_.sample(host_.request(states, window), window, cache));
  for (std::size_t r = 0; r < rows.size(); ++r) commit(*rows[r], turns[r], sampled);
}

std::vector<float> BlockDecoder::scores(const rollouts::Turn& turn, const SampledTokens& sampled) const {
  std::vector<float> score(turn.positions.size());
  const float* const confidence = sampled.confidence_M.const_data_ptr<float>() + turn.first_draw;
  const std::int64_t* const token = sampled.token_M.const_data_ptr<std::int64_t>() + turn.first_draw;
  for (std::size_t m = 0; m < score.size(); ++m) {
    score[m] = confidence[m];
    if (settings_.remasking == Remasking::kRandom) {
      score[m] = static_cast<float>(remasking_random_.uniform(host_.point(turn, turn.positions[m])));
    } else if (settings_.remasking == Remasking::kSequential) {
      score[m] = -static_cast<float>(turn.positions[m]);
    } else if (settings_.remasking == Remasking::kTakenEntropy) {
      score[m] = score[m] > 0 ? score[m] * std::log(score[m]) : score[m];
    } else if (settings_.remasking == Remasking::kNegativeEntropy && quirks_.highest_entropy) {
      score[m] = -score[m];
    }
    if (settings_.pad_penalty != 1 && token[m] == traits_.pad_id) {
      score[m] /= static_cast<float>(settings_.pad_penalty);
    }
    score[m] = host_.score(turn, turn.positions[m], score[m], settings_.drawing_temperature());
  }
  return score;
}

void BlockDecoder::commit(Row& row, const rollouts::Turn& turn, const SampledTokens& sampled) {
  const auto score = scores(turn, sampled);
  const auto order = rollouts::surest_first(score);
  std::vector<float> descending(score);
  std::ranges::transform(order, descending.begin(), [&](std::size_t m) { return score[m]; });
  const BlockProgress progress{row.block_start / settings_.block, settings_.block, row.block_forwards};
  host_.commit(turn, order, commits(settings_, progress, descending), sampled, row.forwards);
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
  const auto ends = [&](std::int64_t token) { return rollouts::stops_at(settings_, token, traits_); };
  if (settings_.stops() && std::find_if(written - settings_.block, written, ends) != written) {
    std::fill(written, row.tokens.end(), traits_.pad_id);
    row.block_start = settings_.length;
  }
}

}  // namespace drift::block
