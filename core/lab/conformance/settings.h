#pragma once

// The settings that a component is made with: its defaults, and each parameter alone at the edges of its range.

#include <core/boundary/made.h>
#include <core/lab/conformance/examination.h>

#include <drift/registry.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace drift {

using ParamValues = std::map<std::string, Parameter::Value>;

struct Setting {
  std::string text;  ///< "width = 0.0"; empty: the defaults
  ParamValues values;
};

/// The defaults first. A range that is open has the values next to its ends; one without an end has none there.
/// @param given  values that all settings have, of parameters that are then left alone
std::vector<Setting> edge_settings(const std::vector<Parameter>& specs, const ParamValues& given);

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

/// @throws Refused; PluginError for anything else that goes wrong, which also says what may be missing
std::unique_ptr<Component> construct(RunHost& host, const ComponentEntry& entry, const ParamValues& values,
                                     const ModelConfig* model_config);

/// A component as the core has it.
template <class T>
Made<T> make_examined(RunHost& host, const ComponentEntry& entry, const ParamValues& values,
                      const ModelConfig* model_config = nullptr) {
  return adopt<T>(construct(host, entry, values, model_config), callee(entry, &host), model_config);
}

}  // namespace drift
