#pragma once

#include "decoding_settings.h"

#include <drift/sampling.h>

#include <cstdint>
#include <vector>

namespace drift::block {

using rollouts::Quirks;

/// How many positions a forward commits.
enum class Schedule { kDynamic, kStatic, kFactor };

/// Which positions are committed first.
enum class Remasking { kLowConfidence, kMargin, kNegativeEntropy, kRandom };

/// Which keys and values a block's later forwards take from its first one.
enum class Cache { kNone, kPrefix, kDual };

struct BlockSettings : rollouts::DecodingSettings {
  std::int64_t block = 0;  ///< positions per block; divides length
  Schedule schedule = Schedule::kDynamic;
  double threshold = 0;  ///< dynamic: commit all positions of at least this score, else the surest one
  double factor = 0;
  Remasking remasking = Remasking::kLowConfidence;
  double pad_penalty = 1;
  ConfidenceOf confidence_of = ConfidenceOf::kLogits;
  Cache cache = Cache::kNone;
  std::int64_t horizon = -1;  ///< prefix: positions after the block that are computed with it; -1 = all
  std::vector<std::int64_t> unsure_ids;

  std::int64_t blocks() const { return length / block; }
  /// Scheduled forwards of block number `index`; the surplus goes to the first blocks.
  std::int64_t steps_of_block(std::int64_t index) const;
  /// Of the draw of positions; 0: the surest are first.
  double drawing_temperature() const { return schedule == Schedule::kStatic ? order_temperature : 0; }
};

}  // namespace drift::block
