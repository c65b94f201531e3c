#pragma once

#include "decoding_settings.h"

#include <drift/sampling.h>

#include <cstdint>
#include <vector>

namespace drift::block {

using rollouts::Quirks;

/// How many positions a forward commits.
enum class Schedule { kDynamic, kStatic, kFactor, kEntropyBounded };

/// Which positions are committed first.
enum class Remasking { kLowConfidence, kMargin, kNegativeEntropy, kRandom, kSequential, kTakenEntropy };

/// Which keys and values a block's later forwards take from its first one.
enum class Cache { kNone, kPrefix, kDual };

struct BlockSettings : rollouts::DecodingSettings {
  std::int64_t block = 0;        ///< positions per block; 0: not known before the model is
  std::int64_t block_steps = 0;  ///< scheduled forwards of a block; 0: as `steps` says
  Schedule schedule = Schedule::kDynamic;
  /// Dynamic: commit all positions of at least this score, else the surest one; entropy_bounded: of the running sum.
  double threshold = 0;
  bool above_threshold = false;  ///< dynamic: the threshold itself is not enough
  double factor = 0;
  Remasking remasking = Remasking::kLowConfidence;
  double pad_penalty = 1;
  ConfidenceOf confidence_of = ConfidenceOf::kLogits;
  Cache cache = Cache::kNone;
  std::int64_t horizon = -1;  ///< prefix: positions after the block that are computed with it; -1 = all
  std::vector<std::int64_t> unsure_ids;
  bool append = false;           ///< nothing behind the block exists
  bool stop_at_once = false;     ///< as soon as nothing before the stop is masked
  std::int64_t small_block = 0;  ///< positions of a block that are open together; 0: all
  bool small_block_cache = false;

  /// @throws Error if the blocks do not divide the response
  void check_length() const;
  /// With what depends on the model. @throws Error if they do not go together
  BlockSettings on(const ModelTraits& traits) const;

  std::int64_t blocks() const { return length / block; }
  /// Scheduled forwards of block number `index`; the surplus goes to the first blocks.
  std::int64_t steps_of_block(std::int64_t index) const;
  /// Of the draw of positions; 0: the surest are first.
  double drawing_temperature() const { return schedule == Schedule::kStatic ? order_temperature : 0; }
};

}  // namespace drift::block
