#pragma once

#include <core/cli/load_run.h>
#include <core/eval/answers.h>
#include <core/io/run_folder.h>
#include <core/sweep/identity.h>
#include <core/text/tokenizer.h>
#include <core/train/loop.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// How far a run is, as summary.json says it.
enum class RunOutcome { kUnfinished, kFinished, kInterrupted, kFailed };

/// What a run's folder holds for its readers, beside metrics and checkpoints.
class RunFiles {
 public:
  /// All of them must outlive it. `identity` has read the files that count before.
  RunFiles(const RunFolder& folder, const LoadedRun& run, const Tokenizer& tokenizer, Identity& identity);

  /// config.toml, plugins.json and the log. Settings that the folder's config.toml has otherwise go into changes.jsonl
  /// first. @return these changes, one line each
  std::vector<std::string> begin(const std::optional<ResumePoint>& resumed, ConfigPurpose purpose);

  /// summary.json, report.html and, if there are answers, samples.json and a page that replays the first of them
  /// (replay_before.html before the first step, else replay_after.html), as they are after this much of the run.
  void write(RunOutcome outcome, const LoopResult& result, const std::vector<AnsweredItem>& answers,
             const std::string& error = {}) const;

  /// A checkpoint's README.md: the base, what was trained on what, by which command, and what it came to.
  /// @param last  the last finished step
  std::string card(const std::string& command, const LoopResult& result, const StepRecord& last) const;

  /// After each step of a run that goes on: the same where the step was evaluated, and now and then, so seldom that it
  /// takes no more than a hundredth of the time.
  void follow(const StepRecord& step, const LoopResult& result, const std::vector<AnsweredItem>& answers);

  /// The same where nothing but a line in the log may come of it if they cannot be written: while the run trains, and
  /// when it has failed.
  void try_to_write(RunOutcome outcome, const LoopResult& result, const std::vector<AnsweredItem>& answers,
                    const std::string& error = {}) const;

 private:
  std::vector<std::string> record_changes(std::int64_t step, ConfigPurpose purpose) const;

  const RunFolder& folder_;
  const LoadedRun& run_;
  const Tokenizer& tokenizer_;
  Identity& identity_;
  std::chrono::steady_clock::time_point next_page_ = {};  ///< when it is due
};

/// Of this process so far.
double peak_memory_mib();

}  // namespace drift
