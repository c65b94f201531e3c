#include <core/update/block_rows.h>

#include <core/update/view_rows.h>

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

namespace drift {
namespace {

std::int64_t floor_of(std::int64_t value, std::int64_t divisor) {
  return value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor);
}

/// Positions at the end of the view's response that nothing attends to and nothing scores: no part of its text.
std::int64_t hidden_at_end(const MaskPlan& plan, std::int64_t view) {
  if (!plan.attended_FL.defined()) return 0;
  const std::int64_t length = plan.attended_FL.size(1);
  const bool* const attended = plan.attended_FL.const_data_ptr<bool>() + view * length;
  const bool* const target = plan.target_FL.const_data_ptr<bool>() + view * length;
  std::int64_t hidden = 0;
  while (hidden < length && !attended[length - hidden - 1] && !target[length - hidden - 1]) ++hidden;
  return hidden;
}

/// A block with some of its tokens masked, and some hidden from the others.
struct BlockState {
  std::int64_t block;
  std::vector<std::int32_t> tokens, hidden;
  auto operator<=>(const BlockState&) const = default;
};

/// One view of a plan, as its text's positions see it.
class TextView {
 public:
  TextView(const ModelTraits& traits, const Trajectories& trajectories, const MaskPlan& plan, std::int64_t view)
      : response(plan.response_F.const_data_ptr<std::int64_t>()[view]),
        group(trajectories.prompts.group_B.const_data_ptr<std::int64_t>()[response]),
        response_length(trajectories.tokens_BL.size(1)),
        text(traits.block_size, trajectories, plan.block_origin, response, hidden_at_end(plan, view)),
        supervised_(plan.first_of_block == FirstOfBlock::kNoisy),
        mask_id_(traits.mask_id),
        before_(traits.prediction_row == PredictionRow::kPrevious ? 1 : 0) {
    const std::int64_t length = response_length, padded = trajectories.prompts.tokens_BP.size(1);
    prompt_P_ = trajectories.prompts.tokens_BP.select(0, response).contiguous();
    prompt_ = prompt_P_.const_data_ptr<std::int64_t>() + text.padding;
    written_ = trajectories.tokens_BL.const_data_ptr<std::int64_t>() + response * length;
    masked_ = plan.masked_FL.const_data_ptr<bool>() + view * length;
    target_ = plan.target_FL.const_data_ptr<bool>() + view * length;
    if (plan.attended_FL.defined()) attended_ = plan.attended_FL.const_data_ptr<bool>() + view * length;
    if (plan.prompt_masked_FP.defined())
      prompt_masked_ = plan.prompt_masked_FP.const_data_ptr<bool>() + view * padded + text.padding;
    find_states();
  }

  /// Calls body(position in the response) for each target.
  template <class Body>
  void each_target(const Body& body) const {
    for (std::int64_t i = 0; i < text.length - text.prompt; ++i) {
      if (target_[i]) body(i);
    }
  }

  /// The position in the text whose hidden state predicts the token at position i of the response, and the block in
  /// whose state it is; -1: in front of a block that is clean there is clean text.
  std::pair<std::int64_t, std::int64_t> predicting(std::int64_t i) const {
    const std::int64_t position = text.prompt + i, hidden = position - before_, block = text.block(hidden);
    return {hidden, supervised_ || block == text.block(position) ? block : -1};
  }

  std::int64_t token(std::int64_t position, bool noisy) const {
    if (position < text.prompt)
      return prompt_masked_ != nullptr && prompt_masked_[position] ? mask_id_ : prompt_[position];
    const std::int64_t i = position - text.prompt;
    return noisy && masked_[i] ? mask_id_ : written_[i];
  }

  bool is_hidden(std::int64_t position) const {
    return attended_ != nullptr && position >= text.prompt && !attended_[position - text.prompt];
  }

  std::int64_t written(std::int64_t i) const { return written_[i]; }

  /// Of rows that this view may be in: whose clean text, and without `shares` how much of it and all states.
  std::string key(bool shares) const {
    std::string key = (clean <= text.prompt ? "g" + std::to_string(group) : "r" + std::to_string(response)) + "/";
    for (std::int64_t p = 0; prompt_masked_ != nullptr && p < text.prompt; ++p) key += prompt_masked_[p] ? '1' : '0';
    for (std::int64_t t = 0; attended_ != nullptr && t < text.length; ++t) key += is_hidden(t) ? '1' : '0';
    if (shares) return key;
    key += "/" + std::to_string(clean);
    for (const BlockState& state : states) {
      key += "/" + std::to_string(state.block);
      key.append(reinterpret_cast<const char*>(state.tokens.data()), state.tokens.size() * sizeof(std::int32_t));
    }
    return key;
  }

  /// Without other views beside it.
  std::int64_t row_tokens() const {
    std::int64_t tokens = clean;
    for (const BlockState& state : states) tokens += std::ssize(state.tokens);
    return tokens;
  }

