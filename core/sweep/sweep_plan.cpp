#include <core/sweep/sweep_plan.h>

#include <core/config/cell_mistakes.h>
#include <core/sweep/run_key.h>

#include <algorithm>
#include <map>

namespace drift {
namespace {

/// What the sweep's file says of itself is no business of its runs.
void remove_sweep_section(ConfigLayer& layer) {
  const auto is_sweep = [](const auto& entry) { return entry.first == "sweep" || entry.first.starts_with("sweep."); };
  std::erase_if(layer.leaves, is_sweep);
  std::erase_if(layer.tables, is_sweep);
}

bool holds(const SweepException& exception, const SweepFile& sweep, const SweepCell& cell) {
  for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
    const auto wanted = exception.where.find(sweep.axes[axis].name);
    if (wanted == exception.where.end()) continue;
    const std::string& name = sweep.axes[axis].values[cell.values[axis]].name;
    if (std::ranges::find(wanted->second, name) == wanted->second.end()) return false;
  }
  return true;
}

ConfigDocument cell_document(const SweepFile& sweep, const SweepCell& cell) {
  std::vector<ExtendedFile> files;
  std::vector<ConfigLayer> settings;
  for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
    const SweepValue& value = sweep.axes[axis].values[cell.values[axis]];
    files.insert(files.end(), value.extends.begin(), value.extends.end());
    settings.push_back(value.settings);
    for (const SweepException& exception : value.exceptions) {
      if (holds(exception, sweep, cell)) settings.push_back(exception.settings);
    }
  }
  ConfigDocument document = load_document(sweep.file, sweep.overrides, files);
  remove_sweep_section(*(document.layers.end() - 2));
  document.layers.insert(document.layers.end() - 1, settings.begin(), settings.end());
  return document;
}

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

std::vector<SweepCell> expand_grid(const SweepFile& sweep) {
  std::vector<SweepCell> cells = {{}};
  for (const SweepAxis& axis : sweep.axes) {
    std::vector<SweepCell> longer;
    for (const SweepCell& cell : cells) {
      for (std::size_t value = 0; value < axis.values.size(); ++value) {
        SweepCell next = cell;
        next.values.push_back(value);
        next.label += (next.label.empty() ? "" : ", ") + axis.label(value);
        longer.push_back(std::move(next));
      }
    }
    cells = std::move(longer);
  }
  if (sweep.axes.empty()) cells.front().label = sweep.name;
  return cells;
}

std::vector<ConfigDocument> cell_documents(const SweepFile& sweep, const std::vector<SweepCell>& cells) {
  CellMistakes mistakes(cells.size());
  std::vector<ConfigDocument> documents;
  for (const SweepCell& cell : cells)
    mistakes.collect(cell.label, [&] { documents.push_back(cell_document(sweep, cell)); });
  mistakes.throw_if_any();
  return documents;
}

SweepPlan plan_sweep(SweepFile sweep, std::vector<SweepCell> cells, std::vector<ConfigDocument> documents,
                     const ResolveRun& resolve) {
  SweepPlan plan{std::move(sweep), std::move(cells), {}, {}};
  plan.seeds.resize(plan.cells.size());
  CellMistakes mistakes(plan.cells.size());
  RunKeys keys;
  std::map<std::string, std::size_t> known;
  const auto add = [&](std::size_t cell, const ConfigDocument& document) {
    RunConfig config = resolve(document);
    const auto seed = config.section("run").get<std::int64_t>("seed");
    const std::string key = keys.key(config);
    const auto [entry, is_new] = known.emplace(key, plan.runs.size());
    if (is_new) {
      const auto steps = config.section("train").get<std::int64_t>("steps");
      plan.runs.push_back({key, plan.cells[cell].label + ", seed " + std::to_string(seed), std::move(config), steps});
    }
    plan.seeds[cell].push_back({seed, entry->second});
  };
  const std::size_t seeds = plan.file.seeds.size();
  for (std::size_t seed = 0; seed < std::max<std::size_t>(1, seeds); ++seed) {
    for (std::size_t cell = 0; cell < plan.cells.size(); ++cell) {
      mistakes.collect(plan.cells[cell].label, [&] {
        add(cell, seeds == 0 ? documents[cell] : with_seed(documents[cell], plan.file, plan.file.seeds[seed]));
      });
    }
  }
  mistakes.throw_if_any();
  return plan;
}

}  // namespace drift
