#include "block_model_decoder.h"

#include "commit_rule.h"
#include "rows.h"
#include "tensor_decoder.h"

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>

namespace drift::block {
namespace {

/// Behind the response: its last block's end, a position for what is not open, and windows of which nobody sees
/// anything.
BlockSettings with_room(BlockSettings settings) {
  settings.length += settings.small_block_cache ? 2 * settings.block : settings.block;
  return settings;
}

}  // namespace

BlockModelDecoder::BlockModelDecoder(const BlockSettings& settings, const RolloutInput& input, std::int64_t first,
                                     std::int64_t last)
    : input_(input),
      traits_(input.policy->traits()),
      settings_(with_room(settings)),
      length_(settings.length),
      prediction_(settings_, input),
      remasking_random_(input.random.child("remasking")),
      rows_(settings_, input, first, last) {
  may_join_ = looks_are_free() && !predicts_next() && settings.small_block == 0 && !settings.quirks.stores_last_block;
  plan_T_ = rollouts::on_device(at::tensor(block_plan(settings), at::kLong), rows_.row_R.device());
}

void BlockModelDecoder::run(Trajectories& trajectories) {
  start();
  // Each forward of a row commits a token, unless it draws the mask, or ends a block.
  const std::int64_t most = 2 * settings_.length + 1000;
  const bool looks_always = looks_are_free() || settings_.small_block_cache;
  for (std::int64_t forward = 1; rows_.count() > 0 && !rollouts::is_cancelled(input_); ++forward) {
    advance();
    if (looks_always || forward % rollouts::kForwardsBetweenLooks == 0) leave();
    if (forward > most) throw Error("a response commits the mask token, where the original never ends");
  }
  rows_.write(trajectories);
}

/// The host knows where each row's blocks begin.
void BlockModelDecoder::start() {
  const std::int64_t prompt = rows_.prompt_length, block = settings_.block;
  const auto padding_R = rows_.padding_R.defined() ? rows_.padding_R : at::zeros({rows_.count()}, at::kLong);
  const auto begin_R = padding_R + (prompt - padding_R).div(block, "floor") * block;
  auto end_R = at::full_like(begin_R, prompt + length_);
  if (settings_.quirks.fills_last_block)
    end_R = padding_R + (prompt + length_ + block - 1 - padding_R).div(block, "floor") * block;
  const auto there = [&](const at::Tensor& host_R) {
    return rollouts::on_device(host_R, rows_.row_R.device()).unsqueeze(1);
  };
  begin_R1_ = there(begin_R);
  end_R1_ = there(end_R);
  const auto has_prefill_R = begin_R > padding_R;
  forwards_R1_ = there(has_prefill_R.to(at::kLong));
  turns_R1_ = at::zeros_like(begin_R1_);
  done_R1_ = at::zeros_like(begin_R1_, at::kBool);
  cache_ = prediction_.make_cache(rows_.states ? rows_.states->first_D.count() : rows_.count());
  if (has_prefill_R.any().item<bool>()) prefill(begin_R.max().item<std::int64_t>());
  if (rows_.states) cache_ = cache_->select(rows_.states->state_R);
  rows_.states.reset();
  open_RW_ = open_in_block();
  finish(open_RW_.any(1, /*keepdim=*/true).logical_not());
  if (predicts_next()) leave();  // the prompt's forward drew the first token: it may be a stop
}

/// Once for the responses to a prompt. What a row has in the window behind its whole blocks, its first block computes
/// again.
void BlockModelDecoder::prefill(std::int64_t end) {
  const std::int64_t rows = rows_.states ? rows_.states->first_D.count() : rows_.count();
  CacheWindow window;
  window.begin_B = at::zeros({rows}, at::kLong);
  window.attended_B = at::full({rows}, end, at::kLong);
  Turn first{begin_R1_, end, {}, {}, {}};
  const bool draws = predicts_next() && end == rows_.prompt_length;
  // Without a draw one position asks for the forward.
  const auto position_RK = at::zeros_like(begin_R1_);
  auto request = rows_.request({0, end, end}, position_RK, rows_.forwards_R1);
  window.key_mask_BS = std::exchange(request.forward.key_mask_BS, {});
  if (!draws) {
    request.forward.rows_N = request.forward.rows_N.narrow(0, 0, 1).fill_(end - (predicts_next() ? 0 : 1));
    input_.policy->logits(request.forward, {cache_.get(), &window});
    return;
  }
  first.place_RK = at::zeros_like(begin_R1_);
  first.open_RK = begin_R1_ == rows_.prompt_length;
  draw(first, request, {cache_.get(), &window});
}

void BlockModelDecoder::advance() {
  auto now = turn();
  auto stores_R1 = open_RW_.any(1, /*keepdim=*/true).logical_or_(done_R1_).logical_not_();
  if (may_join_ && stores_R1.all().item<bool>()) {
    forwards_R1_ = forwards_R1_ + stores_R1;  // counted as apart: a record does not depend on the batch
    move_on(stores_R1);
    now = turn();
    now.begin_R1 = begin_R1_ - settings_.block;
    now.offset_R1 = at::full_like(begin_R1_, -settings_.block);
    now.width = 2 * settings_.block;
    stores_R1 = at::zeros_like(stores_R1);
  }
  forwards_R1_ = forwards_R1_ + done_R1_.logical_not();
  settings_.small_block_cache ? forward_by_small_blocks(now) : forward(now);
  turns_R1_ = turns_R1_ + open_RW_.any(1, /*keepdim=*/true);

  if (settings_.quirks.stores_last_block) finish(stores_R1);
  move_on(stores_R1);
  if (!settings_.quirks.stores_last_block) finish(open_RW_.any(1, /*keepdim=*/true).logical_not());
  open_RW_ = open_RW_ & done_R1_.logical_not();
}

void BlockModelDecoder::move_on(const at::Tensor& stores_R1) {
  const auto moves_R1 = stores_R1 & done_R1_.logical_not();
  begin_R1_ = begin_R1_ + moves_R1 * settings_.block;
  turns_R1_ = turns_R1_ * moves_R1.logical_not();
  open_RW_ = open_in_block();
}

BlockModelDecoder::Turn BlockModelDecoder::turn() const {
  const std::int64_t block = settings_.block, small = settings_.small_block > 0 ? settings_.small_block : block;
  Turn made{begin_R1_, block, places(block).expand({rows_.count(), block}), open_RW_, {}};
  if (settings_.small_block > 0) {
    made.offset_R1 = open_RW_.to(at::kInt).argmax(1, /*keepdim=*/true).div(small, "floor") * small;
    made.place_RK = made.offset_R1 + places(small);
    made.open_RK = open_RW_.gather(1, made.place_RK);
  }
  if (predicts_next()) {
    const auto stores_R1 = open_RW_.any(1, /*keepdim=*/true).logical_or_(done_R1_).logical_not_();
    made.place_RK = at::cat({made.place_RK, at::full_like(begin_R1_, block)}, 1);
    made.open_RK = at::cat({made.open_RK, stores_R1 & (begin_R1_ + block < end_R1_)}, 1);
  }
  if (looks_are_free()) {  // the head is for open positions alone
    const auto most = std::max<std::int64_t>(1, made.open_RK.sum(1).max().item<std::int64_t>());
    const auto first_RK = at::argsort(made.open_RK, /*stable=*/true, /*dim=*/1, /*descending=*/true).narrow(1, 0, most);
    made.place_RK = made.place_RK.gather(1, first_RK);
    made.open_RK = made.open_RK.gather(1, first_RK);
  }
  return made;
}

void BlockModelDecoder::forward(const Turn& turn) {
  const std::int64_t block = settings_.block;
  const auto offset_R1 = turn.width != block ? turn.offset_R1 : at::zeros_like(begin_R1_);
  const auto place_RK = at::where(turn.open_RK, turn.place_RK - offset_R1, predicts_next() ? 1 : 0);
  const auto index_RW = (turn.begin_R1 + places(turn.width)).clamp_max(rows_.tokens_RS.size(1) - 1);
  rollouts::DrawRequest request;
  request.forward.tokens_BS = rows_.tokens_RS.gather(1, index_RW);
  request.forward.padding_B = rows_.padding_R;
  request.forward.rows_N = (place_RK + (places(rows_.count()) * turn.width).unsqueeze(1)).flatten();
  request.row_M = places(place_RK.numel());
  CacheWindow window;
  window.begin_B = turn.begin_R1.squeeze(1);
  window.attended_B = end_R1_.minimum(begin_R1_ + block).squeeze(1);
  window.key_mask_BS = rows_.key_mask_RS;
  draw(turn, request, {cache_.get(), &window});
}

void BlockModelDecoder::draw(const Turn& turn, const rollouts::DrawRequest& asked, const ForwardCache& cache) {
  // Positions that are not open share one that no row has.
  const auto position_RK =
      at::where(turn.open_RK, begin_R1_ + turn.place_RK - rows_.prompt_length, settings_.length - 1);
  rollouts::DrawRequest request = asked;
  if (settings_.temperature != 0)
    request.uniform_M = rows_.uniforms(input_.random, position_RK, rows_.forwards_R1).flatten();
  const auto sampled = rollouts::by_position(prediction_.draw(request, cache), position_RK);
  const auto score_RK = scores(settings_, rows_, remasking_random_, position_RK, sampled);
  const auto least_R = plan_T_.index_select(0, turns_R1_.clamp_max(plan_T_.size(0) - 1).squeeze(1));
  rows_.commit({position_RK, turn.open_RK}, rows_.forwards_R1, score_RK, settings_.drawing_temperature(),
               block_rule(settings_, least_R, score_RK, turn.open_RK), sampled);
  rows_.forwards_R1 = rows_.forwards_R1 + turn.open_RK.any(1, /*keepdim=*/true);
}

void BlockModelDecoder::forward_by_small_blocks(const Turn& turn) {
  const auto first_open_R1 = open_RW_.gather(1, turn.offset_R1);
  const auto whole_R1 = (turns_R1_ == 0) | first_open_R1 | open_RW_.any(1, /*keepdim=*/true).logical_not();
  // The first block behind the text.
  const auto nowhere_R1 =
      begin_R1_ + (end_R1_ - begin_R1_ + settings_.block - 1).div(settings_.block, "floor") * settings_.block;
  for (const bool whole : {true, false}) {
    const auto takes_part_R1 = (whole ? whole_R1 : whole_R1.logical_not()) & done_R1_.logical_not();
    if (!takes_part_R1.any().item<bool>()) continue;
    Turn part = turn;
    part.width = whole ? settings_.block : settings_.small_block;
    part.begin_R1 = at::where(takes_part_R1, whole ? begin_R1_ : begin_R1_ + turn.offset_R1, nowhere_R1);
    part.open_RK = turn.open_RK & takes_part_R1;
    forward(part);
  }
}

at::Tensor BlockModelDecoder::open_in_block() const {
  const auto position_RW = begin_R1_ + places(settings_.block) - rows_.prompt_length;
  const auto masked_RW = rows_.step_RL.gather(1, position_RW.clamp(0, settings_.length - 1)) < 0;
  auto open_RW =
      masked_RW & (position_RW >= 0) & (position_RW < end_R1_ - rows_.prompt_length) & done_R1_.logical_not();
  if (settings_.quirks.ends_on_schedule) open_RW = open_RW & (turns_R1_ < settings_.block_steps);
  return open_RW;
}

at::Tensor BlockModelDecoder::stops_in_block(bool at_once) const {
  const auto position_RW = begin_R1_ + places(settings_.block) - rows_.prompt_length;
  const auto place_RW = position_RW.clamp(0, settings_.length - 1);
  const auto committed_RW = (rows_.step_RL.gather(1, place_RW) >= 0) & (position_RW >= 0);
  auto stops_RW =
      committed_RW & rollouts::stops_at(settings_, rows_.response(0, settings_.length).gather(1, place_RW), traits_);
  if (at_once) stops_RW = stops_RW & ((position_RW >= 0) & committed_RW.logical_not()).cumsum(1).eq(0);
  return stops_RW.any(1, /*keepdim=*/true);
}

/// @param complete_R1  rows whose block has all it is to have
void BlockModelDecoder::finish(const at::Tensor& complete_R1) {
  auto last_R1 = begin_R1_ + settings_.block >= end_R1_;
  if (settings_.stops()) last_R1 = last_R1 | stops_in_block(false);
  done_R1_ = done_R1_ | (complete_R1 & last_R1);
  // Where a block's first position is drawn with the block before, a response may end there: nothing more is asked for.
  if (predicts_next()) done_R1_ = done_R1_ | (rows_.step_RL.narrow(1, 0, length_) >= 0).all(1, /*keepdim=*/true);
  if (settings_.stop_at_once) done_R1_ = done_R1_ | stops_in_block(true);
}

void BlockModelDecoder::leave() {
  const std::int64_t before = rows_.count();
  if (!settings_.quirks.ends_on_schedule)
    rows_.response(0, settings_.length).masked_fill_((rows_.step_RL < 0) & done_R1_, traits_.pad_id);
  std::swap(rows_.forwards_R1, forwards_R1_);  // what is written of those that leave
  const auto stay = rows_.leave(done_R1_.squeeze(1));
  std::swap(rows_.forwards_R1, forwards_R1_);
  if (stay.count() == before) return;
  for (at::Tensor* tensor : {&begin_R1_, &end_R1_, &turns_R1_, &open_RW_, &done_R1_}) *tensor = stay.of(*tensor);
  rows_.forwards_R1 = stay.of(rows_.forwards_R1);
  if (stay.count() > 0) cache_ = cache_->select(stay.device);
}

}  // namespace drift::block
