#pragma once

#include "schedule.h"

#include <drift/rollout.h>
#include <drift/sampling.h>

#include <cstdint>
#include <vector>

namespace drift::diffusion {

/// Decodes the rows [first, last) of a rollout. A row has a forward only at steps at which it commits something; rows
/// that are in the same state share it.
class DiffusionDecoder {
 public:
  DiffusionDecoder(const DiffusionSettings& settings, const Schedule& schedule, const RolloutInput& input,
                   std::int64_t first, std::int64_t last);

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
    bool finished = false;
  };

  /// What a row does at a step.
  struct Turn {
    Row* row;
    std::vector<std::int64_t> positions;  ///< to predict, ascending
    std::int64_t commits;                 ///< of them
    std::int64_t first_draw = 0;          ///< of M: the draws of a turn are consecutive
  };

  /// Turns of rows with the same prompt and the same tokens.
  using State = std::vector<Turn*>;

  std::vector<Turn> turns(std::int64_t step);
  std::vector<std::int64_t> positions(const Row& row, std::int64_t step) const;
  std::vector<State> distinct_states(std::vector<Turn>& turns) const;
  SampledTokens predict(const std::vector<State>& states, std::int64_t step) const;
  ForwardInput forward_input(const std::vector<State>& states) const;
  SampledTokens sample(const ForwardInput& forward, const at::Tensor& row_M,
                       const std::vector<RandomPoint>& points) const;
  void commit(const Turn& turn, const SampledTokens& sampled, std::int64_t step);
  std::vector<std::size_t> surest_first(const Turn& turn, const SampledTokens& sampled, std::int64_t step) const;
  void stop_at_end(Row& row) const;
  RandomPoint point(const Row& row, std::int64_t position, std::int64_t step) const;

  const DiffusionSettings& settings_;
  const Schedule& schedule_;
  const RolloutInput& input_;
  const ModelTraits& traits_;
  SamplingOptions sampling_;
  RandomStream order_random_;
  const bool padded_;
  std::vector<Row> rows_;
};

}  // namespace drift::diffusion
