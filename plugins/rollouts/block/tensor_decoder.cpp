#include "tensor_decoder.h"

#include "rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <string>

namespace drift::block {
namespace {

// Forwards that a row may idle after its end, against a wait of the device for the host.
constexpr std::int64_t kForwardsBetweenLooks = 4;

}  // namespace

TensorDecoder::TensorDecoder(const BlockSettings& settings, const RolloutInput& input, std::int64_t first,
                             std::int64_t last)
    : settings_(settings),
      input_(input),
      traits_(input.policy->traits()),
      prompt_length_(input.prompts.tokens_BP.size(1)),
      padded_(rollouts::is_padded(input.prompts)),
      prediction_(settings, quirks_, input),
      remasking_random_(input.random.child("remasking")),
      order_random_(input.random.child("order")) {
  const std::int64_t rows = last - first, length = settings.length;
  const auto device = input.policy->device();
  const auto integers = at::TensorOptions(at::kLong).device(device);
  state_.row_R = at::arange(first, last, integers);
  state_.prompt_RP = input.prompts.tokens_BP.narrow(0, first, rows).to(device);
  if (padded_) state_.prompt_mask_RP = input.prompts.mask_BP.narrow(0, first, rows).to(device);
  state_.tokens_RL = at::full({rows, length}, traits_.mask_id, integers);
  state_.step_RL = at::full({rows, length}, -1, integers.dtype(at::kInt));
  state_.logprob_RL = at::zeros({rows, length}, integers.dtype(at::kFloat));
  state_.forwards_R = at::zeros({rows}, integers);
  state_.block_begin_R = at::zeros({rows}, integers);
  state_.block_forwards_R = at::zeros({rows}, integers);
  if (settings.cache != Cache::kNone) {
    const auto of_forwards = [&] { return at::zeros({rows, length + settings.blocks()}, integers.dtype(at::kInt)); };
    state_.attended_RK = of_forwards();
    state_.computed_begin_RK = of_forwards();
    state_.computed_end_RK = of_forwards();
  }
  state_.failed = at::zeros({}, integers.dtype(at::kBool));
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
    for (std::int64_t forward = 0; forward < kForwardsBetweenLooks; ++forward) {
      advance({0, sequence, sequence}, nullptr, 0);
    }
    if (!look()) return;
  }
}

void TensorDecoder::decode_with_cache(std::int64_t block_begin) {
  const std::int64_t sequence = prompt_length_ + settings_.length;
  const auto cache = input_.policy->make_cache(state_.row_R.size(0), sequence);
  if (!cache) refuse_cache(traits_);
  advance({0, sequence, sequence}, cache.get(), block_begin);
  const Window window = block_window(settings_, quirks_, traits_.prediction_row, prompt_length_, block_begin);
  const bool scheduled = settings_.schedule == Schedule::kStatic;
  const std::int64_t most =
      scheduled ? std::min(settings_.steps_of_block(block_begin / settings_.block), settings_.block) : settings_.block;
  for (std::int64_t forward = 1; forward < most && !cancelled(); ++forward) {
    advance(window, cache.get(), block_begin);
    if (scheduled || forward % kForwardsBetweenLooks != 0) continue;
    if ((state_.block_begin_R > block_begin).all().item<bool>()) return;
  }
}

TensorDecoder::Block TensorDecoder::block_of_rows(std::int64_t only_begin) const {
  const auto begin_R = state_.block_begin_R.clamp_max(settings_.length - settings_.block);
  const auto position_RK = begin_R.unsqueeze(1) + at::arange(settings_.block, begin_R.options());
  const auto works_R = only_begin < 0 ? state_.block_begin_R < settings_.length : state_.block_begin_R == only_begin;
  return {position_RK, (state_.step_RL.gather(1, position_RK) < 0) & works_R.unsqueeze(1)};
}

at::Tensor TensorDecoder::key_mask() const {
  if (!padded_) return {};
  const auto response = at::ones({state_.row_R.size(0), settings_.length}, state_.prompt_mask_RP.options());
  return at::cat({state_.prompt_mask_RP, response}, 1);
}

void TensorDecoder::advance(const Window& window, KeyValueCache* cache, std::int64_t block_begin) {
  const std::int64_t rows = state_.row_R.size(0), block_size = settings_.block;
  const Block block = block_of_rows(cache == nullptr ? -1 : block_begin);
  ForwardInput forward;
  forward.tokens_BS = at::cat({state_.prompt_RP, state_.tokens_RL}, 1).narrow(1, window.begin, window.width);
  const auto row_R1 = at::arange(rows, state_.row_R.options()).unsqueeze(1);
  const auto place_RK = (block.position_RK + (prompt_length_ - window.begin)).clamp(0, window.width - 1);
  forward.rows_N = (row_R1 * window.width + place_RK).flatten();
  ForwardCache cached;
  CacheWindow in_cache;
  if (cache == nullptr) {
    forward.key_mask_BS = key_mask();
  } else {
    in_cache.begin_B = at::full({rows}, window.begin, state_.row_R.options());
    if (window.attended < prompt_length_ + settings_.length) {
      in_cache.attended_B = at::full({rows}, window.attended, state_.row_R.options());
    }
    in_cache.key_mask_BS = key_mask();
    cached = {cache, &in_cache};
  }
  const auto forwards_RK = state_.forwards_R.unsqueeze(1).expand({rows, block_size});
  const auto response_RK = (state_.row_R + input_.first_response).unsqueeze(1).expand({rows, block_size});
  const auto uniform_RK = uniform(input_.random, input_.step, response_RK, block.position_RK, forwards_RK);
  auto sampled =
      prediction_.sample(forward, cached, at::arange(rows * block_size, state_.row_R.options()), uniform_RK.flatten());
  for (at::Tensor* tensor : {&sampled.token_M, &sampled.logprob_M, &sampled.confidence_M}) {
    *tensor = tensor->view({rows, block_size});
  }
  if (cache != nullptr) record(window, block.open_RK.any(1));
  commit(block, sampled, scores(block, sampled));
}

