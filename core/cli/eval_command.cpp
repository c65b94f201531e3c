#include <core/base/log.h>
#include <core/base/phase_timer.h>
#include <core/boundary/components.h>
#include <core/cli/eval_suite.h>
#include <core/cli/load_run.h>
#include <core/config/nearest.h>
#include <core/eval/evaluation.h>
#include <core/io/atomic.h>
#include <core/io/folder_lock.h>
#include <core/io/json.h>
#include <core/io/training_state.h>
#include <core/plugin/used_plugins.h>
#include <core/ranks/launch.h>
#include <core/report/format.h>
#include <core/report/json_table.h>
#include <core/report/terminal.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <optional>

namespace drift {
namespace {

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
  Evaluation evaluation(run.registry(), std::move(cells), options.out);
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
  if (signal != 0 && !options.out.empty())
    shown.rows.push_back({"continue with", command_to_continue(options, options.out)});
  if (!options.json) std::cout << to_text(shown);
  if (signal != 0) return 128 + signal;
  if (summary.unjudged == 0) return 0;
  std::cerr << summary.unjudged << " responses could not be judged and do not count"
            << (options.out.empty() ? "\n" : "; the same command judges them again\n");
  return 1;
}

}  // namespace

std::string results_json(const std::vector<CellSummary>& cells, const EvalOptions& options,
                         const std::filesystem::path& folder) {
  nlohmann::ordered_json json;
  json["checkpoint"] = options.checkpoint.folder.string();
  json["folder"] = folder.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(folder.string());
  json["complete"] = std::ranges::all_of(cells, &CellSummary::complete);
  json["cells"] = to_json(summary_numbers(cells));
  return json_text(json, 1) + "\n";
}

std::string command_to_continue(const EvalOptions& options, const std::filesystem::path& out) {
  const auto& [config, settings] = options.checkpoint.config;
  std::vector<std::string> words = {"drift", "eval", options.checkpoint.folder.string()};
  if (!options.suite.empty()) words.insert(words.end(), {"--suite", options.suite.string()});
  if (!options.cell.empty()) words.insert(words.end(), {"--cell", options.cell});
  if (options.launcher != kLocalLauncher) words.insert(words.end(), {"--launcher", options.launcher});
  if (!options.tasks.empty()) words.insert(words.end(), {"--tasks", joined(options.tasks, ",")});
  if (!config.empty()) words.insert(words.end(), {"--config", config.string()});
  words.insert(words.end(), {"--out", out.string()});
  return shell_command(words, settings);
}

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
