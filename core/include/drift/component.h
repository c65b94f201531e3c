#pragma once

#include <drift/export.h>

#include <cstdint>

namespace drift {

/// What a plugin can add. The numbers are part of the ABI and are never reused.
enum class ComponentKind : std::uint32_t {
  kModel = 1,
  kRollout = 2,
  kMaskingStrategy = 3,
  kLossEstimator = 4,
  kReward = 5,
  kTask = 6,
};

/// Base of everything a plugin registers. Components are created once per run, used from the thread that the method's
/// documentation names (the training thread where it names none), and destroyed before exit. Their virtual functions
/// never change once released: an interface grows by a new class derived from it, which the host asks for with
/// dynamic_cast. Structures passed to a component are created by the host and grow only at their end.
class DRIFT_API Component {
 public:
  Component() = default;
  Component(const Component&) = delete;
  Component& operator=(const Component&) = delete;
  virtual ~Component() = default;
};

}  // namespace drift