  const std::int64_t response, group, response_length;
  const BlockText text;            ///< without what is hidden at its end
  std::vector<BlockState> states;  ///< that it scores, ascending
  std::int64_t clean = 0;          ///< tokens of clean text that they, or targets themselves, need

 private:
  void find_states() {
    each_target([&](std::int64_t i) {
      const auto [hidden, block] = predicting(i);
      clean = std::max(clean, block >= 0 ? text.begin(block) : hidden + 1);
      if (block < 0 || (!states.empty() && states.back().block == block)) return;
      states.push_back({block, {}, {}});
      for (std::int64_t t = text.begin(block); t < text.end(block); ++t) {
        states.back().tokens.push_back(static_cast<std::int32_t>(token(t, /*noisy=*/true)));
        states.back().hidden.push_back(is_hidden(t) ? 1 : 0);
      }
    });
  }

  const bool supervised_;
  const std::int64_t mask_id_, before_;
  at::Tensor prompt_P_;
  const std::int64_t *prompt_, *written_;
  const bool *masked_, *target_, *attended_ = nullptr, *prompt_masked_ = nullptr;
};

/// A row to which views are added.
class RowDraft {
 public:
  explicit RowDraft(TextView first) : text_(std::move(first)), clean_(text_.clean) {}

  bool fits(const TextView& view, std::int64_t most_tokens) const {
    std::int64_t more = 0;
    for (const BlockState& state : view.states) more += number_.contains(state) ? 0 : std::ssize(state.tokens);
    more += std::max<std::int64_t>(view.clean - clean_, 0);
    return more == 0 || clean_ + noisy_ + more <= most_tokens;
  }

  /// @param v  its place among the views
  void add(const TextView& view, std::int64_t v) {
    clean_ = std::max(clean_, view.clean);
    for (const BlockState& state : view.states) {
      if (!number_.emplace(state, states_.size()).second) continue;
      states_.push_back({state, ++copies_[state.block]});
      noisy_ += std::ssize(state.tokens);
    }
    auto state = view.states.begin();
    view.each_target([&](std::int64_t i) {
      const auto [hidden, block] = view.predicting(i);
      const bool in_state = block >= 0;
      while (in_state && state->block < block) ++state;
      const std::int64_t position = in_state ? hidden - view.text.begin(block) : hidden;
      targets_.push_back(
          {{position, view.written(i), v * view.response_length + i}, in_state ? number_.at(*state) : kClean});
    });
  }

  /// The clean text, then the first state of each block, then the second of those that have one, …
  BlockRow finish() const {
    BlockRow row;
    for (std::int64_t t = 0; t < clean_; ++t)
      add_token(row, t, text_.token(t, /*noisy=*/false), 0, text_.is_hidden(t) ? 1 : 0);
    std::vector<std::size_t> order(states_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t n) { return std::pair(states_[n].copy, states_[n].state.block); });
    std::vector<std::int64_t> begin(states_.size());
    for (const std::size_t n : order) {
      const auto& [state, copy] = states_[n];
      begin[n] = std::ssize(row.tokens);
      for (std::size_t i = 0; i < state.tokens.size(); ++i)
        add_token(row, text_.text.begin(state.block) + static_cast<std::int64_t>(i), state.tokens[i], copy,
                  state.hidden[i]);
    }
    for (const auto& [target, state] : targets_) {
      row.targets.push_back(target);
      if (state != kClean) row.targets.back().position += begin[state];
    }
    std::ranges::stable_sort(row.targets, {}, &RowTarget::position);
    return row;
  }

 private:
  void add_token(BlockRow& row, std::int64_t position, std::int64_t token, std::int64_t copy,
                 std::int32_t hidden) const {
    row.tokens.push_back(static_cast<std::int32_t>(token));
    row.positions.push_back(static_cast<std::int32_t>(position));
    row.block.push_back(static_cast<std::int32_t>(text_.text.block(position)));
    row.copy.push_back(static_cast<std::int32_t>(copy));
    row.hidden.push_back(hidden);
  }

  static constexpr std::size_t kClean = std::numeric_limits<std::size_t>::max();
  struct Copied {
    BlockState state;
    std::int64_t copy;
  };
  TextView text_;  // of which the clean text is
  std::int64_t clean_, noisy_ = 0;
  std::vector<Copied> states_;
  std::map<BlockState, std::size_t> number_;                // of each state
  std::map<std::int64_t, std::int64_t> copies_;             // of each block
  std::vector<std::pair<RowTarget, std::size_t>> targets_;  // positions in the state of that number, or in clean text
};

}  // namespace

