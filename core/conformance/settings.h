#pragma once

// The settings that a component is made with: its defaults, and each parameter alone at the edges of its range.

#include <core/base/component_host.h>
#include <core/boundary/guarded.h>
#include <core/boundary/plugin_call.h>
#include <core/conformance/examination.h>

#include <drift/registry.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace drift {

using ParamValues = std::map<std::string, ParamValue>;

struct Setting {
  std::string text;  ///< "width = 0.0"; empty: the defaults
  ParamValues values;
};

/// The defaults first. A range that is open has the values next to its ends; one without an end has none there.
/// @param given  values that all settings have, of parameters that are then left alone
std::vector<Setting> edge_settings(const ParamSpecs& specs, const ParamValues& given);

/// body() for each setting; what it throws says with which one. A setting that the constructor refuses with a
/// drift::Error is left out, unless it is the first.
/// @return "14 settings"
std::string for_each_setting(const std::vector<Setting>& settings, const std::function<void(const Setting&)>& body);

/// A constructor that refused a combination of values, which it may.
struct Refused : Error {
  using Error::Error;
};

/// body(), in which a refusal of the defaults is no finding if the component may need what the kit lacks, unless it
/// reads a parameter that it does not declare. @throws RuleNotChecked
std::string or_not_checked(const ComponentEntry& entry, const std::function<std::string()>& body,
                           const ModelConfig* model_config = nullptr);

/// What the kit may lack to make a component, and what gives it; empty: nothing.
std::string missing_for(const ComponentEntry& entry, const ParamValues& values, const ModelConfig* model_config);

/// @throws Refused; PluginError for anything else that goes wrong, which also says what may be missing
template <class T>
std::unique_ptr<T> make_unguarded(const ComponentEntry& entry, const ParamValues& values,
                                  const ModelConfig* model_config = nullptr) {
  const Callee& maker = callee(entry);
  std::unique_ptr<Component> made;
  try {
    const PluginCall call(maker, "constructor");
    made = make_component(entry, Params(entry.params, values), model_config);
  } catch (const Error& refusal) {
    throw Refused(std::string("constructor: ") + refusal.what(), refusal.hint());
  } catch (...) {
    const Error error = describe_exception();
    const std::string missing = missing_for(entry, values, model_config);
    throw PluginError(maker.text + ", constructor: " + error.what(), missing.empty() ? error.hint() : missing);
  }
  auto* typed = dynamic_cast<T*>(made.get());
  if (typed == nullptr) throw Error("constructor: it made a component of another kind", "rebuild the plugin");
  made.release();
  return std::unique_ptr<T>(typed);
}

/// A component as the core has it: each call is checked.
template <class T>
std::unique_ptr<T> make_examined(const ComponentEntry& entry, const ParamValues& values,
                                 const ModelConfig* model_config = nullptr) {
  auto made = make_unguarded<T>(entry, values, model_config);
  if constexpr (T::kKind == ComponentKind::kModel) {
    return guarded(std::move(made), callee(entry), *model_config);
  } else {
    return guarded(std::move(made), callee(entry));
  }
}

}  // namespace drift
