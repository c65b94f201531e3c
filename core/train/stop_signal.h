#pragma once

namespace drift {

/// SIGINT and SIGTERM while it lives: the first one is remembered, and the run ends after the current step; a second
/// one ends the process at once. What was there before comes back with the destructor.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// The signal that came, or 0.
  static int received();
};

}  // namespace drift