BlockText::BlockText(std::int64_t block_size, const Trajectories& trajectories, BlockOrigin origin,
                     std::int64_t response, std::int64_t hidden)
    : padding(0), size_(block_size) {
  const Prompts& prompts = trajectories.prompts;
  const std::int64_t padded = prompts.tokens_BP.size(1);
  if (prompts.mask_BP.defined()) {
    const auto mask_P = prompts.mask_BP.select(0, response).contiguous();
    const bool* const mask = mask_P.const_data_ptr<bool>();
    padding = std::find(mask, mask + padded, true) - mask;
  }
  prompt = padded - padding;
  length = prompt + trajectories.tokens_BL.size(1) - hidden;
  origin_ = origin == BlockOrigin::kResponse ? prompt : 0;
  before_ = (origin_ + size_ - 1) / size_;
}

std::int64_t BlockText::block(std::int64_t position) const { return before_ + floor_of(position - origin_, size_); }
std::int64_t BlockText::begin(std::int64_t block) const {
  return std::max<std::int64_t>(0, origin_ + (block - before_) * size_);
}
std::int64_t BlockText::end(std::int64_t block) const {
  return std::min(length, origin_ + (block - before_ + 1) * size_);
}

void put_rows(at::ArrayRef<BlockRow> rows, at::Device device, ForwardInput& forward) {
  std::size_t width = 0;
  for (const BlockRow& row : rows) width = std::max(width, row.tokens.size());
  const auto padded = [&](std::vector<std::int32_t> BlockRow::*const numbers) {
    const auto all_BS = at::zeros({std::ssize(rows), static_cast<std::int64_t>(width)}, at::kLong);
    auto* to = all_BS.data_ptr<std::int64_t>();
    for (const BlockRow& row : rows) {
      std::ranges::copy(row.*numbers, to);
      to += width;
    }
    return all_BS;
  };
  forward.tokens_BS = on_device(padded(&BlockRow::tokens), device);
  forward.positions_BS = on_device(padded(&BlockRow::positions), device);
  forward.block_BS = padded(&BlockRow::block);
  forward.copy_BS = padded(&BlockRow::copy);
  const auto hidden_BS = padded(&BlockRow::hidden);
  if (hidden_BS.any().item<bool>()) forward.key_mask_BS = on_device(hidden_BS == 0, device);
  const auto is_whole = [&](const BlockRow& row) { return row.text.empty() && row.tokens.size() == width; };
  if (std::ranges::all_of(rows, is_whole)) return;
  forward.text_BS = padded(&BlockRow::text);
  for (std::size_t r = 0; r < rows.size(); ++r)
    forward.text_BS[static_cast<std::int64_t>(r)].slice(0, std::ssize(rows[r].tokens)).fill_(-1);
}

std::int64_t longest_block_row(const ModelTraits& traits, const Trajectories& trajectories, const MaskPlan& plan) {
  std::int64_t longest = 1;
  for (std::int64_t view = 0; view < plan.response_F.size(0); ++view)
    longest = std::max(longest, TextView(traits, trajectories, plan, view).row_tokens());
  return longest;
}

std::vector<BlockRow> block_rows(const ModelTraits& traits, const Trajectories& trajectories, const MaskPlan& plan,
                                 const Views& views, std::int64_t most_tokens) {
  std::vector<RowDraft> drafts;
  std::unordered_map<std::string, std::size_t> open;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const TextView view(traits, trajectories, plan, views[v]);
    auto [found, is_new] = open.emplace(view.key(/*shares=*/most_tokens > 0), drafts.size());
    if (is_new || !drafts[found->second].fits(view, most_tokens)) {
      found->second = drafts.size();
      drafts.emplace_back(view);
    }
    drafts[found->second].add(view, static_cast<std::int64_t>(v));
  }
  std::vector<BlockRow> rows;
  for (const RowDraft& draft : drafts) {
    if (BlockRow row = draft.finish(); !row.targets.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<BlockRow> packed_rows(const std::vector<BlockRow>& rows, std::int64_t most_tokens) {
  std::vector<BlockRow> packed;
  for (const BlockRow& row : rows) {
    const auto has_room = [&](const BlockRow& other) {
      return std::ssize(other.tokens) + std::ssize(row.tokens) <= most_tokens;
    };
    auto to = std::ranges::find_if(packed, has_room);
    if (to == packed.end()) to = packed.emplace(packed.end());
    const std::int64_t begin = std::ssize(to->tokens);
    const std::int32_t text = to->text.empty() ? 0 : to->text.back() + 1;
    for (auto numbers : {&BlockRow::tokens, &BlockRow::positions, &BlockRow::block, &BlockRow::copy, &BlockRow::hidden})
      ((*to).*numbers).insert(((*to).*numbers).end(), (row.*numbers).begin(), (row.*numbers).end());
    to->text.resize(to->tokens.size(), text);
    for (RowTarget target : row.targets) {
      target.position += begin;
      to->targets.push_back(target);
    }
  }
  return packed;
}

}  // namespace drift
