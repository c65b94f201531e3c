#pragma once

#include <core/tracking/message.h>
#include <core/tracking/tracked_step.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace drift {

/// The folder of one run of Weights & Biases, `offline-run-TIME-ID`, as its own program leaves it without a network:
///
///     run-ID.wandb                            records of the configuration, of every step and of the end
///     files/config.yaml wandb-metadata.json
///     files/media/table/NAME_STEP.table.json  texts
///
/// `wandb sync` uploads it.
class OfflineRun {
 public:
  /// A new run in `folder`, or the one that is there: its steps before run.first_step stay.
  /// @throws Error if a file cannot be written, as the others do.
  OfflineRun(const std::filesystem::path& folder, const std::string& project, const TrackedRun& run);

  void write(const TrackedStep& step);
  /// @param status  0: the run is finished
  void end(int status);

 private:
  void start(const std::filesystem::path& folder, const std::string& project, const TrackedRun& run);
  void continue_run(const std::filesystem::path& run_folder, std::int64_t first_step);
  void write_run_files(const TrackedRun& run) const;
  /// @return the value of the step that refers to it
  std::string write_table(const std::string& name, std::int64_t step, const std::vector<SampleText>& samples);
  void append(int type, const Message& content);
  double seconds() const;

  std::filesystem::path folder_;  // of the run
  std::filesystem::path log_;
  std::size_t size_ = 0;  // of the log
  std::int64_t records_ = 0;
  std::int64_t started_ = 0;  // seconds since 1970
};

}  // namespace drift
