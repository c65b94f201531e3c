#pragma once

#include <chrono>

namespace drift {

/// Wall-clock seconds since its construction.
class PhaseTimer {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Since the program was loaded.
inline const PhaseTimer kProgramTimer;

}  // namespace drift
