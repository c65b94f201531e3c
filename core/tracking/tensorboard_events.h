#pragma once

#include <core/tracking/message.h>
#include <core/tracking/tracked_step.h>

#include <cstdint>
#include <filesystem>

namespace drift {

/// Event files for TensorBoard: one each time that the run starts or continues, read in the order of their names. Older
/// ones are cut before the steps that are done again. A TensorBoard that has read these already is told by the new
/// one's first event.
class TensorBoardEvents {
 public:
  /// Makes a file in this folder. @throws Error if it cannot be written, as write() does.
  TensorBoardEvents(const std::filesystem::path& folder, const TrackedRun& run);

  void write(const TrackedStep& step) const;

 private:
  void append(std::int64_t step, int field, const Message& content) const;

  std::filesystem::path file_;
};

}  // namespace drift
