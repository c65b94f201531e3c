#pragma once

#include "host_rows.h"
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
  struct Row : rollouts::HostRow {
    using rollouts::HostRow::HostRow;
    bool finished = false;
  };

  void advance(std::int64_t step);
  std::vector<std::int64_t> masked_positions(const Row& row) const;
  void leave_to_chance(rollouts::Turn& turn) const;
  std::vector<std::size_t> order(const rollouts::Turn& turn, const SampledTokens& sampled) const;
  void commit(Row& row, const rollouts::Turn& turn, std::int64_t count, const SampledTokens& sampled);
  void stop_at_end(Row& row) const;

  const DiffusionSettings& settings_;
  const Schedule& schedule_;
  const RolloutInput& input_;
  const ModelTraits& traits_;
  const SamplingOptions sampling_;
  const rollouts::HostRows host_;
  std::vector<Row> rows_;
};

}  // namespace drift::diffusion
