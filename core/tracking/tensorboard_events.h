#pragma once

#include <core/tracking/message.h>
#include <core/tracking/tracked_step.h>

#include <cstdint>
#include <filesystem>

namespace drift {

/// Event files for TensorBoard: one each time that the run starts or continues. TensorBoard reads them in the order of
/// their names; what older ones say of steps that a newer one begins with or reaches no longer counts.
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
