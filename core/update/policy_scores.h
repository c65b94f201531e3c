#pragma once

#include <drift/mask_plan.h>
#include <drift/model.h>
#include <drift/trajectories.h>

#include <core/update/view_rows.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift {

/// Log-probabilities of the sampled tokens at the target positions, float32, 0 elsewhere: [F, L] in the order of the
/// views.
struct PolicyScores {
  at::Tensor logprob_FL;
  at::Tensor entropy_FL;  ///< undefined unless asked for
  std::int64_t rows = 0;  ///< distinct masked sequences that went through the model

  /// All 0, where the LM head is.
  PolicyScores(std::int64_t views, std::int64_t length, const at::Tensor& head_VH, bool want_entropy);
  PolicyScores() = default;
  /// Write the scores of some targets where they belong; different workers write different places.
  void put(const at::Tensor& flat_E, const kernels::TokenScores& scores) const;
  /// Each rank has put the scores of its own rows; then all have all of them.
  void gather_from_ranks(Ranks& ranks) const;
};

/// d loss / d log-prob and d loss / d entropy, [F, L] of some views.
struct ScoreGradient {
  at::Tensor logprob_FL;
  at::Tensor entropy_FL;  ///< undefined if the loss has no use for entropies
};

/// Scores of some views without gradients, for the old and the reference policy. Any number of views, in
/// bounded memory; each rank computes its own rows and gets all scores.
PolicyScores score_rows(Ranks& ranks, const Model& model, const ViewRows& rows, bool want_entropy,
                        const RowAdapters& adapters = {});
/// The same of rows that nothing else needs.
PolicyScores score_views(Ranks& ranks, const Model& model, const Trajectories& trajectories, const MaskPlan& plan,
                         const Views& views, bool want_entropy, const RowAdapters& adapters = {});

/// Tokens of one forward without gradients: rows at full speed, activations of a layer in cache. Also of a row that
/// several views share (ViewRows).
inline constexpr std::int64_t kTokensPerForward = 8192;

/// Rows of one forward without gradients, of one worker.
std::int64_t rows_of_a_forward(std::int64_t sequence);

/// The same of all workers: the rows whose activations score_rows() holds together.
std::int64_t rows_scored_at_once(const Model& model, std::int64_t sequence, bool on_cpu);

/// Workers that compute the rows of a model: as row_workers(), but 1 where each worker's own gradient of what is
/// trained would be large; operations of such a model are long enough to share.
std::int64_t scoring_workers(const Model& model, bool on_cpu);

/// 0, 1, …, count - 1.
Views all_views(const MaskPlan& plan);

}  // namespace drift
