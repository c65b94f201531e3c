#pragma once

#include <drift/host.h>
#include <drift/registry.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace drift {

class Ranks;

/// A run as its components see it: it makes them, and gives each a host of its own, which outlives it. They share the
/// seed of their random streams, the metrics that they report, and what has been said once.
class RunHost {
 public:
  /// @param registry  what there is to make
  explicit RunHost(const Registry& registry, std::uint64_t seed = 0) : registry_(registry), seed_(seed) {}

  const Registry& registry() const { return registry_; }

  /// @param model_config  null for every kind but a model
  std::unique_ptr<Component> make(const ComponentEntry& entry, const Parameters& params,
                                  const ModelConfig* model_config = nullptr);

  /// A warning, unless it has been given.
  void warn_once(const std::string& text);

  /// What components reported by Host::metric() since the last call, over all ranks, as `COMPONENT/name`.
  std::map<std::string, double, std::less<>> take_metrics(Ranks& ranks);

 private:
  class OfComponent;
  struct Ratio {
    double sum = 0, count = 0;
  };

  const Registry& registry_;
  const std::uint64_t seed_;
  std::mutex mutex_;
  std::map<std::pair<ComponentKind, std::string>, std::shared_ptr<OfComponent>> hosts_;
  std::set<std::string> warned_;
  std::map<std::string, Ratio, std::less<>> metrics_;
};

/// The entry of a component with these values: with the sentence and the parameters that they lead to
/// (ComponentEntry::declaration, which is then empty), and with the values as defaults of the registered parameters.
/// The same entry if it has no declaration.
/// @param values  of any parameters; those that are not registered do not matter
/// @throws Error if the values lead to no declaration
ComponentEntry with_declaration(const ComponentEntry& entry, const std::map<std::string, Parameter::Value>& values);

/// Letters, digits and `_`. @throws Error
void check_metric_name(std::string_view name);

}  // namespace drift
