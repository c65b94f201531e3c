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

namespace drift {

/// What the hosts of a run's components share. Safe to use from several threads at once.
class HostServices {
 public:
  /// Where a component's lines go. The default writes warnings to standard error and drops the rest.
  using Log = std::function<void(LogLevel level, const std::string& line)>;

  void set_log(Log log);
  void set_seed(std::uint64_t seed) { seed_ = seed; }
  std::uint64_t seed() const { return seed_; }

  void log(LogLevel level, const std::string& line);
  void warn_once(const std::string& line);
  void add_metric(const std::string& name, double sum, double count);

  /// Means since the last call, by name.
  std::map<std::string, double> take_metrics();

 private:
  struct Ratio {
    double sum = 0, count = 0;
  };

  std::mutex mutex_;
  Log log_;
  std::uint64_t seed_ = 0;
  std::set<std::string> warned_;
  std::map<std::string, Ratio> metrics_;
};

/// Those of this process: a process is one run.
HostServices& host_services();

/// The host of one component.
class ComponentHost final : public Host {
 public:
  ComponentHost(HostServices& services, ComponentKind kind, std::string name);

  void log(LogLevel level, std::string_view text) override;
  void warn_once(std::string_view text) override;
  void metric(std::string_view name, double sum, double count) override;
  RandomStream random(std::string_view name) const override;
  std::int64_t threads() const override;

 private:
  HostServices& services_;
  std::string kind_, name_;
};

/// A component of its own host, which is kept until the process ends.
/// @param model_config  null for every kind but a model
std::unique_ptr<Component> make_component(const ComponentEntry& entry, const Params& params,
                                          const ModelConfig* model_config = nullptr);

}  // namespace drift
