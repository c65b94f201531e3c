#pragma once

#include <drift/rollout.h>
#include <drift/sampling.h>

#include <cstdint>
#include <vector>

namespace drift::block {

/// What a position's turn is decided by.
enum class Remasking { kLowConfidence, kMargin, kNegativeEntropy, kRandom };

struct BlockSettings {
  std::int64_t length = 0;  ///< L
  std::int64_t block = 0;   ///< positions per block; divides length
  std::int64_t steps = 0;   ///< static: forwards for the whole response
  bool dynamic = true;      ///< commit all positions of at least `threshold`, else the surest one
  double threshold = 0;
  double temperature = 0;
  Remasking remasking = Remasking::kLowConfidence;
};

/// Decodes the rows [first, last) of a rollout, each at its own pace: a row's next forward does not wait for other
/// rows, and rows that are in the same state share one forward.
class BlockDecoder {
 public:
  BlockDecoder(const BlockSettings& settings, const RolloutInput& input, std::int64_t first, std::int64_t last);

  /// Denoise until no position is masked, writing into the rows of `trajectories` (already allocated; other rows
  /// untouched).
  void run(Trajectories& trajectories);

 private:
  struct Row {
    std::int64_t index = 0;  ///< in the rollout
    std::vector<std::int64_t> tokens;
    std::vector<std::int32_t> step;
    std::vector<float> logprob;
    std::int64_t forwards = 0;
    std::int64_t block_start = 0;
    std::int64_t block_forwards = 0;
    std::int64_t block_masked = 0;  ///< masked positions of the block when it was begun
  };

  /// Rows in the same state: same prompt, same tokens.
  std::vector<std::vector<Row*>> distinct_states(const std::vector<Row*>& active) const;
  ForwardInput forward_input(const std::vector<std::vector<Row*>>& states) const;
  void advance(const std::vector<std::vector<Row*>>& states);
  void commit(Row& row, const std::vector<std::int64_t>& masked, const SampledTokens& sampled, std::int64_t offset);
  std::vector<float> scores(const Row& row, const std::vector<std::int64_t>& masked, const SampledTokens& sampled,
                            std::int64_t offset) const;
  std::vector<std::int64_t> masked_of_block(const Row& row) const;

  const BlockSettings& settings_;
  const RolloutInput& input_;
  const ModelTraits& traits_;
  SamplingOptions sampling_;
  RandomStream remasking_random_;
  std::vector<Row> rows_;
};

}  // namespace drift::block
