#pragma once

#include <core/boundary/plugin_call.h>

#include <memory>
#include <utility>

namespace drift {

/// What the guards of all kinds have in common: the plugin's object, and calls to it.
template <class T>
class Guard : public T, public GuardedComponent {
 protected:
  Guard(std::unique_ptr<T> plugin, const Callee& callee) : GuardedComponent(callee), plugin_(std::move(plugin)) {}
  ~Guard() override {
    in_plugin(callee(), "destructor", [&] { plugin_.reset(); });
  }

  template <class Body>
  decltype(auto) call(const char* method, const Body& body) const {
    return in_plugin(callee(), method, body);
  }

  /// The plugin's object has this capability.
  template <class Capability>
  bool has() const {
    return capability<Capability>(*plugin_) != nullptr;
  }
  template <class Capability>
  const Capability& as() const {
    return *capability<Capability>(std::as_const(*plugin_));
  }
  template <class Capability>
  Capability& as() {
    return *capability<Capability>(*plugin_);
  }

  std::unique_ptr<T> plugin_;
};

}  // namespace drift
