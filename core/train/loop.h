#pragma once

#include <drift/model.h>

#include <core/base/log.h>
#include <core/io/adapter_files.h>
#include <core/io/run_folder.h>
#include <core/ranks/ranks.h>
#include <core/record/step_record.h>
#include <core/train/training.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace drift {

/// What the loop needs to know of a run, whatever is trained.
struct LoopSettings {
  std::int64_t steps = 0;
  std::int64_t checkpoint_every = 0;  ///< 0: only at the end
  std::int64_t keep_checkpoints = 1;
  bool keep_best = false;           ///< also the checkpoint of the highest accuracy
  std::int64_t evaluate_every = 0;  ///< 0: only at the ends
  bool evaluate_before = true;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> settings;  ///< TrainingState::settings
  std::optional<AdapterDescription> adapter;    ///< a checkpoint holds this alone, not the frozen weights
  std::string model_config_json;
  std::filesystem::path model_folder;      ///< whose tokenizer and other files a checkpoint carries along
  std::function<std::string()> card = {};  ///< gives a checkpoint's README.md
};

/// The result of a run.
struct LoopResult {
  std::int64_t last_step = 0;
  int signal = 0;  ///< that stopped it, or 0
  std::optional<HeldOutResult> before, after;
  double seconds = 0;                                 ///< of training, over all starts
  double evaluation_seconds = 0;                      ///< likewise
  double start_seconds = 0;                           ///< until the first evaluation or step, likewise
  double earlier_seconds = 0;                         ///< of the program at earlier starts, in all
  std::filesystem::path checkpoint;                   ///< the last one that was written; empty: none
  std::map<std::string, std::int64_t> warnings = {};  ///< why it learned nothing, and how often
};

/// Step after step: train, evaluate, write the metrics, save; continue exactly from a checkpoint; stop on a signal.
/// Where a run has several ranks, each has such a loop: the first one's writes.
class TrainingLoop {
 public:
  using Evaluate = std::function<HeldOutResult()>;
  using Observe = std::function<void(const StepRecord& step)>;

  /// @param warnings  of this rank; the first one shows those of all
  /// @param folder    null: another rank writes
  /// @param evaluate  empty: the run has no held-out items.
  /// @param observe   is told of every step when its metrics are on disk, of the evaluation before the first one too
  TrainingLoop(Ranks& ranks, KeptWarnings& warnings, const LoopSettings& settings, Training& training,
               const Model& model, const RunFolder* folder, Evaluate evaluate, Observe observe);

  /// Before run(): put the optimizer and the counters where the checkpoint left them. The weights are the caller's.
  void resume(const ResumePoint& point);

  LoopResult run();

  /// What there is so far.
  const LoopResult& result() const { return result_; }

 private:
  void guarded(const std::string& when, const std::function<void()>& action) const;
  void train_step(std::int64_t step);
  void compare_ranks(StepRecord& metrics, double waited) const;
  void show_warnings_of_ranks();
  void evaluate(StepRecord& metrics);
  void record(const StepRecord& metrics);
  void find_best();
  void save(std::int64_t step, bool is_best);
  void warn(std::int64_t step, const std::string& text);
  void judge(std::int64_t step, const HeldOutResult& result);

  Ranks& ranks_;
  KeptWarnings& warnings_;
  const LoopSettings& settings_;
  Training& training_;
  const Model& model_;
  const RunFolder* folder_;
  Evaluate evaluate_;
  Observe observe_;
  LoopResult result_;
  double unaccounted_ = 0;  // seconds since the last step that no phase has: writing and showing its metrics
  double best_accuracy_ = 0;
  std::set<std::string> shown_;  // warnings, by the first of several ranks
};

}  // namespace drift
