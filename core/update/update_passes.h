#pragma once

#include <drift/loss_estimator.h>
#include <drift/mask_plan.h>
#include <drift/model.h>

#include <core/update/view_rows.h>

#include <cstdint>
#include <vector>

namespace drift {

/// What fits a rank's memory budget at a time; at least one of each, whatever the budget.
struct UpdateMemory {
  std::int64_t rows = 0;             ///< with the whole graph of each; 0 if not even one fits
  std::int64_t recomputed_rows = 1;  ///< where each block's input is kept and the rest is computed again
  std::int64_t logit_rows = 1;       ///< hidden rows whose logits are held
};

/// @param sequence  tokens of a view's row: row_tokens()
/// @param scored_tokens  of all views
/// @param memory_budget  bytes
UpdateMemory divide_memory(const Model& model, std::int64_t sequence, std::int64_t scored_tokens,
                           std::int64_t memory_budget);

/// Of a row whose blocks are recomputed: their inputs, and one block's graph with its gradients.
std::int64_t recomputed_row_bytes(const Model& model, std::int64_t sequence);

/// Views whose rows go through the model together.
struct UpdatePass {
  std::vector<Views> units;       ///< coupled views; each is complete
  bool recompute = false;         ///< activations inside the blocks are recomputed in the backward
  bool scores_first = false;      ///< the one unit does not fit: log-probabilities first, then gradients of some rows
  std::int64_t rows_at_once = 0;  ///< rows whose graphs are alive together, on each rank

  Views views() const;

  /// Of a row that several views share, where a view's own has `sequence` tokens.
  std::int64_t most_tokens(std::int64_t sequence) const;
};

/// All views of a plan in passes that fit, each of them on all ranks together. A unit that needs more memory costs as
/// little extra work as possible: at first nothing, then one more forward of the blocks, then also one more of the LM
/// head.
std::vector<UpdatePass> plan_passes(const MaskPlan& plan, Coupling coupling, const UpdateMemory& memory,
                                    std::int64_t ranks = 1);

/// Complete units of a pass whose logits are in memory together, as a range of the pass's views. `targets` are those of
/// each row (ViewRows::targets()), `logit_rows` what one rank may hold.
struct LogitChunk {
  Range views;
  bool fits = false;  ///< one unit may be too large
};
std::vector<LogitChunk> chunk_units(const std::vector<Views>& units, const std::vector<std::vector<RowTarget>>& targets,
                                    std::int64_t length, std::int64_t logit_rows, std::int64_t ranks = 1);

}  // namespace drift
