#include <core/update/view_rows.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

#include <numeric>
#include <string_view>
#include <unordered_map>

namespace drift {

at::Tensor index_tensor(const std::vector<std::int64_t>& numbers, at::Device device) {
  return index_tensors({numbers}, device).front();
}

std::vector<at::Tensor> index_tensors(const std::vector<at::ArrayRef<std::int64_t>>& lists, at::Device device) {
  std::vector<std::int64_t> sizes;
  for (const auto& list : lists) sizes.push_back(static_cast<std::int64_t>(list.size()));
  const std::int64_t all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  const auto numbers = at::empty({all}, at::TensorOptions(at::kLong).pinned_memory(!device.is_cpu()));
  auto* to = numbers.data_ptr<std::int64_t>();
  for (const auto& list : lists) to = std::copy(list.begin(), list.end(), to);
  return numbers.to(device, /*non_blocking=*/true).split_with_sizes(sizes);
}

at::Tensor on_device(const at::Tensor& tensor, at::Device device) {
  if (!tensor.defined() || device.is_cpu()) return tensor;
  return tensor.pin_memory().to(device, /*non_blocking=*/true);
}

namespace {

/// ForwardInput::padding_B of this mask.
at::Tensor padding(const at::Tensor& key_mask_BS) {
  const auto hidden_B = key_mask_BS.logical_not().sum(1);
  const auto expected_BS = at::arange(key_mask_BS.size(1), at::kLong) >= hidden_B.unsqueeze(1);
  return key_mask_BS.equal(expected_BS) ? hidden_B : at::Tensor();
}

}  // namespace

ViewRows::ViewRows(const Ranks& ranks, const ModelTraits& traits, const Trajectories& trajectories,
                   const MaskPlan& plan, Views views, std::int64_t most_tokens, std::int64_t packed_tokens)
    : views_(std::move(views)),
      prompt_(trajectories.prompts.tokens_BP.size(1)),
      length_(trajectories.tokens_BL.size(1)),
      prediction_row_(traits.prediction_row),
      first_scored_at_own_row_(traits.first_scored_at_own_row),
      has_blocks_(traits.block_size > 0),
      first_own_(static_cast<std::size_t>(ranks.rank())),
      stride_(static_cast<std::size_t>(ranks.size())) {
  if (has_blocks_) {
    auto rows = block_rows(traits, trajectories, plan, views_, most_tokens);
    make_block_rows(packed_tokens == 0 ? std::move(rows) : packed_rows(rows, packed_tokens));
  } else {
    make_rows(traits, trajectories, plan);
  }
}

void ViewRows::make_rows(const ModelTraits& traits, const Trajectories& trajectories, const MaskPlan& plan) {
  const Prompts& prompts = trajectories.prompts;
  const auto view_V = index_tensor(views_), response_V = plan.response_F.index_select(0, view_V);
  const auto masked = [&](const at::Tensor& tokens_B, const at::Tensor& masked_F) {
    const auto tokens_V = tokens_B.index_select(0, response_V);
    return masked_F.defined() ? tokens_V.masked_fill(masked_F.index_select(0, view_V), traits.mask_id) : tokens_V;
  };
  // What makes a row: its tokens and the positions that are attended to. Padding may differ between groups.
  std::vector<at::Tensor> contexts{masked(prompts.tokens_BP, plan.prompt_masked_FP),
                                   masked(trajectories.tokens_BL, plan.masked_FL),
                                   prompts.group_B.index_select(0, response_V).unsqueeze(1)};
  if (plan.attended_FL.defined()) contexts.push_back(plan.attended_FL.index_select(0, view_V).to(at::kLong));
  const auto context_VC = at::cat(contexts, 1);

  const auto bytes = static_cast<std::size_t>(context_VC.size(1)) * sizeof(std::int64_t);
  const auto* const context = reinterpret_cast<const char*>(context_VC.const_data_ptr<std::int64_t>());
  std::unordered_map<std::string_view, std::size_t> row_of_context;
  std::vector<std::int64_t> first_view;  // of each row, among the views
  for (std::size_t v = 0; v < views_.size(); ++v) {
    const auto [found, is_new] =
        row_of_context.emplace(std::string_view(context + v * bytes, bytes), first_view.size());
    if (is_new) {
      first_view.push_back(static_cast<std::int64_t>(v));
      targets_.emplace_back();
    }
    const std::int64_t response = response_V.const_data_ptr<std::int64_t>()[v];
    const bool* target = plan.target_FL.const_data_ptr<bool>() + views_[v] * length_;
    const std::int64_t* written = trajectories.tokens_BL.const_data_ptr<std::int64_t>() + response * length_;
    for (std::int64_t i = 0; i < length_; ++i) {
      if (target[i]) targets_[found->second].push_back({i, written[i], static_cast<std::int64_t>(v) * length_ + i});
    }
  }
  for (auto& targets : targets_) std::ranges::stable_sort(targets, {}, &RowTarget::position);

  std::vector<std::int64_t> own;
  for (std::size_t r = first_own_; r < first_view.size(); r += stride_) own.push_back(first_view[r]);
  const auto own_R = index_tensor(own);
  sequence_ = prompt_ + length_;
  own_count_ = std::ssize(own);
  tokens_RS_ = context_VC.narrow(1, 0, sequence_).index_select(0, own_R);
  has_padding_ = prompts.mask_BP.defined() && !prompts.mask_BP.all().item<bool>();
  if (!has_padding_ && !plan.attended_FL.defined()) return;
  const auto response_R = response_V.index_select(0, own_R);
  const auto prompt_mask_BP = prompts.mask_BP.defined() ? prompts.mask_BP : at::ones_like(prompts.tokens_BP, at::kBool);
  const auto attended_RL = plan.attended_FL.defined() ? plan.attended_FL.index_select(0, view_V.index_select(0, own_R))
                                                      : at::ones({own_R.size(0), length_}, at::kBool);
  key_mask_RS_ = at::cat({prompt_mask_BP.index_select(0, response_R), attended_RL}, 1);
}

void ViewRows::make_block_rows(std::vector<BlockRow> rows) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    targets_.push_back(std::move(rows[r].targets));
    sequence_ = std::max(sequence_, std::ssize(rows[r].tokens));
    if (r % stride_ == first_own_) blocks_.push_back(std::move(rows[r]));
  }
  own_count_ = std::ssize(blocks_);
}

