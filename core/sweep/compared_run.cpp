#include <core/sweep/compared_run.h>

#include <core/config/document.h>
#include <core/config/schema.h>

#include <drift/error.h>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

namespace fs = std::filesystem;

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "config.toml", ignored);
}

std::vector<IndexedRun> runs_directly_in(const fs::path& folder) {
  std::vector<IndexedRun> runs;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (is_run(entry->path())) runs.push_back({.folder = entry->path()});
  }
  std::ranges::sort(runs, {}, &IndexedRun::folder);
  return runs;
}

/// Whether runs that differ in the key differ in more than the seed. The threads of a sweep's run are shared out when
/// it starts.
bool sets_runs_apart(const std::string& key) {
  if (section_of(key).empty() || key == "run.seed" || key == "run.threads") return false;
  const SectionSchema* section = find_section(section_of(key));
  return section == nullptr || section->effect_of(name_of(key)).role != KeyRole::kBookkeeping;
}

/// As TOML; a path is absolute, so that runs in different folders can name the same file.
std::string text_of(const ConfigLeaf& leaf) {
  if (leaf.value && std::holds_alternative<std::string>(*leaf.value)) {
    const std::string& text = std::get<std::string>(*leaf.value);
    std::error_code none;
    if (const fs::path place = leaf.place_of(text); !text.empty() && fs::exists(place, none))
      return to_toml(Parameter::Value(fs::weakly_canonical(place, none).string()));
  }
  return leaf.text();
}

std::int64_t whole_number(const ConfigDocument& document, const std::string& key) {
  std::int64_t number = 0;
  for (const ConfigLayer& layer : document.layers) {
    const auto found = layer.leaves.find(key);
    if (found == layer.leaves.end() || !found->second.value) continue;
    if (const auto* value = std::get_if<std::int64_t>(&*found->second.value)) number = *value;
  }
  return number;
}

double forwards_of(const StepRecord& step, std::int64_t group_size) {
  if (group_size == 0 || step.groups == 0) return kUnknown;
  // A skipped step has no update.
  const double update = std::isnan(step.update_forwards_per_response) ? 0 : step.update_forwards_per_response;
  return static_cast<double>(step.groups * group_size) * (step.forwards_per_response + update);
}

std::vector<RunCost> costs_of(const std::vector<StepRecord>& steps, std::int64_t group_size) {
  std::vector<RunCost> costs;
  RunCost so_far{0, 0};
  for (const StepRecord& step : steps) {
    if (step.step > 0) {
      so_far.forwards += forwards_of(step, group_size);
      so_far.seconds += step.seconds ? step.seconds->total : kUnknown;
    }
    costs.push_back(so_far);
  }
  return costs;
}

}  // namespace

ComparedRun read_compared_run(const fs::path& folder) {
  ComparedRun run;
  run.folder = folder;
  const ConfigDocument document = load_document(folder / "config.toml", {});
  for (const ConfigLayer& layer : document.layers) {
    for (const auto& [key, leaf] : layer.leaves) {
      if (sets_runs_apart(key)) run.settings[key] = text_of(leaf);
    }
  }
  run.seed = whole_number(document, "run.seed");
  run.record = read_run(folder);
  run.costs = costs_of(run.record.metrics, whole_number(document, "train.group_size"));
  return run;
}

std::vector<IndexedRun> begun_runs(const fs::path& folder) {
  if (is_run(folder)) return {{.folder = folder}};
  std::vector<IndexedRun> runs = read_sweep_index(folder);
  std::erase_if(runs, [](const IndexedRun& run) { return !is_run(run.folder); });
  for (const fs::path& place : {folder / "runs", folder}) {
    if (runs.empty()) runs = runs_directly_in(place);
  }
  return runs;
}

std::vector<IndexedRun> runs_in(const fs::path& folder) {
  std::vector<IndexedRun> runs = begun_runs(folder);
  if (!runs.empty()) return runs;
  if (!fs::exists(folder))
    throw Error("there is no folder " + folder.string(), "name the folder of a run or of a sweep");
  throw Error("no run has begun in " + folder.string(),
              "name the folders of runs, such as runs/quickstart, or of sweeps, such as runs/quick");
}

}  // namespace drift
