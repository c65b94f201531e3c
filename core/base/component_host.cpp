#include <core/base/component_host.h>

#include <drift/error.h>

#include <ATen/Parallel.h>

#include <algorithm>
#include <iostream>
#include <utility>

namespace drift {

void HostServices::set_log(Log log) {
  const std::lock_guard lock(mutex_);
  log_ = std::move(log);
}

void HostServices::log(LogLevel level, const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (log_) {
    log_(level, line);
  } else if (level == LogLevel::kWarning) {
    std::cerr << "warning: " << line << "\n";
  }
}

void HostServices::warn_once(const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    if (!warned_.insert(line).second) return;
  }
  log(LogLevel::kWarning, line);
}

void HostServices::add_metric(const std::string& name, double sum, double count) {
  const std::lock_guard lock(mutex_);
  Ratio& ratio = metrics_[name];
  ratio.sum += sum;
  ratio.count += count;
}

std::map<std::string, double> HostServices::take_metrics() {
  const std::lock_guard lock(mutex_);
  std::map<std::string, double> means;
  for (const auto& [name, ratio] : metrics_) {
    if (ratio.count != 0) means[name] = ratio.sum / ratio.count;
  }
  metrics_.clear();
  return means;
}

HostServices& host_services() {
  static HostServices services;
  return services;
}

ComponentHost::ComponentHost(HostServices& services, ComponentKind kind, std::string name)
    : services_(services), kind_(kind_name(kind)), name_(std::move(name)) {}

void ComponentHost::log(LogLevel level, std::string_view text) {
  services_.log(level, kind_ + " `" + name_ + "`: " + std::string(text));
}

void ComponentHost::warn_once(std::string_view text) {
  services_.warn_once(kind_ + " `" + name_ + "`: " + std::string(text));
}

void ComponentHost::metric(std::string_view name, double sum, double count) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), allowed)) {
    throw Error("`" + std::string(name) + "` is not a name for a metric", "use letters, digits and `_`");
  }
  services_.add_metric(name_ + "/" + std::string(name), sum, count);
}

RandomStream ComponentHost::random(std::string_view name) const {
  return RandomStream(services_.seed(), kind_).child(name_).child(name);
}

std::int64_t ComponentHost::threads() const { return at::get_num_threads(); }

std::unique_ptr<Component> make_component(const ComponentEntry& entry, const Params& params,
                                          const ModelConfig* model_config) {
  static std::mutex mutex;
  static std::map<std::pair<ComponentKind, std::string>, std::unique_ptr<ComponentHost>> hosts;
  ComponentContext context;
  {
    const std::lock_guard lock(mutex);
    auto& host = hosts[{entry.kind, entry.name}];
    if (!host) host = std::make_unique<ComponentHost>(host_services(), entry.kind, entry.name);
    context.host = host.get();
  }
  context.params = &params;
  context.model_config = model_config;
  return entry.create(context);
}

}  // namespace drift
