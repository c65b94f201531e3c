#include <core/cli/eval_suite.h>
#include <core/cli/load_run.h>
#include <core/cli/run_files.h>
#include <core/components/components.h>
#include <core/eval/evaluation.h>
#include <core/io/atomic.h>
#include <core/io/folder_lock.h>
#include <core/process/child_process.h>
#include <core/report/format.h>
#include <core/report/terminal.h>

#include <iostream>
#include <optional>

namespace drift {
namespace {

std::vector<std::vector<std::string>> summary_rows(const CellSummary& cell, const std::string& checkpoint) {
  return {
      {"checkpoint", checkpoint},
      {"task", cell.cell.task},
      {"held-out items", std::to_string(cell.items)},
      {"solved", format_percent(cell.accuracy) + " %   (standard error " + format_percent(cell.standard_error) + ")"},
      {"forwards / response", format_decimal(cell.forwards, 2)},
      {"tokens / s", format_decimal(cell.tokens_per_second, 2)},
      {"time", format_decimal(cell.seconds, 2) + " s"}};
}

}  // namespace

std::string command_to_go_on(const CommandLine& line, const std::filesystem::path& out) {
  std::vector<std::string> words = {"drift", "eval", line.checkpoint.string()};
  if (!line.suite.empty()) words.insert(words.end(), {"--suite", line.suite.string()});
  std::string tasks;
  for (const std::string& task : line.tasks) tasks += (tasks.empty() ? "" : ",") + task;
  if (!tasks.empty()) words.insert(words.end(), {"--tasks", tasks});
  if (line.suite.empty() && !line.config.empty()) words.insert(words.end(), {"--config", line.config.string()});
  words.insert(words.end(), {"--out", out.string()});
  return shell_command(words, line.overrides);
}

int run_eval(const CommandLine& line) {
  if (!line.suite.empty()) return run_eval_suite(line);
  LoadedRun run = load_run(line, ConfigPurpose::kEval);
  prepare_device(run.config);
  std::optional<FolderLock> lock;
  if (!line.out.empty()) lock.emplace(line.out, "another evaluation");
  const std::string folder = run.config.section("model").get<std::string>("path");
  std::vector<PlannedCell> cells(1);
  cells.front().cell.task = run.config.component("task");
  cells.front().config = std::move(run.config);
  Evaluation evaluation(run.plugins->registry, std::move(cells), line.out);
  int signal = 0;
  {
    Terminal progress(std::cerr, detect_terminal(2));
    signal = evaluation.run(progress);
  }
  const CellSummary summary = evaluation.summaries().front();
  if (!line.out.empty()) write_file_atomically(line.out / "cells.csv", to_csv(summary_numbers({summary})));
  TextTable shown;
  if (signal == 0) shown.rows = summary_rows(summary, folder);
  if (!line.out.empty())
    shown.rows.push_back({"responses", EvaluationFolder{line.out}.responses(summary.cell.name()).string()});
  if (signal != 0 && !line.out.empty()) shown.rows.push_back({"go on with", command_to_go_on(line, line.out)});
  std::cout << to_text(shown);
  if (signal != 0) return 128 + signal;
  if (summary.unjudged == 0) return 0;
  std::cerr << summary.unjudged << " responses could not be judged and do not count"
            << (line.out.empty() ? "\n" : "; the same command judges them again\n");
  return 1;
}

}  // namespace drift
