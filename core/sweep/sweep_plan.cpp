#include <core/sweep/sweep_plan.h>

#include <core/grid/identity.h>

#include <drift/error.h>

#include <map>

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
    const auto seed = config.section("run").get<std::int64_t>("seed");
    const std::string key = identity.key(config, IdentityOf::kRun);
    const auto [entry, is_new] = known.emplace(key, plan.runs.size());
    if (is_new) {
      const auto steps = config.section("train").get<std::int64_t>("steps");
      plan.runs.push_back({key, plan.cells[cell].label + ", seed " + std::to_string(seed), std::move(config), steps});
    }
    plan.seeds[cell].push_back({seed, entry->second});
  };
  if (plan.file.seeds.empty()) for_every_cell(plan.cells, [&](std::size_t cell) { add(cell, documents[cell]); });
  for (const std::int64_t seed : plan.file.seeds) {
    for_every_cell(plan.cells, [&](std::size_t cell) { add(cell, with_seed(documents[cell], plan.file, seed)); });
  }
  return plan;
}

}  // namespace drift
