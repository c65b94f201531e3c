#include <core/base/component_host.h>

#include <core/base/log.h>
#include <core/ranks/ranks.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

namespace drift {
namespace {

struct Ratio {
  double sum = 0, count = 0;
};

struct Shared {
  std::mutex mutex;
  std::uint64_t seed = 0;
  std::set<std::string> warned;
  std::map<std::string, Ratio, std::less<>> metrics;
};

Shared& shared() {
  static Shared all;
  return all;
}

class ComponentHost final : public Host {
 public:
  ComponentHost(ComponentKind kind, std::string name) : kind_(kind_name(kind)), name_(std::move(name)) {}

  void log(LogLevel level, std::string_view text) override {
    level == LogLevel::kWarning ? log_warning(line(text)) : log_info(line(text));
  }

  void warn_once(std::string_view text) override {
    const std::string warning = line(text);
    {
      const std::lock_guard lock(shared().mutex);
      if (!shared().warned.insert(warning).second) return;
    }
    log_warning(warning);
  }

  void metric(std::string_view name, double sum, double count) override {
    check_metric_name(name);
    if (name_ == "loss")
      throw Error(
          "a component that is called `loss` cannot report metrics: in metrics.jsonl, `loss/NAME` is the loss's",
          "give it another name");
    const std::lock_guard lock(shared().mutex);
    Ratio& ratio = shared().metrics[name_ + "/" + std::string(name)];
    ratio.sum += sum;
    ratio.count += count;
  }

  RandomStream random(std::string_view name) const override {
    const std::lock_guard lock(shared().mutex);
    return RandomStream(shared().seed, kind_).child(name_).child(name);
  }

 private:
  std::string line(std::string_view text) const { return kind_ + " `" + name_ + "`: " + std::string(text); }

  std::string kind_, name_;
};

Host& host_of(const ComponentEntry& entry) {
  static std::map<std::pair<ComponentKind, std::string>, std::unique_ptr<ComponentHost>> hosts;
  const std::lock_guard lock(shared().mutex);
  auto& host = hosts[{entry.kind, entry.name}];
  if (!host) host = std::make_unique<ComponentHost>(entry.kind, entry.name);
  return *host;
}

}  // namespace

void check_metric_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || !std::ranges::all_of(name, allowed))
    throw Error("`" + std::string(name) + "` is not a name for a metric", "use letters, digits and `_`");
}

std::unique_ptr<Component> make_component(const ComponentEntry& entry, const Parameters& params,
                                          const ModelConfig* model_config) {
  ComponentContext context;
  context.params = &params;
  context.host = &host_of(entry);
  context.model_config = model_config;
  return entry.create(context);
}

ComponentEntry with_declaration(const ComponentEntry& entry, const std::map<std::string, Parameter::Value>& values) {
  if (!entry.declaration) return entry;
  ComponentEntry complete = entry;
  complete.declaration = nullptr;
  for (Parameter& spec : complete.params) {
    if (const auto value = values.find(spec.name); value != values.end()) spec.default_value = value->second;
  }
  const ComponentDeclaration declaration = entry.declaration(Parameters(complete.params));
  if (!declaration.doc.empty()) complete.doc = declaration.doc;
  for (const Parameter& spec : declaration.params) {
    if (std::ranges::count(complete.params, spec.name, &Parameter::name) > 0)
      throw Error("the " + std::string(kind_name(entry.kind)) + " declares the parameter `" + spec.name +
                      "` twice, or `" + entry.name + "` has it already",
                  "give it another name");
    if (const std::string wrong = spec.violation(spec.default_value); !wrong.empty())
      throw Error("the default of the parameter `" + spec.name + "` " + wrong + ", not " + to_toml(spec.default_value));
    complete.params.push_back(spec);
  }
  return complete;
}

void set_component_seed(std::uint64_t seed) {
  const std::lock_guard lock(shared().mutex);
  shared().seed = seed;
}

std::map<std::string, double, std::less<>> take_component_metrics() {
  Ranks alone;
  return take_component_metrics(alone);
}

// What every rank computes is counted by each of them, which does not change its mean.
std::map<std::string, double, std::less<>> take_component_metrics(Ranks& ranks) {
  const std::lock_guard lock(shared().mutex);
  nlohmann::json own = nlohmann::json::object();
  for (const auto& [name, ratio] : shared().metrics) own[name] = {ratio.sum, ratio.count};
  shared().metrics.clear();
  std::map<std::string, Ratio, std::less<>> sums;
  for (const nlohmann::json& of_rank : ranks.gather_json(own)) {
    for (const auto& [name, ratio] : of_rank.items()) {
      sums[name].sum += ratio[0].get<double>();
      sums[name].count += ratio[1].get<double>();
    }
  }
  std::map<std::string, double, std::less<>> means;
  for (const auto& [name, ratio] : sums) {
    if (ratio.count != 0) means[name] = ratio.sum / ratio.count;
  }
  return means;
}

}  // namespace drift
