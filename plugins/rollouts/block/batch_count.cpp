#include "batch_count.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

namespace drift::block {

namespace {

/// Forwards of the batch for each block: those of its slowest row.
std::vector<std::int64_t> batch_forwards(const std::vector<RowForwards>& rows, const BlockSettings& settings) {
  std::vector<std::int64_t> forwards(static_cast<std::size_t>(settings.blocks()), 0);
  for (std::size_t k = 0; k < forwards.size(); ++k) {
    for (const RowForwards& row : rows) forwards[k] = std::max(forwards[k], row[k]);
    if (settings.quirks.second_forward) forwards[k] = std::max<std::int64_t>(forwards[k], 2);
    if (settings.quirks.all_forwards) {
      forwards[k] = std::max(forwards[k], settings.steps_of_block(static_cast<std::int64_t>(k)));
    }
  }
  return forwards;
}

/// Blocks until all rows have one of padding, that one included.
std::int64_t blocks_before_padding(const at::Tensor& tokens_BL, const BlockSettings& settings, std::int64_t pad_id) {
  for (std::int64_t k = 0; k < settings.blocks(); ++k) {
    if ((tokens_BL.narrow(1, k * settings.block, settings.block) == pad_id).all().item<bool>()) return k + 1;
  }
  return settings.blocks();
}

}  // namespace

void count_over_batch(const std::vector<RowForwards>& rows, const BlockSettings& settings, std::int64_t pad_id,
                      Trajectories& made) {
  const auto forwards = batch_forwards(rows, settings);
  const std::int64_t kept =
      settings.quirks.padding_ends_batch ? blocks_before_padding(made.tokens_BL, settings, pad_id) : settings.blocks();
  std::int64_t before = 0;
  std::vector<std::int64_t> before_row(rows.size(), 0);
  for (std::int64_t k = 0; k < kept; ++k) {
    for (std::size_t b = 0; b < rows.size(); ++b) {
      auto step = made.step_BL[static_cast<std::int64_t>(b)].narrow(0, k * settings.block, settings.block);
      step.add_((step >= 0).to(at::kInt) * (before - before_row[b]));  // -1 stays: never committed
      before_row[b] += rows[b][static_cast<std::size_t>(k)];
    }
    before += forwards[static_cast<std::size_t>(k)];
  }
  const std::int64_t end = kept * settings.block;
  made.tokens_BL.slice(1, end).fill_(pad_id);
  made.step_BL.slice(1, end).fill_(-1);
  made.commit_logprob_BL.slice(1, end).zero_();
  made.forwards_B.fill_(before);
}

}  // namespace drift::block
