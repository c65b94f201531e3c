#include "tensor_decoder.h"

#include "rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <string>

namespace drift::block {

TensorDecoder::TensorDecoder(const BlockSettings& settings, const RolloutInput& input, std::int64_t first,
                             std::int64_t last)
    : settings_(settings),
      input_(input),
      traits_(input.policy->traits()),
      prompt_length_(input.prompts.tokens_BP.size(1)),
      prediction_(settings, quirks_, input),
      remasking_random_(input.random.child("remasking")),
      order_random_(input.random.child("order")),
      rows_(input, first, last, settings.length) {
  const std::int64_t rows = last - first;
  const auto integers = rows_.row_R.options();
  state_.block_begin_R = at::zeros({rows}, integers);
  state_.block_forwards_R = at::zeros({rows}, integers);
}

void TensorDecoder::run(Trajectories& trajectories) {
  made_ = &trajectories;
  if (settings_.cache == Cache::kNone) {
    decode_whole_sequences();
  } else {
    for (std::int64_t begin = 0; begin < settings_.length; begin += settings_.block) {
      decode_with_cache(begin);
      if (cancelled() || !look()) return;
    }
  }
}

void TensorDecoder::decode_whole_sequences() {
  const std::int64_t sequence = prompt_length_ + settings_.length;
  while (!cancelled()) {
    for (std::int64_t forward = 0; forward < rollouts::kForwardsBetweenLooks; ++forward) {
      advance({0, sequence, sequence}, nullptr, 0);
    }
    if (!look()) return;
  }
}

void TensorDecoder::decode_with_cache(std::int64_t block_begin) {
  const std::int64_t sequence = prompt_length_ + settings_.length;
  const auto cache = input_.policy->make_cache(rows_.count(), sequence);
  if (!cache) refuse_cache(traits_);
  advance({0, sequence, sequence}, cache.get(), block_begin);
  const Window window = block_window(settings_, quirks_, traits_.prediction_row, prompt_length_, block_begin);
  const bool scheduled = settings_.schedule == Schedule::kStatic;
  const std::int64_t most =
      scheduled ? std::min(settings_.steps_of_block(block_begin / settings_.block), settings_.block) : settings_.block;
  for (std::int64_t forward = 1; forward < most && !cancelled(); ++forward) {
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

at::Tensor TensorDecoder::uniforms(const RandomStream& random, const Block& block) const {
  return rows_.uniforms(random, block.position_RK, rows_.forwards_R.unsqueeze(1));
}

void TensorDecoder::advance(const Window& window, KeyValueCache* cache, std::int64_t block_begin) {
  const std::int64_t rows = rows_.count(), block_size = settings_.block;
  const Block block = block_of_rows(cache == nullptr ? -1 : block_begin);
  ForwardInput forward;
  forward.tokens_BS = at::cat({rows_.prompt_RP, rows_.tokens_RL}, 1).narrow(1, window.begin, window.width);
  const auto row_R1 = at::arange(rows, rows_.row_R.options()).unsqueeze(1);
  const auto place_RK = (block.position_RK + (prompt_length_ - window.begin)).clamp(0, window.width - 1);
  forward.rows_N = (row_R1 * window.width + place_RK).flatten();
  ForwardCache cached;
  CacheWindow in_cache;
  if (cache == nullptr) {
    forward.key_mask_BS = rows_.key_mask();
  } else {
    in_cache.begin_B = at::full({rows}, window.begin, rows_.row_R.options());
    if (window.attended < prompt_length_ + settings_.length) {
      in_cache.attended_B = at::full({rows}, window.attended, rows_.row_R.options());
    }
    in_cache.key_mask_BS = rows_.key_mask();
    cached = {cache, &in_cache};
  }
  auto sampled = prediction_.sample(forward, cached, at::arange(rows * block_size, rows_.row_R.options()),
                                    uniforms(input_.random, block).flatten());
  for (at::Tensor* tensor : {&sampled.token_M, &sampled.logprob_M, &sampled.confidence_M}) {
    *tensor = tensor->view({rows, block_size});
  }
  commit(block, sampled, scores(block, sampled));
}

at::Tensor TensorDecoder::scores(const Block& block, const SampledTokens& sampled) const {
  auto score_RK = sampled.confidence_M;
  if (settings_.remasking == Remasking::kRandom) score_RK = uniforms(remasking_random_, block).to(at::kFloat);
  if (settings_.pad_penalty != 1) {
    score_RK = at::where(sampled.token_M == traits_.pad_id, score_RK / settings_.pad_penalty, score_RK);
  }
  if (settings_.draws_positions())
    score_RK = rollouts::drawn_scores(score_RK, settings_.order_temperature, uniforms(order_random_, block));
  return at::where(block.open_RK, score_RK, -std::numeric_limits<float>::infinity());
}

/// As commits() of commit_rule.h, for each row.
CommitRule TensorDecoder::rule() const {
  const std::int64_t size = settings_.block;
  CommitRule rule;
  if (settings_.schedule == Schedule::kDynamic) {
    rule.by = CommitBy::kThreshold;
    rule.threshold = settings_.threshold;
  } else if (settings_.schedule == Schedule::kFactor) {
    rule.by = CommitBy::kFactor;
    rule.factor = settings_.factor;
  } else {
    const std::int64_t blocks = settings_.blocks();
    const auto number_R = state_.block_begin_R.floor_divide(size);
    const auto surplus_R = (number_R < settings_.steps % blocks).to(at::kLong);
    const auto steps_R = (surplus_R + settings_.steps / blocks).clamp(1, size);
    const auto full_R = at::full_like(steps_R, size);
    rule.by = CommitBy::kCount;
    rule.count_R = full_R.floor_divide(steps_R) + (state_.block_forwards_R < full_R.remainder(steps_R)).to(at::kLong);
  }
  return rule;
}

void TensorDecoder::commit(const Block& block, const SampledTokens& sampled, const at::Tensor& score_RK) {
  const auto chosen_RK = choose_commits(score_RK, rule(), rows_.failed);
  rows_.commit(block.position_RK, chosen_RK, sampled);
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
  if (rows_.failed.item<bool>()) rollouts::refuse_scores();
  const auto done_R = state_.block_begin_R >= settings_.length;
  const auto leave_D = done_R.nonzero().squeeze(1), left_R = done_R.logical_not().nonzero().squeeze(1);
  rows_.write(leave_D, *made_);
  rows_.keep(left_R);
  for (at::Tensor* tensor : {&state_.block_begin_R, &state_.block_forwards_R}) {
    *tensor = rollouts::chosen_rows(*tensor, left_R);
  }
  return left_R.size(0) > 0;
}

}  // namespace drift::block
