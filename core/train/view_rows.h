#pragma once

#include <drift/mask_plan.h>
#include <drift/model.h>
#include <drift/trajectories.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

/// Numbers as an int64 tensor, for index_select and its like.
at::Tensor index_tensor(const std::vector<std::int64_t>& numbers, at::Device device = at::kCPU);

/// One masked sequence and what is scored in it. Views that show the same context (the all-masked start of a group,
/// say) share it.
struct ViewRow {
  struct Target {
    std::int64_t position;  ///< of the response
    std::int64_t token;
    std::int64_t flat;  ///< view * L + position: where the log-probability belongs
  };
  std::int64_t sample = 0;           ///< one of the responses with this context
  std::vector<std::int64_t> tokens;  ///< S = P + L
  std::vector<Target> targets;       ///< by position
};

/// The distinct masked sequences of the given views (indices into the plan), in the order of first use. `plan` and
/// `trajectories` on the CPU. `flat` counts within `views`: targets of views[v] lie at v * L + position.
std::vector<ViewRow> distinct_view_rows(const ModelTraits& traits, const Trajectories& trajectories,
                                        const MaskPlan& plan, const std::vector<std::int64_t>& views);

/// Rows [begin, end) as a forward pass, and what to read from its logits.
struct RowBatch {
  ForwardInput forward;      ///< rows_N: one hidden row for each scored position
  at::Tensor logit_index_E;  ///< int64, n * V + token for each target
  at::Tensor hidden_row_E;   ///< int64 n
  at::Tensor flat_E;         ///< int64
};
RowBatch make_row_batch(const ModelTraits& traits, const Trajectories& trajectories, const std::vector<ViewRow>& rows,
                        std::int64_t begin, std::int64_t end, at::Device device);

}  // namespace drift
