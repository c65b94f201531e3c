#pragma once

// After a forward of a block of masked positions: the surest are committed, on any device without waiting for it.
//
//     drift::CommitRule rule;
//     rule.threshold = 0.9;
//     const auto failed = at::zeros({}, score_RK.options().dtype(at::kBool));
//     const auto chosen_RK = drift::choose_commits(score_RK, rule, failed);

#include <drift/export.h>
#include <drift/reserved.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift {

enum class CommitBy : std::uint32_t {
  kThreshold = 0,  ///< all whose score reaches it; at least one
  kFactor = 1,     ///< ranks r = 0, 1, … up to the first whose score is below 1 - factor / (r + 2); at least one
  kCount = 2,      ///< as many as `count_R` says
};

/// How many of a row's positions are committed; which: those of the highest scores, equal ones from left to right.
struct CommitRule {
  CommitBy by = CommitBy::kThreshold;
  double threshold = 0;
  double factor = 0;
  at::Tensor count_R;  ///< int64
  Reserved<at::Tensor, 2> reserved_tensors = {};
  Reserved<std::int64_t, 4> reserved_numbers = {};
};

/// @param score_RK  float32; -infinity where a position is not to be committed. Rows without any other commit nothing.
/// @param failed    bool, 0-d, of the same device: set if a score is not a number, and the row's choice is then any
/// @return bool [R, K]
DRIFT_API at::Tensor choose_commits(const at::Tensor& score_RK, const CommitRule& rule, const at::Tensor& failed);

}  // namespace drift
