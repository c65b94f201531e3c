#pragma once

// Rows of a model with block attention (ModelTraits::block_size). A view becomes
//
//     prompt and response, clean | the view's state of each block that it scores
//
// in one row: a state of a block sees the clean blocks before it and itself, which is what decoding saw, so that one
// forward scores one state of every block (Arriola et al. 2025, "Block Diffusion", training with two copies). What no
// scored token depends on is left out: padding, blocks without a target, the clean text from the last such block on.

#include <drift/mask_plan.h>
#include <drift/model.h>
#include <drift/trajectories.h>

#include <cstdint>
#include <vector>

namespace drift {

/// Views of a plan, by number.
using Views = std::vector<std::int64_t>;

/// A position that is scored in a row.
struct RowTarget {
  /// Of the response; in rows of a model with blocks, of the row: that of the hidden state which predicts the token.
  std::int64_t position;
  std::int64_t token;
  std::int64_t flat;  ///< v * L + position of the v-th of the views: where the log-probability belongs
};

/// One response's text, prompt and response without the prompt's padding, and the blocks that its positions are in.
struct BlockText {
  /// @param hidden  positions at the end of the response that are no part of the text
  BlockText(std::int64_t block_size, const Trajectories& trajectories, BlockOrigin origin, std::int64_t response,
            std::int64_t hidden = 0);

  std::int64_t block(std::int64_t position) const;
  /// The block's positions, [begin, end).
  std::int64_t begin(std::int64_t block) const;
  std::int64_t end(std::int64_t block) const;

  std::int64_t padding, prompt, length;  ///< tokens: of the prompt's padding, of the prompt, of both

 private:
  std::int64_t size_, origin_, before_;  // where block `before_` begins
};

/// What goes through the model, and what is read from it. `copy` and `text` as in ForwardInput::copy_BS and text_BS.
struct BlockRow {
  std::vector<std::int32_t> tokens, positions, block, copy;
  std::vector<std::int32_t> text;    ///< empty: one text
  std::vector<std::int32_t> hidden;  ///< 1: nothing attends to it (MaskPlan::attended_FL)
  std::vector<RowTarget> targets;    ///< by position
};

/// Several rows as one input, with padding that nothing sees behind the shorter ones. Tokens and positions are on
/// `device`.
void put_rows(at::ArrayRef<BlockRow> rows, at::Device device, ForwardInput& forward);

/// Tokens of the longest row of one view.
std::int64_t longest_block_row(const ModelTraits& traits, const Trajectories& trajectories, const MaskPlan& plan);

/// The rows of some views, in the order of first use; none of a view without targets. Views that show the same have one
/// row. Views of one response share its clean text, and the states of blocks that are the same, as long as the row has
/// at most `most_tokens`.
/// @param most_tokens  0: only views that show the same share a row, which is then a function of the view alone
std::vector<BlockRow> block_rows(const ModelTraits& traits, const Trajectories& trajectories, const MaskPlan& plan,
                                 const Views& views, std::int64_t most_tokens);

/// The rows side by side in rows of at most `most_tokens`, or of one of them: each in the first that has room.
std::vector<BlockRow> packed_rows(const std::vector<BlockRow>& rows, std::int64_t most_tokens);

}  // namespace drift
