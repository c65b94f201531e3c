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

/// Base of everything a plugin registers. A component is created once per run, used from the thread that the method's
/// documentation names (by default the training thread), and destroyed before exit. The virtual functions of a
/// component never change once released. A feature that only some components have is a capability: a small abstract
/// class from which a component also derives, and for which the host asks.
///
///     class MyRollout : public drift::Rollout, public drift::RolloutCostEstimate { … };
///
///     if (const auto* estimate = drift::capability<drift::RolloutCostEstimate>(rollout)) …
class DRIFT_API Component {
 public:
  Component() = default;
  Component(const Component&) = delete;
  Component& operator=(const Component&) = delete;
  virtual ~Component() = default;
};

/// Capability T of a component, or null. Works between libraries: T is a class of the public headers.
template <class T>
const T* capability(const Component& component) {
  return dynamic_cast<const T*>(&component);
}
template <class T>
T* capability(Component& component) {
  return dynamic_cast<T*>(&component);
}

}  // namespace drift
