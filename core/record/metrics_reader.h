#pragma once

// metrics.jsonl of a run's folder: one object a step.

#include <core/record/step_record.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace drift {

/// All steps, in order. A missing file is a run without a step. A last line without its end (the run was killed while
/// writing it) is left out; where a step appears again (the run was resumed before it), the later lines count.
/// @throws Error naming file and line if another line is not what it should be.
std::vector<StepRecord> read_metrics(const std::filesystem::path& path);

/// The same file while a run writes it, perhaps on another machine: every look reads what was added since the last one.
/// The file may be missing, cut off within a line, shortened or replaced (the run was resumed or begun anew).
class MetricsTail {
 public:
  explicit MetricsTail(std::filesystem::path path) : path_(std::move(path)) {}

  /// Bring `steps`, which the last look left, up to date. A line that is not the metrics of a step is passed over when
  /// others follow it; until then it may still be on its way.
  /// @return whether they changed
  bool look(std::vector<StepRecord>& steps);

  /// Lines that were passed over.
  std::int64_t unreadable() const { return unreadable_; }

 private:
  bool begin_again(std::vector<StepRecord>& steps);

  std::filesystem::path path_;
  std::uint64_t read_ = 0;      ///< bytes of complete lines
  std::string last_line_ = {};  ///< that ends there: if it no longer does, this is another file
  std::int64_t unreadable_ = 0;
};

}  // namespace drift
