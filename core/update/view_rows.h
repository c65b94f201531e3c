#pragma once

#include <core/ranks/ranks.h>
#include <drift/mask_plan.h>
#include <drift/model.h>
#include <drift/parallel.h>
#include <drift/random.h>
#include <drift/trajectories.h>

#include <core/kernels/linear_log_softmax.h>
#include <core/update/block_rows.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace drift {

// Copies from pinned memory, for which the host does not wait.

/// Numbers as an int64 tensor, for index_select and its like.
at::Tensor index_tensor(const std::vector<std::int64_t>& numbers, at::Device device = at::kCPU);
/// Several of them, in one copy.
std::vector<at::Tensor> index_tensors(const std::vector<at::ArrayRef<std::int64_t>>& lists, at::Device device);
/// A tensor of the host; an undefined one stays undefined.
at::Tensor on_device(const at::Tensor& tensor, at::Device device);

/// A target of some rows, and the hidden row that predicts it.
struct ScoredToken {
  std::int64_t hidden_row;
  std::int64_t token;
  std::int64_t flat;  ///< as in RowTarget
};

/// Some rows as a forward pass, and what to read from it.
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

struct Range {
  std::int64_t begin, end;
};
inline constexpr Range kAllRows{0, std::numeric_limits<std::int64_t>::max()};

/// The rows of some views: their distinct masked sequences, in the order of first use, and what is scored in each.
/// Views that show the same context (the all-masked start of a group, say) have one row. Made once for a pass: its
/// scores, its gradient and the values of a value model all come from the same rows.
///
/// With blocks (ModelTraits::block_size) a row is longer, and several views of a response may share one: block_rows.h.
///
/// Each rank of the run computes every size-th of them, its own, so that any stretch of them is work for all ranks. It
/// may have none.
class ViewRows {
 public:
  /// `trajectories` and `plan` on the CPU.
  /// @param most_tokens  with blocks only: of a row of several views; 0: a row is a function of a view
  /// @param packed_tokens  with blocks only: of a row of several texts, packed_rows(); 0: a row has one
  ViewRows(const Ranks& ranks, const ModelTraits& traits, const Trajectories& trajectories, const MaskPlan& plan,
           Views views, std::int64_t most_tokens = 0, std::int64_t packed_tokens = 0);

  const Views& views() const { return views_; }
  std::int64_t length() const { return length_; }              ///< L
  std::int64_t sequence() const { return sequence_; }          ///< S; with blocks, of the longest row
  std::int64_t count() const { return std::ssize(targets_); }  ///< of all ranks
  std::int64_t own_count() const { return own_count_; }        ///< of this rank
  Range flat() const { return {0, std::ssize(views_) * length_}; }
  /// Of each row of all ranks, by position.
  const std::vector<std::vector<RowTarget>>& targets() const { return targets_; }

  /// This rank's rows [begin, end).
  RowBatch batch(std::int64_t begin, std::int64_t end, at::Device device, const RowAdapters& adapters = {}) const;

  /// This rank's rows, divided among workers, at most so many at a time: body(worker, begin, end).
  template <class Body>
  void for_each_batch(std::int64_t workers, std::int64_t at_once, const Body& body) const {
    parallel_rows(workers, own_count(), [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin; first < end; first += at_once)
        body(worker, first, std::min(end, first + at_once));
    });
  }
  /// All that a worker has at a time.
  template <class Body>
  void for_each_worker(std::int64_t workers, const Body& body) const {
    for_each_batch(workers, own_count(), body);
  }

 private:
  void make_rows(const ModelTraits& traits, const Trajectories& trajectories, const MaskPlan& plan);
  void make_block_rows(std::vector<BlockRow> rows);
  std::int64_t dropout_key(std::int64_t row, const RandomStream& dropout) const;

  const Views views_;
  const std::int64_t prompt_, length_;
  std::int64_t sequence_ = 1, own_count_ = 0;
  const PredictionRow prediction_row_;
  const bool first_scored_at_own_row_, has_blocks_;
  const std::size_t first_own_, stride_;  // this rank's rows among those of all
  std::vector<std::vector<RowTarget>> targets_;
  at::Tensor tokens_RS_;          // of this rank's rows, like the next
  at::Tensor key_mask_RS_;        // true = attended to; undefined if all are
  bool has_padding_ = false;      // a prompt of the trajectories
  std::vector<BlockRow> blocks_;  // of a model with blocks, this rank's rows
};

/// Tokens of the longest row of one view.
std::int64_t row_tokens(const ModelTraits& traits, const Trajectories& trajectories, const MaskPlan& plan);

/// Some targets of a batch, for the LM head.
struct TargetSet {
  at::Tensor rows_N;              ///< int64, which of the batch's hidden rows are read
  kernels::TokenTargets targets;  ///< row_E counts in rows_N
  at::Tensor flat_E;              ///< int64, of each target, from the beginning of the range
};

/// Targets whose `flat` is in one range and whose hidden row is in the other.
TargetSet select_targets(const RowBatch& batch, Range flat, Range hidden_rows, at::Device device);

}  // namespace drift
