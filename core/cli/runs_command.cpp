#include <core/base/here_and_now.h>
#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/io/file_error.h>
#include <core/report/watched_run.h>
#include <core/sweep/compared_run.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace drift {
namespace {

struct RunsOptions {
  fs::path folder = "runs";
  bool json = false;
};

struct ListedRun : WatchedRun {
  fs::path folder;
  std::string algorithm = "pretrain";  ///< which names none
  double last = kUnknown, best = kUnknown;
  double seconds = 0;
};

ListedRun look_at(const fs::path& folder, const std::string& name) {
  ListedRun run;
  run.name = name;
  run.folder = folder;
  const auto settings = [&](const fs::path& config) {
    if (const auto algorithm = recorded_value(config, "algorithm.name"))
      run.algorithm = std::get<std::string>(*algorithm);
    return recorded_settings(config);
  };
  RunWatch(folder, settings).look(run, seconds_since_1970());
  for (const StepRecord& step : run.steps) {
    if (step.seconds) run.seconds += step.seconds->total;
    if (!step.held_out) continue;
    run.last = step.held_out->accuracy;
    run.best = std::fmax(run.best, run.last);
  }
  return run;
}

/// Those of the folder and of the folders in it, which may be sweeps'. The run that wrote last comes first.
std::vector<ListedRun> listed_runs(const fs::path& folder) {
  std::vector<fs::path> places = {folder};
  if (is_there(folder)) std::ranges::copy(entries_of(folder), std::back_inserter(places));
  std::vector<ListedRun> runs;
  std::set<fs::path> seen;
  for (const fs::path& place : places) {
    for (const IndexedRun& found : begun_runs(place)) {
      const bool is_direct = place == folder || place == found.folder;
      const std::string sweep = is_direct ? "" : place.filename().string() + "/";
      if (seen.insert(found.folder).second) runs.push_back(look_at(found.folder, sweep + found.title()));
    }
  }
  std::ranges::stable_sort(runs, {}, &ListedRun::quiet);
  return runs;
}

Json json_of(const ListedRun& run) {
  return {{"name", run.name},
          {"folder", run.folder.string()},
          {"state", name_of(run.state)},
          {"algorithm", run.algorithm},
          {"step", run.last_step()},
          {"steps", run.steps_planned == 0 ? Json() : Json(run.steps_planned)},
          {"last_accuracy", run.last},
          {"best_accuracy", run.best},
          {"seconds", run.seconds}};
}

int list_runs(const RunsOptions& options) {
  const std::vector<ListedRun> runs = listed_runs(options.folder.lexically_normal());
  if (runs.empty())
    throw Error("no run has begun in " + options.folder.string(),
                "start one: drift train configs/quickstart.toml; or name the folder that holds the runs");
  TextTable table{.titles = {"name", "algorithm", "steps", "last %", "best %", "seconds", "state"},
                  .is_number = {false, false, true, true, true, true, false}};
  for (const ListedRun& run : runs) {
    if (!run.trouble.empty()) std::cerr << "warning: " << printable(run.name + ": " + run.trouble) << "\n";
    if (options.json) std::cout << json_text(json_of(run)) << "\n";
    const std::string planned = run.steps_planned == 0 ? "" : "/" + std::to_string(run.steps_planned);
    table.rows.push_back({run.name, run.algorithm, std::to_string(run.last_step()) + planned, format_percent(run.last),
                          format_percent(run.best), format_decimal(run.seconds, 1), name_of(run.state)});
  }
  if (!options.json) std::cout << printable(to_text(table, detect_terminal(1).unicode));
  return 0;
}

}  // namespace

Command runs_command() {
  return make_command<RunsOptions>(
      {"runs", "the runs of a folder, the newest first",
       "A line for each run in FOLDER (default: runs) and in the sweeps there; the run that wrote last comes first.\n"
       "It says the steps that are done and planned, held-out accuracy at the last evaluation and the best one, the\n"
       "seconds of all steps (without evaluations), and the state: running, finished, stopped (by a signal), failed,\n"
       "or lost (it was killed, or its machine is gone). Only reads the folders. With --json accuracies are in [0, "
       "1],\n"
       "and what is not known is null.",
       "runs --json"},
      list_runs, [](OptionList& list, RunsOptions& options) {
        list.argument("FOLDER", options.folder, /*required=*/false);
        list.add_switch("json", "one JSON object a line", options.json);
      });
}

}  // namespace drift
