#pragma once

#include <drift/host.h>
#include <drift/registry.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace drift {

/// Create a component with its own host, which is kept until the process ends.
/// @param model_config  null for every kind but a model
std::unique_ptr<Component> make_component(const ComponentEntry& entry, const Parameters& params,
                                          const ModelConfig* model_config = nullptr);

/// The entry of a component with these values: with the sentence and the parameters that they lead to
/// (ComponentEntry::declaration, which is then empty), and with the values as defaults of the registered parameters.
/// The same entry if it has no declaration.
/// @param values  of any parameters; those that are not registered do not matter
/// @throws Error if the values lead to no declaration
ComponentEntry with_declaration(const ComponentEntry& entry, const std::map<std::string, Parameter::Value>& values);

/// Letters, digits and `_`. @throws Error
void check_metric_name(std::string_view name);

// What all hosts share: a process is one run.

/// The seed of Host::random().
void set_component_seed(std::uint64_t seed);

/// What components reported by Host::metric() since the last call, as `COMPONENT/name`.
std::map<std::string, double, std::less<>> take_component_metrics();

class Ranks;
/// Collective: the same over all ranks.
std::map<std::string, double, std::less<>> take_component_metrics(Ranks& ranks);

}  // namespace drift
