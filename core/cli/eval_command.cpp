#include <core/cli/eval_suite.h>
#include <core/cli/load_run.h>
#include <core/components/components.h>
#include <core/eval/evaluation.h>
#include <core/io/atomic.h>
#include <core/io/folder_lock.h>
#include <core/report/terminal.h>

#include <cstdio>
#include <iostream>
#include <optional>

namespace drift {
namespace {

void print_row(const char* name, const std::string& value) { std::printf("%-20s %s\n", name, value.c_str()); }

void print_summary(const CellSummary& cell, const std::string& checkpoint) {
  char solved[64];
  std::snprintf(solved, sizeof solved, "%.1f %%   (standard error %.1f)", 100 * cell.accuracy,
                100 * cell.standard_error);
  const auto decimal = [](double value, const char* unit) {
    char text[64];
    std::snprintf(text, sizeof text, "%.2f%s", value, unit);
    return std::string(text);
  };
  print_row("checkpoint", checkpoint);
  print_row("task", cell.cell.task);
  print_row("held-out items", std::to_string(cell.items));
  print_row("solved", solved);
  print_row("forwards / response", decimal(cell.forwards, ""));
  print_row("tokens / s", decimal(cell.tokens_per_second, ""));
  print_row("time", decimal(cell.seconds, " s"));
}

}  // namespace

std::string command_to_go_on(const CommandLine& line, const std::filesystem::path& out) {
  std::string command = "drift eval " + line.checkpoint.string();
  if (!line.suite.empty()) command += " --suite " + line.suite.string();
  for (std::size_t i = 0; i < line.tasks.size(); ++i) command += (i == 0 ? " --tasks " : ",") + line.tasks[i];
  if (line.suite.empty() && !line.config.empty()) command += " --config " + line.config.string();
  command += " --out " + out.string();
  for (const ConfigOverride& setting : line.overrides) {
    if (!setting.literal) command += " " + setting.flag;  // the literal ones are the checkpoint's
  }
  return command;
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
  if (signal == 0) print_summary(summary, folder);
  if (!line.out.empty()) print_row("responses", EvaluationFolder{line.out}.responses(summary.cell.name()).string());
  if (signal != 0) {
    if (!line.out.empty()) print_row("go on with", command_to_go_on(line, line.out));
    return 128 + signal;
  }
  if (summary.unjudged == 0) return 0;
  std::cerr << summary.unjudged << " responses could not be judged and do not count"
            << (line.out.empty() ? "\n" : "; the same command judges them again\n");
  return 1;
}

}  // namespace drift
