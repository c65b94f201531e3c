#include "tensor_decoder.h"

#include "rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/xlogy.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <limits>
#include <memory>

namespace drift::block {

at::Tensor scores(const BlockSettings& settings, const rollouts::DeviceRows& rows, const RandomStream& remasking,
                  const at::Tensor& position_RK, const SampledTokens& sampled) {
  auto score_RK = sampled.confidence_M;
  if (settings.remasking == Remasking::kRandom)
    score_RK = rows.uniforms(remasking, position_RK, rows.forwards_R1).to(at::kFloat);
  if (settings.remasking == Remasking::kSequential) score_RK = position_RK.neg().to(at::kFloat);
  if (settings.remasking == Remasking::kTakenEntropy) score_RK = at::xlogy(score_RK, score_RK);
  if (settings.pad_penalty != 1)
    score_RK =
        at::where(sampled.token_M == rows.input.policy->traits().pad_id, score_RK / settings.pad_penalty, score_RK);
  return score_RK;
}

TensorDecoder::TensorDecoder(const BlockSettings& settings, const RolloutInput& input, std::int64_t first,
                             std::int64_t last)
    : settings_(settings),
      input_(input),
      traits_(input.policy->traits()),
      prediction_(settings, input),
      remasking_random_(input.random.child("remasking")),
      whole_(whole_window(settings, input.prompts.tokens_BP.size(1))),
      rows_(settings, input, first, last) {}

void TensorDecoder::run(Trajectories& trajectories) {
  if (settings_.cache == Cache::kNone && settings_.schedule != Schedule::kStatic && !settings_.append) {
    decode_at_own_pace();
  } else {
    for (std::int64_t begin = 0; begin < settings_.length && rows_.count() > 0; begin += settings_.block) {
      decode_block(begin);
      if (settings_.stops() && !rollouts::is_cancelled(input_)) stop_at_end(begin);
    }
  }
  rows_.write(trajectories);
}

void TensorDecoder::decode_at_own_pace() {
  block_begin_R1_ = at::zeros_like(rows_.forwards_R1);
  while (!rollouts::is_cancelled(input_) && rows_.count() > 0) {
    for (std::int64_t forward = 0; forward < rollouts::kForwardsBetweenLooks; ++forward) {
      const OpenPositions block = positions_at_own_pace();
      end_blocks(block, advance(whole_, nullptr, block, rule(0)));
    }
    block_begin_R1_ = rows_.leave((block_begin_R1_ >= settings_.length).squeeze(1)).of(block_begin_R1_);
  }
}

// Rows that are done stay in the last block, where nothing is open for them.
TensorDecoder::OpenPositions TensorDecoder::positions_at_own_pace() const {
  const auto begin_R1 = block_begin_R1_.clamp_max(settings_.length - settings_.block);
  const auto position_RK = begin_R1 + rows_.number_M.narrow(0, 0, settings_.block);
  return {position_RK, (rows_.step_RL.gather(1, position_RK) < 0) & (block_begin_R1_ < settings_.length)};
}

void TensorDecoder::end_blocks(const OpenPositions& block, const at::Tensor& chosen_RK) {
  const auto& [position_RK, open_RK] = block;
  const auto ended_R1 = open_RK.any(1, /*keepdim=*/true) & (open_RK == chosen_RK).all(1, /*keepdim=*/true);
  block_begin_R1_ = block_begin_R1_ + ended_R1 * settings_.block;
  if (!settings_.stops()) return;
  const auto response_RL = rows_.response(0, settings_.length);
  const auto ends_RK = rollouts::stops_at(settings_, response_RL.gather(1, position_RK), traits_);
  const auto stops_R1 = ended_R1 & ends_RK.any(1, /*keepdim=*/true);
  const auto place_L = rows_.number_M.narrow(0, 0, settings_.length);
  response_RL.masked_fill_(stops_R1 & (place_L >= block_begin_R1_), traits_.pad_id);
  block_begin_R1_ = at::where(stops_R1, settings_.length, block_begin_R1_);
}

void TensorDecoder::decode_block(std::int64_t begin) {
  const std::int64_t number = begin / settings_.block;
  const bool scheduled = settings_.schedule == Schedule::kStatic, cached = settings_.cache != Cache::kNone;
  const Window first = settings_.append ? append_window(settings_, rows_.prompt_length, begin) : whole_;
  const Window later = cached ? block_window(settings_, traits_.prediction_row, rows_.prompt_length, begin) : first;
  const auto open_RK = [&] { return rows_.step_RL.narrow(1, begin, settings_.block) < 0; };
  std::unique_ptr<KeyValueCache> cache;
  std::int64_t most = settings_.block;  // positions that a row has open
  for (std::int64_t forward = 0; most > 0 && !rollouts::is_cancelled(input_); ++forward) {
    const std::int64_t count = scheduled ? scheduled_commits(settings_, number, forward) : 1;  // at least
    const auto states = rows_.states;
    if (cached && forward == 0) cache = prediction_.make_cache(states ? states->first_D.count() : rows_.count());
    advance(forward == 0 ? first : later, cache.get(), rows_.first_open(open_RK(), begin, most), rule(count));
    most -= count;
    if (cached && states && most > 0) cache = cache->select(states->state_R);
    if (!scheduled && most > 0 && (forward + 1) % rollouts::kForwardsBetweenLooks == 0)
      most = rows_.look(open_RK().sum(1)).max().item<std::int64_t>();
  }
}

void TensorDecoder::stop_at_end(std::int64_t begin) {
  const std::int64_t end = begin + settings_.block;
  if (end == settings_.length) return;
  const auto stops_R = rollouts::stops_at(settings_, rows_.response(begin, settings_.block), traits_).any(1);
  rows_.response(end, settings_.length - end).masked_fill_(stops_R.unsqueeze(1), traits_.pad_id);
  rows_.leave(stops_R);
}

at::Tensor TensorDecoder::advance(const Window& window, KeyValueCache* cache, const OpenPositions& positions,
                                  const CommitRule& rule) {
  const auto& position_RK = positions.position_RK;
  const auto request = rows_.request(window, position_RK, rows_.forwards_R1);
  const auto sampled = rollouts::by_position(prediction_.sample(request, window, cache), position_RK);
  const auto chosen_RK =
      rows_.commit(positions, rows_.forwards_R1, scores(settings_, rows_, remasking_random_, position_RK, sampled),
                   settings_.drawing_temperature(), rule, sampled);
  rows_.forwards_R1.add_(positions.open_RK.any(1, /*keepdim=*/true));
  return chosen_RK;
}

CommitRule TensorDecoder::rule(std::int64_t count) const {
  CommitRule rule;
  switch (settings_.schedule) {
    case Schedule::kDynamic: rule.by = CommitBy::kThreshold; break;
    case Schedule::kFactor: rule.by = CommitBy::kFactor; break;
    case Schedule::kEntropyBounded:
    case Schedule::kStatic:
      rule.by = CommitBy::kCount;
      rule.count_R = at::full({rows_.count()}, count, rows_.row_R.options());
  }
  rule.threshold = settings_.above_threshold
                       ? std::nextafter(settings_.threshold, std::numeric_limits<double>::infinity())
                       : settings_.threshold;
  rule.factor = settings_.factor;
  return rule;
}

}  // namespace drift::block
