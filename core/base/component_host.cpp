#include <core/base/component_host.h>

#include <core/base/log.h>
#include <core/ranks/ranks.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace drift {

class RunHost::OfComponent final : public Host {
 public:
  OfComponent(RunHost& run, ComponentKind kind, std::string name)
      : run_(run), kind_(kind_name(kind)), name_(std::move(name)) {}

  void log(LogLevel level, std::string_view text) override {
    level == LogLevel::kWarning ? log_warning(line(text)) : log_info(line(text));
  }

  void warn_once(std::string_view text) override { run_.warn_once(line(text)); }

  void metric(std::string_view name, double sum, double count) override {
    check_metric_name(name);
    if (name_ == "loss")
      throw Error(
          "a component that is called `loss` cannot report metrics: in metrics.jsonl, `loss/NAME` is the loss's",
          "give it another name");
    const std::lock_guard lock(run_.mutex_);
    Ratio& ratio = run_.metrics_[name_ + "/" + std::string(name)];
    ratio.sum += sum;
    ratio.count += count;
  }

  RandomStream random(std::string_view name) const override {
    return RandomStream(run_.seed_, kind_).child(name_).child(name);
  }

 private:
  std::string line(std::string_view text) const { return kind_ + " `" + name_ + "`: " + std::string(text); }

  RunHost& run_;
  std::string kind_, name_;
};

std::unique_ptr<Component> RunHost::make(const ComponentEntry& entry, const Parameters& params,
                                         const ModelConfig* model_config) {
  ComponentContext context;
  context.params = &params;
  context.model_config = model_config;
  {
    const std::lock_guard lock(mutex_);
    auto& host = hosts_[{entry.kind, entry.name}];
    if (!host) host = std::make_shared<OfComponent>(*this, entry.kind, entry.name);
    context.host = host.get();
  }
  return entry.create(context);
}

void RunHost::warn_once(const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (!warned_.insert(text).second) return;
  }
  log_warning(text);
}

// What every rank computes is counted by each of them, which does not change its mean.
std::map<std::string, double, std::less<>> RunHost::take_metrics(Ranks& ranks) {
  const std::lock_guard lock(mutex_);
  nlohmann::json own = nlohmann::json::object();
  for (const auto& [name, ratio] : metrics_) own[name] = {ratio.sum, ratio.count};
  metrics_.clear();
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

void check_metric_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || !std::ranges::all_of(name, allowed))
    throw Error("`" + std::string(name) + "` is not a name for a metric", "use letters, digits and `_`");
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

}  // namespace drift
