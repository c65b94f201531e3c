#include "tensor_decoder.h"

#include "rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

namespace drift::block {

TensorDecoder::TensorDecoder(const BlockSettings& settings, const RolloutInput& input, std::int64_t first,
                             std::int64_t last)
    : settings_(settings),
      input_(input),
      traits_(input.policy->traits()),
      prompt_length_(input.prompts.tokens_BP.size(1)),
      prediction_(settings, input),
      remasking_random_(input.random.child("remasking")),
      rows_(settings, input, first, last) {
  if (settings.schedule == Schedule::kStatic) scheduled_ = scheduled_commits(settings).to(rows_.row_R.device());
  state_.block_begin_R = at::zeros_like(rows_.row_R);
  state_.block_forwards_R = at::zeros_like(rows_.row_R);
}

void TensorDecoder::run(Trajectories& trajectories) {
  made_ = &trajectories;
  if (settings_.cache == Cache::kNone) {
    decode_whole_sequences();
  } else {
    for (std::int64_t begin = 0; begin < settings_.length; begin += settings_.block) {
      decode_with_cache(begin);
      if (rollouts::is_cancelled(input_) || !look()) return;
    }
  }
}

void TensorDecoder::decode_whole_sequences() {
  while (!rollouts::is_cancelled(input_)) {
    for (std::int64_t forward = 0; forward < rollouts::kForwardsBetweenLooks; ++forward) {
      advance(whole_window(settings_, prompt_length_), nullptr, 0);
    }
    if (!look()) return;
  }
}

void TensorDecoder::decode_with_cache(std::int64_t block_begin) {
  const auto cache = prediction_.make_cache(rows_.count());
  advance(whole_window(settings_, prompt_length_), cache.get(), block_begin);
  const Window window = block_window(settings_, traits_.prediction_row, prompt_length_, block_begin);
  const bool scheduled = settings_.schedule == Schedule::kStatic;
  const std::int64_t most =
      scheduled ? std::min(settings_.steps_of_block(block_begin / settings_.block), settings_.block) : settings_.block;
  for (std::int64_t forward = 1; forward < most && !rollouts::is_cancelled(input_); ++forward) {
    advance(window, cache.get(), block_begin);
    if (scheduled || forward % rollouts::kForwardsBetweenLooks != 0) continue;
    if ((state_.block_begin_R > block_begin).all().item<bool>()) return;
  }
}

TensorDecoder::Block TensorDecoder::block_of_rows(std::int64_t only_begin) const {
  const auto begin_R = state_.block_begin_R.clamp_max(settings_.length - settings_.block);
  const auto position_RK = begin_R.unsqueeze(1) + at::arange(settings_.block, begin_R.options());
  const auto works_R = only_begin < 0 ? state_.block_begin_R < settings_.length : state_.block_begin_R == only_begin;
  return {position_RK, (rows_.step_RL.gather(1, position_RK) < 0) & works_R.unsqueeze(1)};
}

void TensorDecoder::advance(const Window& window, KeyValueCache* cache, std::int64_t block_begin) {
  const Block block = block_of_rows(cache == nullptr ? -1 : block_begin);
  const auto sampled_M = prediction_.sample(rows_.request(window, block.position_RK, step_R1()), window, cache);
  commit(block, rollouts::by_position(sampled_M, block.position_RK));
}

at::Tensor TensorDecoder::scores(const Block& block, const SampledTokens& sampled) const {
  auto score_RK = sampled.confidence_M;
  if (settings_.remasking == Remasking::kRandom)
    score_RK = rows_.uniforms(remasking_random_, block.position_RK, step_R1()).to(at::kFloat);
  if (settings_.pad_penalty != 1)
    score_RK = at::where(sampled.token_M == traits_.pad_id, score_RK / settings_.pad_penalty, score_RK);
  return score_RK;
}

/// As commits() of commit_rule.h, for each row.
CommitRule TensorDecoder::rule() const {
  CommitRule rule;
  switch (settings_.schedule) {
    case Schedule::kDynamic: rule.by = CommitBy::kThreshold; break;
    case Schedule::kFactor: rule.by = CommitBy::kFactor; break;
    case Schedule::kStatic: {
      // Rows without open positions may be beyond the last block or the last forward, and commit nothing.
      const auto block_R = state_.block_begin_R.floor_divide(settings_.block).clamp_max(settings_.blocks() - 1);
      rule.by = CommitBy::kCount;
      const auto forward_R = state_.block_forwards_R.clamp_max(settings_.block - 1);
      rule.count_R = scheduled_.index_select(0, block_R * settings_.block + forward_R);
    }
  }
  rule.threshold = settings_.threshold;
  rule.factor = settings_.factor;
  return rule;
}

void TensorDecoder::commit(const Block& block, const SampledTokens& sampled) {
  const auto chosen_RK = rows_.commit(block.position_RK, block.open_RK, step_R1(), scores(block, sampled),
                                      settings_.drawing_temperature(), rule(), sampled);
  const auto worked_R = block.open_RK.any(1).to(at::kLong);
  rows_.forwards_R = rows_.forwards_R + worked_R;
  state_.block_forwards_R = state_.block_forwards_R + worked_R;
  end_blocks(block, block.open_RK & ~chosen_RK);
}

void TensorDecoder::end_blocks(const Block& block, const at::Tensor& still_open_RK) {
  const auto ended_R = block.open_RK.any(1) & ~still_open_RK.any(1);
  state_.block_begin_R = state_.block_begin_R + ended_R.to(at::kLong) * settings_.block;
  state_.block_forwards_R = at::where(ended_R, 0, state_.block_forwards_R);
  if (!settings_.early_stop) return;
  const auto written_RK = rows_.tokens_RL.gather(1, block.position_RK);
  const auto stops_R = ended_R & ends_response(written_RK, traits_).any(1);
  const auto place_L = at::arange(settings_.length, rows_.row_R.options());
  const auto rest_RL = stops_R.unsqueeze(1) & (place_L >= state_.block_begin_R.unsqueeze(1));
  rows_.tokens_RL = at::where(rest_RL, traits_.pad_id, rows_.tokens_RL);
  state_.block_begin_R = at::where(stops_R, settings_.length, state_.block_begin_R);
}

bool TensorDecoder::look() {
  const auto left_R = rows_.look(state_.block_begin_R >= settings_.length, *made_);
  for (at::Tensor* tensor : {&state_.block_begin_R, &state_.block_forwards_R})
    *tensor = tensor->index_select(0, left_R);
  return left_R.size(0) > 0;
}

}  // namespace drift::block
