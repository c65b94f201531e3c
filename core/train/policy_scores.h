#pragma once

#include <drift/mask_plan.h>
#include <drift/model.h>
#include <drift/trajectories.h>

#include <core/train/view_rows.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

/// Log-probabilities of the sampled tokens at the target positions, float32, 0 elsewhere: [F, L] in the order of the
/// views.
struct PolicyScores {
  at::Tensor logprob_FL;
  at::Tensor entropy_FL;  ///< undefined unless asked for
  std::int64_t rows = 0;  ///< distinct masked sequences that went through the model
};

/// The scored targets of some rows, with the graph that produced them where gradients are enabled.
struct ScoredRows {
  at::Tensor logprob_E;
  at::Tensor entropy_E;  ///< undefined unless asked for
  at::Tensor flat_E;     ///< int64, where each belongs in a flattened [F, L]
};

/// One forward over rows [begin, end); the LM head runs on the scored positions only.
ScoredRows score_rows(const Model& model, const Trajectories& trajectories, const std::vector<ViewRow>& rows,
                      std::int64_t begin, std::int64_t end, bool want_entropy);

/// Scores of the given views without gradients: for the old and the reference policy. Any number of views, in bounded
/// memory.
PolicyScores score_views(const Model& model, const Trajectories& trajectories, const MaskPlan& plan,
                         const std::vector<std::int64_t>& views, bool want_entropy);

/// 0, 1, …, count - 1.
std::vector<std::int64_t> all_views(const MaskPlan& plan);

}  // namespace drift
