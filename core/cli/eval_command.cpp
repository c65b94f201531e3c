#include <core/base/log.h>
#include <core/base/phase_timer.h>
#include <core/boundary/components.h>
#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/eval/cell_summary.h>
#include <core/eval/evaluation.h>
#include <core/eval/suite_jobs.h>
#include <core/eval/suite_tables.h>
#include <core/io/atomic.h>
#include <core/io/folder_lock.h>
#include <core/io/training_state.h>
#include <core/plugin/used_plugins.h>
#include <core/ranks/launch.h>
#include <core/report/json_table.h>
#include <core/sweep/launcher.h>

#include <algorithm>

namespace drift {
namespace {

struct EvalOptions {
  CheckpointOptions checkpoint;
  fs::path suite;
  std::vector<std::string> tasks;  ///< of the suite; empty: all
  std::string cell;                ///< of the suite, alone and without tables; empty: all
  std::string launcher = kLocalLauncher;
  fs::path out;
  bool json = false;
};

/// What --json prints. @param folder  where the responses are; empty: nowhere
std::string results_json(const std::vector<CellSummary>& cells, const EvalOptions& options, const fs::path& folder) {
  Json json;
  json["checkpoint"] = options.checkpoint.folder.string();
  json["folder"] = folder.empty() ? Json(nullptr) : Json(folder.string());
  json["complete"] = std::ranges::all_of(cells, &CellSummary::complete);
  json["cells"] = to_json(summary_numbers(cells));
  return json_text(json, 1) + "\n";
}

/// The one that --cell names, those of the tasks that --tasks names, or all.
std::vector<GridCell> chosen_cells(const SuiteFile& suite, const EvalOptions& options) {
  const std::vector<std::string>& tasks = options.tasks;
  std::vector<std::string> known;
  for (const EvaluationCell& column : suite.columns) {
    if (std::ranges::count(known, column.task) == 0) known.push_back(column.task);
  }
  for (const std::string& task : tasks) require_known("the suite has no task", task, known, "tasks");
  std::vector<GridCell> cells = cells_of(suite);
  if (!options.cell.empty()) {
    std::vector<std::string> names;
    for (const GridCell& cell : cells) names.push_back(cell.label);
    require_known("the suite has no cell", options.cell, names, "cells");
    std::erase_if(cells, [&](const GridCell& cell) { return cell.label != options.cell; });
  }
  std::erase_if(cells, [&](const GridCell& cell) {
    return !tasks.empty() && std::ranges::count(tasks, evaluation_cell(suite, cell).task) == 0;
  });
  return cells;
}

struct LoadedSuite {
  std::unique_ptr<Plugins> plugins;
  std::vector<PlannedCell> cells;
};

LoadedSuite load_suite(const SuiteFile& suite, const std::vector<GridCell>& cells) {
  const std::vector<ConfigDocument> documents = cell_documents(suite, cells);
  LoadedSuite loaded;
  loaded.plugins = load_plugins_for(documents);
  for_every_cell(cells, [&](std::size_t cell) {
    loaded.cells.push_back({evaluation_cell(suite, cells[cell]),
                            resolve_config(documents[cell], loaded.plugins->registry, ConfigPurpose::kEval)});
  });
  return loaded;
}

/// What people call a checkpoint: its folder's name, with the run's before it where it is one of a run's.
std::string label_of(const fs::path& checkpoint) {
  fs::path folder = fs::absolute(checkpoint).lexically_normal();
  if (folder.filename().empty()) folder = folder.parent_path();
  const fs::path parent = folder.parent_path();
  if (parent.filename() != "checkpoints") return folder.filename().string();
  return parent.parent_path().filename().string() + "/" + folder.filename().string();
}

fs::path default_folder(const SuiteFile& suite, std::string label) {
  std::ranges::replace(label, '/', '-');
  return fs::path("runs") / "eval" / suite.name / label;
}

/// Cells that this command was not asked for are in the table as far as an earlier one answered them.
CellSummary earlier_summary(const EvaluationCell& cell, const EvaluationFolder& folder, const std::string& checksum) {
  std::error_code failed;
  if (!fs::exists(folder.settings(cell.name()), failed)) return summarise(cell, {}, 0);
  const CellSettings settings = read_settings(folder.settings(cell.name()));
  if (settings.checkpoint_checksum != checksum) {
    throw Error(folder.responses(cell.name()).string() + " belongs to another checkpoint: " + settings.checkpoint,
                "choose another folder with --out");
  }
  return summarise(cell, RecordFile(folder.responses(cell.name())).records(), settings.responses);
}

SuiteResults collect(const SuiteFile& suite, const Evaluation& evaluation, const EvaluationFolder& folder) {
  SuiteResults results;
  results.suite = &suite;
  const std::vector<CellSummary> own = evaluation.summaries();
  for (const GridCell& cell : cells_of(suite)) {
    const auto found =
        std::ranges::find_if(own, [&](const CellSummary& summary) { return summary.cell.name() == cell.label; });
    results.cells.push_back(found != own.end()
                                ? *found
                                : earlier_summary(evaluation_cell(suite, cell), folder, evaluation.model_checksum()));
  }
  return results;
}

std::string title(const SuiteFile& suite, std::size_t cells, std::int64_t missing, const fs::path& folder,
                  const Terminal& terminal) {
  const std::string separator = terminal.unicode() ? " · " : " | ";
  return terminal.styled("evaluation " + suite.name, Style::kStrong) + separator + count_of(cells, "cell") + separator +
         (missing == 0 ? "all responses are there" : format_integer(missing) + " responses to come") + separator +
         folder.string();
}

/// The command that answers one cell, as its own job.
CellJob job_of(const GridCell& cell, const SuiteFile& suite, const EvalOptions& options, const fs::path& folder) {
  CellJob made{evaluation_cell(suite, cell), {}};
  made.job.name = made.job.label = cell.label;
  made.job.arguments = {
      "eval",         options.checkpoint.folder.string(), "--suite", suite.file.string(), "--cell", cell.label, "--out",
      folder.string()};
  for (const ConfigOverride& setting : options.checkpoint.config.overrides) {
    const auto space = setting.flag.find(' ');  // "--set KEY=VALUE"
    made.job.arguments.insert(made.job.arguments.end(),
                              {setting.flag.substr(0, space), setting.flag.substr(space + 1)});
  }
  made.job.output = folder / "slurm" / (cell.label + ".txt");
  return made;
}

/// On a cluster a cell is a task. This process only watches, and looks again when they have ended.
int answer_on_cluster(const SuiteFile& suite, const std::vector<GridCell>& cells, const std::vector<std::string>& names,
                      const EvalOptions& options, const EvaluationFolder& folder, Terminal& terminal) {
  std::vector<CellJob> jobs;
  for (const GridCell& cell : cells) {
    if (std::ranges::count(names, evaluation_cell(suite, cell).name()) > 0)
      jobs.push_back(job_of(cell, suite, options, folder.path));
  }
  const auto launcher =
      make_launcher(options.launcher, suite, {folder.path, 0}, [&](const std::string& line) { terminal.print(line); });
  return run_cell_jobs(*launcher, jobs, folder, terminal).signal;
}

/// What --cell makes has no tables: others write theirs at the same time.
int answer_cell(Evaluation& evaluation, const EvalOptions& options, Terminal& terminal) {
  const int signal = evaluation.run(terminal);
  const CellSummary summary = evaluation.summaries().front();
  terminal.print(printable(summary.cell.name()) + "  " + result_line(summary, terminal.unicode()));
  if (options.json) std::cout << results_json({summary}, options, {});
  if (signal != 0) return 128 + signal;
  return evaluation.missing() > 0 ? 1 : 0;
}

/// Everything after the answers. @return the exit status
int show_results(const SuiteResults& results, std::int64_t missing, int signal, const EvalOptions& options,
                 const EvaluationFolder& folder, Terminal& terminal) {
  write_suite_tables(results, folder.path);
  terminal.print("\n" + printable(suite_text(results, terminal.unicode())));
  terminal.print("tables      " + printable((folder.path / "table.{txt,csv,tex}").string()) + ", cells.csv");
  terminal.print("responses   " + printable((folder.path / "responses").string()));
  if (missing > 0) {
    terminal.print(format_integer(missing) + " responses are missing or could not be judged");
    terminal.print(printable("continue with  " + typed_command(folder.path)));
  }
  if (options.json) std::cout << results_json(results.cells, options, folder.path);
  if (signal != 0) return 128 + signal;
  return missing > 0 ? 1 : 0;
}

/// `drift eval --suite`.
int run_eval_suite(const EvalOptions& options) {
  check_launcher(options.launcher);
  const bool here = options.launcher == kLocalLauncher;
  const SuiteFile suite = read_suite_file(options.suite, options.checkpoint.run().overrides);
  verify_checkpoint(options.checkpoint.folder);
  const std::vector<GridCell> cells = chosen_cells(suite, options);
  const LoadedSuite loaded = load_suite(suite, cells);
  std::vector<PublishedFigure> published;
  if (!suite.published.empty()) published = read_published(suite.published);
  const RunConfig& config = loaded.cells.front().config;
  if (here) prepare_device(config);
  const std::string family = config.component("model"), label = label_of(options.checkpoint.folder);
  const EvaluationFolder folder{options.out.empty() ? default_folder(suite, label) : options.out};
  Terminal terminal(options.json ? std::cerr : std::cout, detect_terminal(options.json ? 2 : 1));
  std::optional<FolderLock> lock;
  if (options.cell.empty()) lock.emplace(folder.path, "another evaluation");
  RunHost host(loaded.plugins->registry, config.get<RunSettings>().seed);
  const auto open = [&](Evaluation::Use use) {
    return std::make_unique<Evaluation>(host, loaded.cells, folder.path, use);
  };
  auto evaluation = open(here ? Evaluation::Use::kAnswer : Evaluation::Use::kLook);
  terminal.print(title(suite, cells.size(), evaluation->missing(), folder.path, terminal));
  if (here && !options.cell.empty()) return answer_cell(*evaluation, options, terminal);
  int signal = 0;
  if (here) {
    signal = evaluation->run(terminal);
  } else {
    signal = answer_on_cluster(suite, cells, evaluation->unfinished(), options, folder, terminal);
    evaluation = open(Evaluation::Use::kLook);
  }
  SuiteResults results = collect(suite, *evaluation, folder);
  results.name = label;
  results.published = figures_of(published, suite.backbone.empty() ? family : suite.backbone);
  return show_results(results, evaluation->missing(), signal, options, folder, terminal);
}

std::vector<std::vector<std::string>> summary_rows(const CellSummary& cell, const std::string& checkpoint) {
  const std::string k = std::to_string(cell.samples);
  std::vector<std::vector<std::string>> rows = {
      {"checkpoint", checkpoint},
      {"task", cell.cell.task},
      {"held-out items", std::to_string(cell.items)},
      {cell.samples == 1 ? "solved" : "solved, mean of " + k,
       format_percent(cell.accuracy) + " %   (standard error " + format_percent(cell.standard_error) + ")"},
      {"forwards / response", format_decimal(cell.forwards, 2)},
      {"tokens / s", format_decimal(cell.tokens_per_second, 2)},
      {"time", format_decimal(kProgramTimer.seconds(), 2) + " s in all, of which " + format_decimal(cell.seconds, 2) +
                   " s for the responses"}};
  if (cell.samples == 1) return rows;
  rows.insert(rows.begin() + 4, {{"pass@" + k, format_percent(cell.pass) + " %   (a response is solved)"},
                                 {"maj@" + k, format_percent(cell.majority) + " %   (the most frequent answer is)"}});
  return rows;
}

void check_suite_options(const EvalOptions& options) {
  if (options.suite.empty()) {
    const char* option = !options.tasks.empty()               ? "--tasks"
                         : !options.cell.empty()              ? "--cell"
                         : options.launcher != kLocalLauncher ? "--launcher"
                                                              : nullptr;
    if (option != nullptr) throw UsageError(std::string(option) + " is for suites", "name the suite: --suite FILE");
    return;
  }
  const auto refuse = [](const std::string& option) {
    throw UsageError("--" + option + " and --suite do not go together", "the suite names its tasks itself");
  };
  if (!options.checkpoint.config.file.empty()) refuse("config");
  for (const ConfigOverride& setting : options.checkpoint.config.overrides) {
    if (setting.flag.starts_with("--task ")) refuse("task");
  }
}

int evaluate(const EvalOptions& options) {
  check_suite_options(options);
  if (options.cell.empty()) require_one_process("eval");
  if (!options.suite.empty()) return run_eval_suite(options);
  LoadedRun run = load_run(options.checkpoint.run("task.name"), ConfigPurpose::kEval);
  verify_checkpoint(options.checkpoint.folder);
  for (const std::string& note : run.config.warnings(/*file_is_known=*/true)) log_warning(note);
  const auto plugins = used_plugins(run.config, run.registry(), run.plugins->loader);
  for (const std::string& change : changed_plugins(options.checkpoint.folder / "../../plugins.json", plugins))
    log_warning(change + "; the checkpoint was trained with other code");
  prepare_device(run.config);
  std::optional<FolderLock> lock;
  if (!options.out.empty()) lock.emplace(options.out, "another evaluation");
  const std::string folder = run.model_folder();
  std::vector<PlannedCell> cells(1);
  cells.front().cell.task = run.config.component("task");
  cells.front().config = std::move(run.config);
  Evaluation evaluation(run.host(), std::move(cells), options.out);
  int signal = 0;
  {
    Terminal progress(std::cerr, detect_terminal(2));
    signal = evaluation.run(progress);
  }
  const CellSummary summary = evaluation.summaries().front();
  if (!options.out.empty()) write_file_atomically(options.out / "cells.csv", to_csv(summary_numbers({summary})));
  if (options.json) std::cout << results_json({summary}, options, options.out);
  TextTable shown;
  if (signal == 0) shown.rows = summary_rows(summary, folder);
  shown.rows.push_back({"responses", options.out.empty()
                                         ? "not kept; --out FOLDER keeps them"
                                         : EvaluationFolder{options.out}.responses(summary.cell.name()).string()});
  if (signal != 0 && !options.out.empty()) shown.rows.push_back({"continue with", typed_command()});
  if (!options.json) std::cout << to_text(shown);
  if (signal != 0) return 128 + signal;
  if (summary.unjudged == 0) return 0;
  std::cerr << summary.unjudged << " responses could not be judged and do not count"
            << (options.out.empty() ? "\n" : "; the same command judges them again\n");
  return 1;
}

}  // namespace

Command eval_command() {
  return make_command<EvalOptions>(
      {"eval", "accuracy of a checkpoint on held-out items",
       "Task, reward and rollout are those of the run that made the checkpoint, or of --config.\n"
       "With --suite, prints the published tables with a row for this checkpoint. A suite always keeps its\n"
       "responses; without --out they go into a folder in runs/eval/. Where responses are kept, the same command\n"
       "continues an evaluation that was stopped. --json: the cells, with the names of cells.csv\n"
       "(drift reference metrics).",
       "eval runs/quickstart/checkpoints/last --set evaluation.items=100"},
      evaluate, [](OptionList& list, EvalOptions& options) {
        list.add("suite", "SUITE.toml", "evaluate on many tasks, lengths and schedules", options.suite);
        list.add("tasks", "NAME,NAME", "only these tasks of the suite", options.tasks);
        list.add("cell", "NAME", "only this cell of the suite, and no tables: several may be answered at a time",
                 options.cell);
        add_launcher(list, options.launcher);
        list.add("out", "FOLDER", "keep every response here, with its score and reason", options.out);
        list.add_switch("json", "print JSON; text and progress go to standard error", options.json);
        add_checkpoint(list, options.checkpoint, {"adapter", "task", "seed", "dtype", "device"});
      });
}

}  // namespace drift
