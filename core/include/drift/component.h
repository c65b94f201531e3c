#pragma once

#include <drift/export.h>

#include <cstdint>
#include <typeinfo>

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
/// documentation names (the training thread where it names none), and destroyed before exit.
///
/// The virtual functions of a component never change once released. What only some components can do is a capability: a
/// small abstract class beside the base, which a component also derives from and the host asks for.
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

  /// Whether a capability that the class derives from counts for this object. A component that wraps another one
  /// derives from all that it can pass on, and says no to what the wrapped component lacks.
  virtual bool has_capability([[maybe_unused]] const std::type_info& capability) const { return true; }
};

/// Capability T of a component, or null. Works between libraries: T is a class of the public headers.
template <class T>
const T* capability(const Component& component) {
  const auto* found = dynamic_cast<const T*>(&component);
  return found != nullptr && component.has_capability(typeid(T)) ? found : nullptr;
}

template <class T>
T* capability(Component& component) {
  return const_cast<T*>(capability<T>(static_cast<const Component&>(component)));
}

}  // namespace drift