RowBatch ViewRows::batch(std::int64_t begin, std::int64_t end, at::Device device, const RowAdapters& adapters) const {
  RowBatch batch;
  std::int64_t width = sequence_;
  if (has_blocks_) {
    const auto rows =
        at::ArrayRef<BlockRow>(blocks_).slice(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    put_rows(rows, device, batch.forward);
    width = batch.forward.tokens_BS.size(1);
  }
  const std::int64_t before = prediction_row_ == PredictionRow::kPrevious ? 1 : 0;
  const auto predicting_row = [&](std::int64_t position) {
    if (has_blocks_) return position;
    return prompt_ + (position == 0 && first_scored_at_own_row_ ? 0 : position - before);
  };
  std::vector<std::int64_t> hidden, dropout_keys;
  for (std::int64_t r = begin; r < end; ++r) {
    std::int64_t last_position = -1;
    for (const RowTarget& target : targets_[first_own_ + static_cast<std::size_t>(r) * stride_]) {
      if (target.position != last_position) hidden.push_back((r - begin) * width + predicting_row(target.position));
      last_position = target.position;
      batch.scored.push_back({std::ssize(hidden) - 1, target.token, target.flat});
    }
    if (adapters.dropout) dropout_keys.push_back(dropout_key(r, *adapters.dropout));
  }
  batch.hidden_rows = std::ssize(hidden);
  at::ArrayRef<std::int64_t> tokens;
  if (!has_blocks_) {
    tokens = {tokens_RS_.const_data_ptr<std::int64_t>() + begin * width,
              static_cast<std::size_t>((end - begin) * width)};
  }
  const auto there = index_tensors({tokens, hidden, dropout_keys}, device);
  if (!has_blocks_) batch.forward.tokens_BS = there[0].view({end - begin, width});
  batch.forward.rows_N = there[1];
  if (key_mask_RS_.defined()) {
    const auto key_mask_BS = key_mask_RS_.narrow(0, begin, end - begin);
    if (has_padding_ || !key_mask_BS.all().item<bool>()) {
      batch.forward.key_mask_BS = on_device(key_mask_BS, device);
      batch.forward.padding_B = padding(key_mask_BS);
    }
  }
  if (!adapters.on) batch.forward.adapted_B = at::zeros({end - begin}, at::kBool);
  if (adapters.dropout) batch.forward.dropout_key_B = there[2];
  return batch;
}

/// From FNV-1a of the row's tokens, without the padding on the left; with blocks, of their positions, too.
std::int64_t ViewRows::dropout_key(std::int64_t row, const RandomStream& dropout) const {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto add = [&](std::int64_t number) { hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x100000001B3; };
  if (has_blocks_) {
    const BlockRow& own = blocks_[static_cast<std::size_t>(row)];
    for (std::size_t i = 0; i < own.tokens.size(); ++i) add(own.tokens[i]), add(own.positions[i]);
  } else {
    const std::int64_t* const tokens = tokens_RS_.const_data_ptr<std::int64_t>() + row * sequence();
    std::int64_t first = 0;
    if (key_mask_RS_.defined()) {
      const bool* const mask = key_mask_RS_.const_data_ptr<bool>() + row * sequence();
      first = std::find(mask, mask + prompt_, true) - mask;
    }
    for (std::int64_t i = first; i < sequence(); ++i) add(tokens[i]);
  }
  const RandomPoint point{0, static_cast<std::int64_t>(hash >> 32), static_cast<std::int64_t>(hash & 0xFFFFFFFF), 0};
  return static_cast<std::int64_t>(dropout.bits(point));
}

std::int64_t row_tokens(const ModelTraits& traits, const Trajectories& trajectories, const MaskPlan& plan) {
  if (traits.block_size > 0) return longest_block_row(traits, trajectories, plan);
  return trajectories.prompts.tokens_BP.size(1) + trajectories.tokens_BL.size(1);
}

TargetSet select_targets(const RowBatch& batch, Range flat, Range hidden_rows, at::Device device) {
  std::vector<std::int64_t> rows, row, token, place;
  for (const ScoredToken& one : batch.scored) {
    if (one.flat < flat.begin || one.flat >= flat.end) continue;
    if (one.hidden_row < hidden_rows.begin || one.hidden_row >= hidden_rows.end) continue;
    if (rows.empty() || rows.back() != one.hidden_row) rows.push_back(one.hidden_row);
    row.push_back(std::ssize(rows) - 1);
    token.push_back(one.token);
    place.push_back(one.flat - flat.begin);
  }
  const auto there = index_tensors({rows, row, token, place}, device);
  return {there[0], {there[1], there[2]}, there[3]};
}

}  // namespace drift
