#pragma once

#include <drift/sampling.h>

#include <cstdint>
#include <vector>

namespace drift::block {

/// How many positions a forward commits.
enum class Schedule { kDynamic, kStatic, kFactor };

/// Which positions are committed first.
enum class Remasking { kLowConfidence, kMargin, kNegativeEntropy, kRandom };

/// Which keys and values a block's later forwards take from its first one.
enum class Cache { kNone, kPrefix, kDual };

/// Whose defects are reproduced.
enum class Original { kNone, kLlada, kFastDllm, kFastDllmLater, kRldfRelease };

struct BlockSettings {
  std::int64_t length = 0;  ///< L
  std::int64_t block = 0;   ///< positions per block; divides length
  Schedule schedule = Schedule::kDynamic;
  std::int64_t steps = 0;  ///< static: forwards for the whole response
  double threshold = 0;    ///< dynamic: commit all positions of at least this score, else the surest one
  double factor = 0;
  Remasking remasking = Remasking::kLowConfidence;
  double order_temperature = 0;  ///< static: positions are drawn by softmax(score / this); 0 = the surest
  double temperature = 0, top_p = 1, guidance = 0, pad_penalty = 1;
  std::int64_t top_k = 0;
  ConfidenceOf confidence_of = ConfidenceOf::kLogits;
  Cache cache = Cache::kNone;
  std::int64_t horizon = -1;  ///< prefix: positions after the block that are computed with it; -1 = all
  bool early_stop = false;
  std::vector<std::int64_t> forbidden_ids, unsure_ids;
  Original original = Original::kNone;

  std::int64_t blocks() const { return length / block; }
  /// Forwards of block number `index`; the surplus goes to the first blocks.
  std::int64_t steps_of_block(std::int64_t index) const;
  bool draws_positions() const { return schedule == Schedule::kStatic && order_temperature > 0; }
};

}  // namespace drift::block
