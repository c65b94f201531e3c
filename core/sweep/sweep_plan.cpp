#include <core/sweep/sweep_plan.h>

#include <core/config/nearest.h>
#include <core/sweep/identity.h>

#include <drift/error.h>

#include <algorithm>
#include <map>
#include <set>

namespace drift {
namespace {

ConfigDocument with_seed(ConfigDocument document, const SweepFile& sweep, std::int64_t seed) {
  ConfigLeaf leaf;
  leaf.value = seed;
  leaf.origin = {Origin::Kind::kDerived, "[sweep] seeds of " + sweep.file.string(), {}, {}};
  ConfigLayer layer;
  layer.leaves["run.seed"] = leaf;
  layer.tables["run"] = leaf.origin;
  document.layers.push_back(std::move(layer));
  return document;
}

/// Parameters of [rollout] that differ, at least one side having its own from a preset.
std::set<std::string> different_rollouts(const RunConfig& a, const RunConfig& b) {
  std::set<std::string> names;
  const auto is_from_preset = [](const ResolvedValue* value) {
    return value != nullptr && value->origin.kind == Origin::Kind::kPreset;
  };
  const auto& rollout = *std::ranges::find(a.sections(), "rollout", &ResolvedSection::name);
  for (const ResolvedValue& of_a : rollout.values) {
    const ResolvedValue* of_b = b.find("rollout." + of_a.name);
    const bool is_equal = of_b != nullptr && of_a.value == of_b->value;
    if (!is_equal && (is_from_preset(&of_a) || is_from_preset(of_b))) names.insert(of_a.name);
  }
  return names;
}

const RunConfig& config_of(const SweepPlan& plan, std::size_t cell) {
  return plan.runs[plan.seeds[cell].front().run].config;
}

}  // namespace

SweepPlan plan_sweep(SweepFile sweep, std::vector<GridCell> cells, const std::vector<ConfigDocument>& documents,
                     const ResolveRun& resolve) {
  SweepPlan plan{std::move(sweep), std::move(cells), {}, {}};
  plan.seeds.resize(plan.cells.size());
  if (plan.cells.size() * plan.file.seeds.size() > kMostRuns)
    throw Error(plan.file.file.string() + ": the sweep has more than " + std::to_string(kMostRuns) + " runs",
                "divide it into several files");
  Identity identity;
  std::map<std::string, std::size_t> known;
  const auto add = [&](std::size_t cell, const ConfigDocument& document) {
    RunConfig config = resolve(document);
    const auto seed = config.get<RunSettings>().seed;
    const std::string key = identity.key(config, IdentityOf::kRun);
    const auto [entry, is_new] = known.emplace(key, plan.runs.size());
    if (is_new) {
      const auto steps = config.get<TrainSettings>().steps;
      plan.runs.push_back({key, plan.cells[cell].label + ", seed " + std::to_string(seed), std::move(config), steps});
    }
    plan.seeds[cell].push_back({static_cast<std::int64_t>(seed), entry->second});
  };
  if (plan.file.seeds.empty()) for_every_cell(plan.cells, [&](std::size_t cell) { add(cell, documents[cell]); });
  for (const std::int64_t seed : plan.file.seeds) {
    for_every_cell(plan.cells, [&](std::size_t cell) { add(cell, with_seed(documents[cell], plan.file, seed)); });
  }
  return plan;
}

std::size_t baseline_of(const SweepPlan& plan, std::size_t cell) {
  if (plan.file.axes.empty()) return cell;
  std::vector<std::size_t> values = plan.cells[cell].values;
  values[plan.file.compared] = plan.file.baseline;
  return static_cast<std::size_t>(std::ranges::find(plan.cells, values, &GridCell::values) - plan.cells.begin());
}

std::string different_settings(const SweepPlan& plan, std::size_t cell) {
  const std::size_t baseline = baseline_of(plan, cell), beside = baseline == cell ? baseline_of(plan, 0) : baseline;
  std::string text;
  for (const ResolvedSection& section : config_of(plan, cell).sections()) {
    for (const ResolvedValue& value : section.values) {
      const std::string key = section.name + "." + value.name;
      const bool is_axis = std::ranges::count(plan.file.axes, key, &GridAxis::name) > 0;
      if (value.effect.role == KeyRole::kBookkeeping || key == "run.seed" || is_axis) continue;
      const ResolvedValue* other = config_of(plan, beside).find(key);
      if (other != nullptr && other->value == value.value) continue;
      text += (text.empty() ? "" : ", ") + key + " = " + to_toml(value.value);
    }
  }
  return text;
}

std::vector<std::string> plan_notes(const SweepPlan& plan) {
  if (plan.file.axes.empty()) return {};
  std::set<std::string> names;
  for (std::size_t cell = 0; cell < plan.cells.size(); ++cell)
    names.merge(different_rollouts(config_of(plan, cell), config_of(plan, baseline_of(plan, cell))));
  if (names.empty()) return {};
  return {"presets give the values of axis `" + plan.file.axes[plan.file.compared].name + "` different rollouts: " +
          joined({names.begin(), names.end()}) + "; the sweep's own [rollout] can set them for all"};
}

}  // namespace drift
