#pragma once

// log.txt of the run's folder. Thread-safe; every line is on disk when the call returns.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace drift {

/// Append to `path` from now on, in place of an earlier log.
/// @throws Error if the file cannot be opened.
void open_log(const std::filesystem::path& path);
void close_log();

/// For the log alone; lost if no log is open.
void log_info(const std::string& text);

/// For the log and for the user: shown by the listener.
void log_warning(const std::string& text);

/// For the log only: the program itself prints the error that ends it.
void log_error(const std::string& text);

using WarningListener = std::function<void(const std::string& text)>;

/// Who shows warnings, one call at a time. An empty listener: "warning: …" on standard error, as at the start.
void set_warning_listener(WarningListener listener);

/// Keeps the warnings that are given while it lives, beside the listener; there is one at a time.
class KeptWarnings {
 public:
  KeptWarnings();
  ~KeptWarnings();
  KeptWarnings(const KeptWarnings&) = delete;
  KeptWarnings& operator=(const KeptWarnings&) = delete;

  /// Those since the last call.
  std::vector<std::string> take();

 private:
  std::vector<std::string> texts_;
};

}  // namespace drift
