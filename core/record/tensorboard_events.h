#pragma once

#include <core/record/step_record.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace drift {

/// One value of a run's configuration.
struct TrackedSetting {
  std::string section, name;
  std::string json;  ///< the value
};

/// What TensorBoard is told of the run itself.
struct TrackedRun {
  std::string name;
  std::vector<TrackedSetting> settings;
  std::string toml;             ///< the same, complete
  std::int64_t first_step = 0;  ///< that this process records; earlier ones stay
};

/// Event files for TensorBoard: one each time that the run starts or continues, read in the order of their names. Older
/// ones are cut before the steps that are done again. A TensorBoard that has read these already is told by the new
/// one's first event.
class TensorBoardEvents {
 public:
  /// Makes a file in this folder. @throws Error if it cannot be written, as write() does.
  TensorBoardEvents(const std::filesystem::path& folder, const TrackedRun& run);

  /// @param held_out  responses to held-out items, where the step was evaluated
  void write(const StepRecord& step, const std::vector<SampleText>& held_out) const;

 private:
  void append(std::int64_t step, const std::string& field) const;

  std::filesystem::path file_;
};

/// How often the finite values fall into bins of equal width, as a HistogramProto; empty if there are none.
std::string histogram_message(std::vector<double> values);
inline constexpr int kHistogramBins = 32;

}  // namespace drift
