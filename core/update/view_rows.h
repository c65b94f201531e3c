#pragma once

#include <drift/mask_plan.h>
#include <drift/model.h>
#include <drift/random.h>
#include <drift/trajectories.h>

#include <core/kernels/linear_log_softmax.h>
#include <core/ranks/ranks.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <optional>
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
  std::int64_t response = 0;           ///< one of the responses with this context
  std::vector<std::int64_t> tokens;    ///< S = P + L
  std::vector<std::uint8_t> attended;  ///< L, response positions that others attend to; empty: all
  std::vector<Target> targets;         ///< by position
};

/// The distinct masked sequences of the given views (indices into the plan), in the order of first use. `plan` and
/// `trajectories` on the CPU. `flat` counts within `views`: targets of views[v] are at v * L + position.
std::vector<ViewRow> distinct_view_rows(const ModelTraits& traits, const Trajectories& trajectories,
                                        const MaskPlan& plan, const std::vector<std::int64_t>& views);

/// Of the distinct rows of a pass, those that this rank computes: every size-th, so that any stretch of them is work
/// for all ranks. It may have none.
std::vector<ViewRow> rows_of_this_rank(const Ranks& ranks, std::vector<ViewRow> rows);

/// A target of some rows, and the hidden row that predicts it.
struct ScoredToken {
  std::int64_t hidden_row;
  std::int64_t token;
  std::int64_t flat;  ///< as in ViewRow
};

/// Rows [begin, end) as a forward pass, and what to read from it.
struct RowBatch {
  ForwardInput forward;             ///< rows_N: one hidden row for each scored position
  std::int64_t hidden_rows = 0;     ///< N
  std::vector<ScoredToken> scored;  ///< by hidden row
};

/// What rows see of a model's adapters.
struct RowAdapters {
  bool on = true;  ///< false: nothing, the frozen weights alone
  /// Of one optimizer step: the adapters' dropout. None: nothing is left out. A row's masks are a function of its
  /// tokens, so that it has the same ones in whichever pass, and whatever else is in it.
  std::optional<RandomStream> dropout = {};
};

RowBatch make_row_batch(const Model& model, const Trajectories& trajectories, const std::vector<ViewRow>& rows,
                        std::int64_t begin, std::int64_t end, at::Device device, const RowAdapters& adapters = {});

/// Some targets of a batch, for the LM head.
struct TargetSet {
  at::Tensor rows_N;              ///< int64, which of the batch's hidden rows are read
  kernels::TokenTargets targets;  ///< row_E counts in rows_N
  at::Tensor flat_E;              ///< int64, of each target, from the beginning of the range
};

struct Range {
  std::int64_t begin, end;
};
inline constexpr Range kAllRows{0, std::numeric_limits<std::int64_t>::max()};

/// Targets whose `flat` is in one range and whose hidden row is in the other.
TargetSet select_targets(const RowBatch& batch, Range flat, Range hidden_rows, at::Device device);

}  // namespace drift
