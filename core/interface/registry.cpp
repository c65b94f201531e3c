#include <drift/registry.h>

#include <drift/error.h>

#include <algorithm>

namespace drift {

namespace {

class SilentHost final : public Host {
 public:
  void log(LogLevel, std::string_view) override {}
  void warn_once(std::string_view) override {}
  void metric(std::string_view, double, double) override {}
  RandomStream random(std::string_view name) const override { return RandomStream(0, name); }
};

}  // namespace

Host& Registry::declaration_host() {
  static SilentHost host;
  return host;
}

std::string_view kind_name(ComponentKind kind) {
  switch (kind) {
    case ComponentKind::kModel: return "model";
    case ComponentKind::kRollout: return "rollout";
    case ComponentKind::kMaskingStrategy: return "masking strategy";
    case ComponentKind::kLossEstimator: return "loss";
    case ComponentKind::kReward: return "reward";
    case ComponentKind::kTask: return "task";
  }
  return "component of unknown kind";
}

void Registry::add(ComponentKind kind, std::string_view name, std::string_view doc, std::vector<Parameter> params,
                   ComponentFactory create) {
  add(kind, name, doc, std::move(params), std::move(create), nullptr);
}

void Registry::add(ComponentKind kind, std::string_view name, std::string_view doc, std::vector<Parameter> params,
                   ComponentFactory create, ReadDeclaration declaration) {
  if (const ComponentEntry* other = find(kind, name)) {
    throw Error("the " + std::string(kind_name(kind)) + " `" + std::string(name) +
                    "` is already registered by plugin `" + other->plugin + "`",
                "give one of the two another name");
  }
  components_.push_back({kind, std::string(name), std::string(doc), std::move(params), std::move(create),
                         registering_plugin_, std::move(declaration)});
}

void Registry::add_algorithm(Algorithm algorithm) {
  algorithm.plugin = registering_plugin_;
  if (const Algorithm* other = find_algorithm(algorithm.name)) {
    throw Error("the algorithm `" + algorithm.name + "` is already registered by plugin `" + other->plugin + "`",
                "give one of the two another name");
  }
  algorithms_.push_back(std::move(algorithm));
}

const std::vector<ComponentEntry>& Registry::components() const { return components_; }
const std::vector<Algorithm>& Registry::algorithms() const { return algorithms_; }

const ComponentEntry* Registry::find(ComponentKind kind, std::string_view name) const {
  const auto found = std::find_if(components_.begin(), components_.end(),
                                  [&](const ComponentEntry& e) { return e.kind == kind && e.name == name; });
  return found == components_.end() ? nullptr : &*found;
}

const Algorithm* Registry::find_algorithm(std::string_view name) const {
  const auto found =
      std::find_if(algorithms_.begin(), algorithms_.end(), [&](const Algorithm& b) { return b.name == name; });
  return found == algorithms_.end() ? nullptr : &*found;
}

}  // namespace drift
