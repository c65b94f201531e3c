#include <core/base/component_host.h>
#include <core/base/descriptor.h>
#include <core/boundary/lent.h>
#include <core/boundary/plugin_call.h>
#include <core/config/document.h>
#include <core/config/nearest.h>
#include <core/io/json.h>
#include <core/lab/conformance/outcome_lines.h>
#include <core/lab/conformance/report.h>
#include <core/lab/conformance/rules.h>
#include <core/plugin/plugin_loader.h>
#include <core/plugin/plugin_report.h>

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <iostream>

namespace drift {
namespace {

/// The value of "PARAMETER=VALUE" for each parameter that the component has.
ParamValues given_values(const std::vector<std::string>& assignments, const std::vector<Parameter>& specs) {
  ParamValues values;
  for (const std::string& assignment : assignments) {
    const ConfigOverride override = ConfigOverride::from_set(assignment);
    const auto spec = std::ranges::find(specs, override.key, &Parameter::name);
    if (spec == specs.end()) continue;
    const ConfigDocument document = load_document({}, {override});
    const ConfigLeaf& leaf = document.layers.back().leaves.at(override.key);
    const auto value = leaf.value ? spec->as_declared(*leaf.value) : std::nullopt;
    if (!value) throw Error("--set " + assignment + ": the parameter is of type " + type_name(spec->default_value));
    values[spec->name] = *value;
  }
  return values;
}

/// What the kit prints goes to the program's standard output, and what the plugin prints to standard error.
class Lines {
 public:
  Lines() : output_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10), "standard output") {
    std::cout.flush();
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  void write(const nlohmann::ordered_json& line) const {
    const std::string text = json_text(line) + "\n";
    [[maybe_unused]] const auto written = ::write(output_.get(), text.data(), text.size());
  }

 private:
  Descriptor output_;
};

const ComponentEntry& find_component(const Registry& registry, const std::string& id) {
  std::vector<std::string> ids;
  for (const ComponentEntry& entry : registry.components()) {
    if (component_id(entry) == id) return entry;
    ids.push_back(component_id(entry));
  }
  throw Error("the plugin has no component `" + id + "`", name_hint(id, ids, "components"));
}

void check_file(const CheckRequest& request, Registry& registry, PluginLoader& loader, Examination& examination,
                const Lines& lines) {
  // Its own words on what is wrong with a file are whole.
  examination.basic_rule("loads", [&] {
    loader.load_file(request.file);
    return std::string();
  });
  if (loader.loaded().empty()) return;
  lines.write({{"plugin", plugin_summary(registry, loader.loaded().front())}});
  for (const ComponentEntry& entry : registry.components()) lines.write({{"declares", component_id(entry)}});
  examination.rule("declarations", [&] {
    const auto mistakes = declaration_mistakes(registry);
    if (!mistakes.empty()) throw Error(joined(mistakes, "; "), "correct the declarations in its DRIFT_PLUGIN(…)");
    return std::string();
  });
}

}  // namespace

std::string component_id(const ComponentEntry& entry) {
  const bool masks = entry.kind == ComponentKind::kMaskingStrategy;
  return std::string(masks ? "masking" : kind_name(entry.kind)) + "/" + entry.name;
}

void check_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination) {
  compare_lent_tensors(true);
  switch (entry.kind) {
    case ComponentKind::kModel: return check_model_rules(entry, with, examination);
    case ComponentKind::kRollout: return check_rollout_rules(entry, with, examination);
    case ComponentKind::kMaskingStrategy: return check_masking_rules(entry, with, examination);
    case ComponentKind::kLossEstimator: return check_loss_rules(entry, with, examination);
    case ComponentKind::kReward: return check_reward_rules(entry, with, examination);
    case ComponentKind::kTask: return check_task_rules(entry, with, examination);
  }
}

bool examine_here(const CheckRequest& request) {
  const Lines lines;
  bool found = false;
  const Examination::Listener listener = {[&](const std::string& rule) {
                                            lines.write({{"begins", rule}});
                                          },
                                          [&](const Outcome& outcome) {
                                            found = found || outcome.verdict == RuleVerdict::kFound;
                                            lines.write(outcome_json(outcome));
                                          }};
  Registry registry;
  PluginLoader loader(registry);
  std::set<std::string> rules;
  if (request.component.empty()) {
    Examination examination("", "", request.rules, listener);
    check_file(request, registry, loader, examination, lines);
    rules = examination.names();
  } else {
    loader.load_file(request.file);
    ComponentEntry entry = find_component(registry, request.component);
    const ParamValues leading = given_values(request.set, entry.params);
    if (!leading.empty()) entry = with_declaration(entry, leading);
    RunHost host(registry);
    ExaminedWith with{host, given_values(request.set, entry.params), "", request.references};
    if (!request.model_config.empty()) with.model_config = read_json_text(request.model_config);
    Examination examination(request.component, callee(entry).text, request.rules, listener);
    check_rules(entry, with, examination);
    rules = examination.names();
  }
  lines.write({{"ended", rules}});
  return !found;
}

}  // namespace drift
