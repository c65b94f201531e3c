#pragma once

// The plan of one response of four tokens: a view that masks and scores all of them, and one that masks and scores the
// last two. PlanBuilder makes such tensors view by view.
//
//     response_F  0  0
//     term_F   0  1
//     masked_FL   1 1 1 1    0 0 1 1
//     target_FL   1 1 1 1    0 0 1 1
//     terms       2

#include <drift/reserved.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift {

/// Where the blocks of a model with block attention begin, when a view is scored.
enum class BlockOrigin : std::int64_t {
  kText = 0,      ///< at the prompt's first token, as in decoding
  kResponse = 1,  ///< at the response's first token; blocks of the prompt count back from there
};

/// With block attention and PredictionRow::kPrevious: which row predicts the first token of a block.
enum class FirstOfBlock : std::int64_t {
  kClean = 0,  ///< that of the clean token before it, as in decoding
  kNoisy = 1,  ///< that of the token before it as the view masks it, as in supervised training
};

/// Which masked contexts are scored: a flat list of F views, which can be batched in any way. Drawn once per rollout,
/// stored, and shared by the current, old and reference policy (docs/spec/algorithms.md 1.5, 1.7).
struct MaskPlan {
  at::Tensor response_F;        ///< int64, the response
  at::Tensor term_F;            ///< int64 in [0, terms): which term of the estimator's sum this view belongs to
  at::Tensor masked_FL;         ///< bool, response positions replaced by the mask token
  at::Tensor target_FL;         ///< bool, positions that are scored
  at::Tensor committed_FL;      ///< bool, targets committed by this very step (C_f); undefined: all targets
  at::Tensor weight_F;          ///< float32, weight of the view's contribution: of its loss, or, if a loss adds up
                                ///< log-probabilities over views, of those; undefined: 1
  at::Tensor prompt_masked_FP;  ///< bool, prompt positions replaced by the mask token; undefined: none
  std::int64_t terms = 0;       ///< K: the estimator's sum has this many terms per response
  at::Tensor attended_FL;       ///< bool, response positions that others attend to; undefined: all
  at::Tensor token_weight_FL;   ///< float32, weight of each target's contribution, as weight_F; undefined: 1
  at::Tensor target_step_FL;  ///< int64, of each target its place in the order in which a response was written, for the
                              ///< returns of a value model; undefined: its view's term
  Reserved<at::Tensor, 4> reserved_tensors = {};
  /// With ModelTraits::block_size, each block of a view is seen behind the clean blocks before it: one view shows a
  /// state of every block.
  BlockOrigin block_origin = BlockOrigin::kText;
  FirstOfBlock first_of_block = FirstOfBlock::kClean;
  Reserved<std::int64_t, 2> reserved_numbers = {};
};

}  // namespace drift
