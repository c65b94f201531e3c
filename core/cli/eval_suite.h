#pragma once

#include <core/cli/load_run.h>
#include <core/eval/cell_summary.h>
#include <core/sweep/launcher.h>

#include <filesystem>
#include <string>
#include <vector>

namespace drift {

struct EvalOptions {
  CheckpointOptions checkpoint;
  std::filesystem::path suite;
  std::vector<std::string> tasks;  ///< of the suite; empty: all
  std::string cell;                ///< of the suite, alone and without tables; empty: all
  std::string launcher = kLocalLauncher;
  std::filesystem::path out;
  bool json = false;
};

/// What --json prints. @param folder  where the responses are; empty: nowhere
std::string results_json(const std::vector<CellSummary>& cells, const EvalOptions& options,
                         const std::filesystem::path& folder);

/// `drift eval --suite`.
int run_eval_suite(const EvalOptions& options);

/// What the user types to continue an evaluation.
std::string command_to_continue(const EvalOptions& options, const std::filesystem::path& out);

}  // namespace drift
