#pragma once

// Components as plugins make them, with the names that errors need beside them.

#include <core/boundary/plugin_call.h>

#include <drift/registry.h>

#include <memory>

namespace drift {

class Rollout;

/// Ends a component within a call of its plugin, and forgets its name.
struct EndOfComponent {
  EndOfComponent() = default;
  template <class T>
  EndOfComponent(const std::default_delete<T>&) {}  // of a component of the core
  void operator()(const Component* component) const;
};
template <class T>
using Made = std::unique_ptr<T, EndOfComponent>;

/// The component of T's kind that the entry makes, named; a model is checked.
/// @param model_config  null for every kind but a model
/// @throws PluginError if it cannot be made, or a model is not what it declares or what `model_config` asks for.
template <class T>
Made<T> make_from_plugin(RunHost& host, const ComponentEntry& entry, const Parameters& params,
                         const ModelConfig* model_config = nullptr);

/// A rollout that may do what only some originals do: Taken::kOriginal.
Made<Rollout> make_original(RunHost& host, const ComponentEntry& entry, const Parameters& params);

/// What make_from_plugin() does with a component that was made.
template <class T>
Made<T> adopt(std::unique_ptr<Component> component, const Callee& callee, const ModelConfig* model_config);

}  // namespace drift
