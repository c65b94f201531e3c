#pragma once

#include <core/record/step_record.h>
#include <core/tracking/offline_run.h>
#include <core/tracking/tensorboard_events.h>
#include <core/tracking/tracking_settings.h>

#include <filesystem>
#include <optional>
#include <vector>

namespace drift {

/// What a run's folder holds for TensorBoard (`tensorboard/`) and for Weights & Biases (`wandb/`), where the
/// configuration asks for it.
class RunTracker {
 public:
  /// @throws Error if a file cannot be written, as the others do.
  RunTracker(const std::filesystem::path& run_folder, const TrackingSettings& settings, const TrackedRun& run);

  /// @param held_out  responses to held-out items, where the step was evaluated
  void step(const StepRecord& step, const std::vector<SampleText>& held_out);

  /// @param status  0: the run is finished
  void end(int status);
  /// The same where another error is already on its way.
  void try_to_end(int status);

 private:
  std::optional<TensorBoardEvents> tensorboard_;
  std::optional<OfflineRun> wandb_;
};

}  // namespace drift
