#pragma once

#include <core/cli/training_run.h>
#include <core/train/rank_plan.h>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace drift {

/// A run that several ranks share: what each of them holds and moves, and how long a step takes.
class RankReport {
 public:
  /// @param available  bytes of one rank's device
  RankReport(const RankOptions& options, const RunConfig& config, const Model& shapes, const TrainingPlan& plan,
             std::optional<std::int64_t> available);

  /// What is divided: as asked for, by the option or the run's key; or the first that fits, or all if none does.
  Shard shard() const { return shard_; }
  MemoryPlan memory(const Sharding& ranks) const;

  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  RankSeconds seconds(const Sharding& ranks) const;
  std::string by_shard() const;
  std::string by_count() const;

  const RankOptions& options_;
  const RunConfig& config_;
  const Model& shapes_;
  const TrainingPlan& plan_;
  StepWork work_;
  Shard shard_;
};

}  // namespace drift
