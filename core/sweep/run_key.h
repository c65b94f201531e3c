#pragma once

#include <core/config/run_config.h>

#include <filesystem>
#include <map>
#include <string>

namespace drift {

/// Identity of runs: equal keys mean the same settings, so that the run need not be made again.
///
/// Every setting counts that a number of the run could depend on, its times and memory included; what does not count
/// are the run's name, where plugins lie, and when checkpoints are written and kept. A file or a checkpoint's folder
/// counts by its content, wherever it lies.
class RunKeys {
 public:
  /// 16 hexadecimal digits.
  std::string key(const RunConfig& config);

 private:
  std::string content(const std::filesystem::path& path);

  std::map<std::filesystem::path, std::string> contents_;  ///< checksums, because many runs share a checkpoint
};

}  // namespace drift
