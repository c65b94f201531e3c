#pragma once

// What the Python package drift_rl calls (sdk/python/drift_rl/_core.py): functions over Python objects, whose own
// functions are found at run time, so that the program is linked with no Python. Structures are tuples of their fields.

#include <core/base/component_host.h>
#include <core/boundary/made.h>
#include <core/cli/load_run.h>
#include <core/python/object.h>

#include <drift/error.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace drift::python {

/// Takes the tuple of its arguments, under the interpreter's lock. What it throws is raised in Python.
struct ModuleFunction {
  const char* name;
  Object (*call)(const Object& arguments);
};

std::vector<ModuleFunction> estimator_functions();
std::vector<ModuleFunction> checkpoint_functions();
std::vector<ModuleFunction> rollout_functions();
std::vector<ModuleFunction> reward_functions();

/// The interpreter's lock is given back while this lives: what is done meanwhile touches no Python object.
class WithoutGil {
 public:
  WithoutGil() : state_(api.PyEval_SaveThread()) {}
  ~WithoutGil() {
    sleep_if_finalizing();
    api.PyEval_RestoreThread(state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  void* state_;
};

/// An object of C++ that Python keeps, and ends. Python only hands it back.
Object held(std::shared_ptr<void> object);
void* holding(const Object& object);
template <class T>
T& holding_a(const Object& object) {
  return *static_cast<T*>(holding(object));
}

/// The plugins of the usual places, loaded once, and what their components are made with.
struct Installed {
  std::unique_ptr<Plugins> plugins = load_plugins();
  RunHost host{plugins->registry};
};
Installed& installed();

/// (name, type, value) for each of a dictionary's items, as _core.py writes them.
std::map<std::string, Parameter::Value> values_in(const Object& items);
/// The same as `--set KEY=VALUE` would have them.
std::vector<ConfigOverride> overrides_in(const Object& items);

/// @throws Error naming the nearest parameter if there is none of a value's name
void require_declared(const std::map<std::string, Parameter::Value>& values, const std::vector<Parameter>& declared,
                      const std::string& owner);

/// The component that is called `name`, which takes these values.
/// @throws Error naming the nearest name, of the component or of a parameter
ComponentEntry entry_of(ComponentKind kind, const std::string& name,
                        const std::map<std::string, Parameter::Value>& values);

template <class T>
std::shared_ptr<T> component_in(const Object& name, const Object& items) {
  const auto values = values_in(items);
  const ComponentEntry entry = entry_of(T::kKind, name.text(), values);
  return make_from_plugin<T>(installed().host, entry, Parameters(entry.params, values));
}

}  // namespace drift::python
