#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/config/schema.h>
#include <core/io/atomic.h>
#include <core/io/folder_lock.h>
#include <core/plugin/used_plugins.h>
#include <core/ranks/launch.h>
#include <core/report/json_table.h>
#include <core/sweep/comparison_page.h>
#include <core/sweep/launcher.h>
#include <core/sweep/sweep_index.h>
#include <core/sweep/sweep_plan.h>
#include <core/sweep/sweep_results.h>
#include <core/sweep/sweep_runner.h>
#include <core/sweep/sweep_table.h>

#include <algorithm>

namespace drift {
namespace {

struct SweepOptions {
  ConfigOptions config;
  fs::path out;
  std::int64_t jobs = 0;  ///< 0: as the launcher has it
  std::string launcher = kLocalLauncher;
  bool dry_run = false;
  bool report = false;
  bool json = false;
};

std::string title(const SweepPlan& plan, const SweepFolder& folder, const Terminal& terminal) {
  const std::string separator = terminal.unicode() ? " · " : " | ";
  std::size_t finished = 0, wanted = 0;
  for (const SweepRun& run : plan.runs)
    finished += glance_at_run(folder.run(run.key)).status == RunStatus::kFinished ? 1 : 0;
  for (const auto& seeds : plan.seeds) wanted += seeds.size();
  std::string text = terminal.styled("sweep " + plan.file.name, Style::kStrong) + separator +
                     count_of(plan.cells.size(), "cell") + separator + count_of(plan.runs.size(), "run") + ", " +
                     std::to_string(finished) + " finished";
  if (plan.runs.size() < wanted) text += separator + std::to_string(wanted - plan.runs.size()) + " shared by cells";
  return text + separator + folder.path.string();
}

void list_runs(const SweepPlan& plan, const SweepFolder& folder, Terminal& terminal) {
  TextTable table{{"cell", "seed", "status", "step", "folder"}, {false, true, false, true, false}, {}};
  for (std::size_t cell = 0; cell < plan.cells.size(); ++cell) {
    for (const SeedRun& seed : plan.seeds[cell]) {
      const SweepRun& run = plan.runs[seed.run];
      const RunRecord record = glance_at_run(folder.run(run.key));
      table.rows.push_back({plan.cells[cell].label, std::to_string(seed.seed), status_name(record.status),
                            std::to_string(record.step) + "/" + std::to_string(run.steps),
                            folder.run(run.key).string()});
    }
  }
  std::string text = to_text(table, terminal.unicode());
  text.pop_back();
  terminal.print(text);
}

/// Finished runs are kept when the program changes: hours of work are not thrown away unasked. But it is said.
void warn_of_other_builds(const LoadedSweep& sweep, const SweepResults& results, Terminal& terminal) {
  std::size_t changed = 0;
  for (std::size_t number = 0; number < results.records.size(); ++number) {
    const RunRecord& record = results.records[number];
    if (record.status != RunStatus::kFinished) continue;
    const auto used = used_plugins(sweep.plan.runs[number].config, sweep.plugins->registry, sweep.plugins->loader);
    const bool same = record.version == DRIFT_VERSION && std::ranges::all_of(used, [&](const LoadedPlugin* plugin) {
                        const auto then = record.plugins.find(plugin->name);
                        return then != record.plugins.end() && then->second == plugin->sha256;
                      });
    changed += same ? 0 : 1;
  }
  if (changed == 0) return;
  terminal.print_warning(count_of(changed, "run") + " made by another build of Drift or of a plugin; to make them " +
                         "again, remove their folders (see runs.csv) or choose another --out");
}

std::string results_json(const SweepResults& results, const SweepFolder& folder) {
  Json json;
  json["sweep"] = results.plan->file.name;
  json["folder"] = folder.path.string();
  json["cells"] = to_json(result_numbers(results));
  json["runs"] = to_json(run_numbers(results, folder.path / "runs"));
  return json_text(json, 1) + "\n";
}

void write_results(const LoadedSweep& sweep, const SweepFolder& folder, Terminal& terminal) {
  const SweepResults results = collect_results(sweep.plan, folder.path / "runs");
  const TextTable table = result_table(results);
  std::string notes;
  for (const std::string& note : result_notes(results)) notes += note + "\n";
  write_sweep_index(sweep.plan, folder.path);
  write_file_atomically(folder.path / "table.txt",
                        to_text(table, true) + "\n" + notes + "\n" + to_text(settings_table(results), true));
  write_file_atomically(folder.path / "table.csv", to_csv(result_numbers(results)));
  write_file_atomically(folder.path / "table.tex", to_latex(table));
  write_file_atomically(folder.path / "table.md", to_markdown(table));
  write_file_atomically(folder.path / "runs.csv", to_csv(run_numbers(results, folder.path / "runs")));
  write_file_atomically(folder.path / "report.html", sweep_report(results, folder.path));
  write_file_atomically(folder.path / "sweep.toml", read_whole_file(results.plan->file.file));
  terminal.print("\n" + to_text(table, terminal.unicode()) + "\n" + printable(notes));
  warn_of_other_builds(sweep, results, terminal);
  terminal.print("tables      " + printable((folder.path / "table.{txt,csv,tex,md}").string()) +
                 ", runs.csv; table.txt also has the settings in which cells differ");
  terminal.print("report      " + printable((folder.path / "report.html").string()));
}

int sweep(const SweepOptions& options) {
  if (!options.dry_run && !options.report) require_one_process("sweep");
  if (!options.dry_run && !options.report) check_launcher(options.launcher);
  const LoadedSweep sweep = load_sweep(options.config);
  const SweepPlan& plan = sweep.plan;
  const SweepFolder folder{options.out.empty() ? default_sweep_folder(plan) : options.out};
  Terminal terminal(options.json ? std::cerr : std::cout, detect_terminal(options.json ? 2 : 1));
  terminal.print(title(plan, folder, terminal));
  for (const std::string& note : plan_notes(plan)) terminal.print_warning(printable(note));
  if (options.report && !fs::exists(folder.path))
    throw Error("there is no folder " + folder.path.string() + ": no run of this sweep has begun",
                "leave out --report to make its runs, or name another folder with --out");
  const auto print_json = [&] {
    if (options.json) std::cout << results_json(collect_results(plan, folder.path / "runs"), folder);
  };
  if (options.dry_run) {
    list_runs(plan, folder, terminal);
    print_json();
    return 0;
  }
  SweepOutcome outcome;
  if (!options.report) {
    const FolderLock lock(folder.path, "another sweep");
    write_sweep_index(plan, folder.path);
    const auto jobs = static_cast<std::size_t>(options.jobs);
    const auto launcher = make_launcher(options.launcher, plan.file, {folder.path, jobs},
                                        [&](const std::string& line) { terminal.print(line); });
    const std::size_t sharing = options.launcher == kLocalLauncher ? jobs : 1;
    outcome = run_sweep(plan, folder, *launcher, sharing, terminal);
  }
  write_results(sweep, folder, terminal);
  print_json();
  if (outcome.failed > 0) terminal.print(count_of(outcome.failed, "run") + " failed; the same command tries again");
  if (outcome.signal != 0) {
    terminal.print(printable("continue with  " + typed_command(folder.path)));
    return 128 + outcome.signal;
  }
  return outcome.failed > 0 ? 1 : 0;
}

}  // namespace

Command sweep_command() {
  return make_command<SweepOptions>(
      {"sweep", "train a grid of runs and compare them",
       "Runs every cell of the grid that is not finished yet: the same command continues a sweep that was stopped.\n"
       "Ends with tables of mean and standard error over the seeds, and with a report of all learning curves.\n"
       "With --launcher slurm every run is a task of a job array; Ctrl-C then stops only the watch ([sweep.slurm],\n"
       "docs/evaluation.md). Exit status 1 if a run failed. --json: cells and runs, with the names of table.csv and "
       "runs.csv\n"
       "(drift reference metrics).",
       "sweep configs/sweeps/quick.toml --jobs 2"},
      sweep, [](OptionList& list, SweepOptions& options) {
        list.argument("SWEEP.toml", options.config.file);
        add_settings(list, options.config);
        list.add("out", "FOLDER", "the sweep's folder; default: runs/ and the sweep's name", options.out);
        list.add("jobs", "N", "runs at a time; on a cluster as many as it takes, unless given; default: 1",
                 options.jobs)
            .default_value.reset();
        add_launcher(list, options.launcher);
        list.add_switch("dry-run", "list the runs and their state, and run nothing", options.dry_run);
        list.add_switch("report", "write tables and report from the results so far, and run nothing", options.report);
        list.add_switch("json", "print JSON; text and progress go to standard error", options.json);
      });
}

}  // namespace drift