at::Tensor TensorDecoder::scores(const Block& block, const SampledTokens& sampled) const {
  auto score_RK = sampled.confidence_M;
  const auto uniform_RK = [&](const RandomStream& random) {
    const auto forwards_RK = state_.forwards_R.unsqueeze(1).expand_as(score_RK);
    const auto response_RK = (state_.row_R + input_.first_response).unsqueeze(1).expand_as(score_RK);
    return uniform(random, input_.step, response_RK, block.position_RK, forwards_RK);
  };
  if (settings_.remasking == Remasking::kRandom) score_RK = uniform_RK(remasking_random_).to(at::kFloat);
  if (settings_.pad_penalty != 1) {
    score_RK = at::where(sampled.token_M == traits_.pad_id, score_RK / settings_.pad_penalty, score_RK);
  }
  if (settings_.draws_positions()) {
    const auto gumbel_RK = uniform_RK(order_random_).log().neg().log().neg();
    score_RK = (score_RK.to(at::kDouble) / settings_.order_temperature + gumbel_RK).to(at::kFloat);
  }
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
  const auto chosen_RK = choose_commits(score_RK, rule(), state_.failed);
  const auto put = [&](at::Tensor& state_RL, const at::Tensor& value_RK) {
    state_RL.scatter_(1, block.position_RK, at::where(chosen_RK, value_RK, state_RL.gather(1, block.position_RK)));
  };
  put(state_.tokens_RL, sampled.token_M);
  put(state_.logprob_RL, sampled.logprob_M);
  put(state_.step_RL, state_.forwards_R.unsqueeze(1).expand_as(chosen_RK).to(at::kInt));
  const auto worked_R = block.open_RK.any(1).to(at::kLong);
  state_.forwards_R = state_.forwards_R + worked_R;
  state_.block_forwards_R = state_.block_forwards_R + worked_R;
  end_blocks(block, block.open_RK & ~chosen_RK);
}

void TensorDecoder::end_blocks(const Block& block, const at::Tensor& still_open_RK) {
  const auto ended_R = block.open_RK.any(1) & ~still_open_RK.any(1);
  state_.block_begin_R = state_.block_begin_R + ended_R.to(at::kLong) * settings_.block;
  state_.block_forwards_R = at::where(ended_R, 0, state_.block_forwards_R);
  if (!settings_.early_stop) return;
  const auto written_RK = state_.tokens_RL.gather(1, block.position_RK);
  const auto ends_RK = (written_RK == traits_.end_id).logical_or(written_RK == traits_.pad_id);
  const auto stops_R = ended_R & ends_RK.any(1);
  const auto place_L = at::arange(settings_.length, state_.row_R.options());
  const auto rest_RL = stops_R.unsqueeze(1) & (place_L >= state_.block_begin_R.unsqueeze(1));
  state_.tokens_RL = at::where(rest_RL, traits_.pad_id, state_.tokens_RL);
  state_.block_begin_R = at::where(stops_R, settings_.length, state_.block_begin_R);
}

void TensorDecoder::record(const Window& window, const at::Tensor& works_R) {
  const auto forward_R1 = state_.forwards_R.unsqueeze(1);
  const auto put = [&](at::Tensor& numbers_RK, std::int64_t number) {
    const auto before_R1 = numbers_RK.gather(1, forward_R1);
    numbers_RK.scatter_(1, forward_R1, at::where(works_R.unsqueeze(1), number, before_R1).to(at::kInt));
  };
  put(state_.attended_RK, window.attended - prompt_length_);
  put(state_.computed_begin_RK, window.begin == 0 ? -1 : std::max<std::int64_t>(0, window.begin - prompt_length_));
  put(state_.computed_end_RK, window.begin + window.width - prompt_length_);
}

bool TensorDecoder::look() {
  if (state_.failed.item<bool>()) rollouts::refuse_scores();
  const auto done_R = state_.block_begin_R >= settings_.length;
  leave(done_R.nonzero().squeeze(1), *made_);
  const auto left_R = done_R.logical_not().nonzero().squeeze(1);
  for (at::Tensor* tensor :
       {&state_.row_R, &state_.prompt_RP, &state_.prompt_mask_RP, &state_.tokens_RL, &state_.step_RL,
        &state_.logprob_RL, &state_.forwards_R, &state_.block_begin_R, &state_.block_forwards_R, &state_.attended_RK,
        &state_.computed_begin_RK, &state_.computed_end_RK}) {
    *tensor = rollouts::chosen_rows(*tensor, left_R);
  }
  return left_R.size(0) > 0;
}

void TensorDecoder::leave(const at::Tensor& row_of_state, Trajectories& trajectories) const {
  const auto row_R = rollouts::chosen_rows(state_.row_R, row_of_state).cpu();
  const auto copy = [&](at::Tensor& to, const at::Tensor& from) {
    if (to.defined()) to.index_copy_(0, row_R, rollouts::chosen_rows(from, row_of_state).cpu());
  };
  copy(trajectories.tokens_BL, state_.tokens_RL);
  copy(trajectories.step_BL, state_.step_RL);
  copy(trajectories.commit_logprob_BL, state_.logprob_RL);
  copy(trajectories.forwards_B, state_.forwards_R);
  copy(trajectories.attended_BK, state_.attended_RK);
  copy(trajectories.computed_begin_BK, state_.computed_begin_RK);
  copy(trajectories.computed_end_BK, state_.computed_end_RK);
}

}  // namespace drift::block
