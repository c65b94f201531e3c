#pragma once

namespace drift {

/// SIGINT, SIGTERM and SIGHUP while it lives: the first one is remembered, and the work ends after the current step; a
/// second one ends the process immediately, but for SIGTERM and SIGHUP right after the first. An ignored SIGHUP stays
/// ignored (nohup). The destructor restores the previous handlers.
class StopSignal {
 public:
  /// @param step  what is finished first, for the message; must outlive it. Null: another process says it
  explicit StopSignal(const char* step = "step");
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// The signal that came, or 0.
  static int received();
};

}  // namespace drift
