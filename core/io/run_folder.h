#pragma once

#include <core/io/adapter_files.h>
#include <core/io/folder_lock.h>
#include <core/io/training_state.h>

#include <drift/model.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// A checkpoint of a run: the model in the Hugging Face layout, or its adapter alone in peft's, and the training state.
struct RunCheckpoint {
  TrainingState state;
  std::vector<NamedTensor> parameters;  ///< those on the meta device have the values that `complete` brings
  CompleteFile complete = {};           ///< as TrainingState::complete; empty: this process has all weights
  std::string config_json;
  std::filesystem::path source;  ///< folder whose other files (tokenizer, …) are carried along; may be empty
  std::string card = {};         ///< README.md; empty: none
  std::optional<AdapterDescription> adapter = {};  ///< then `parameters` are the adapter's, and nothing else is written
  bool is_best = false;                            ///< of all so far
};

/// Where a run continues.
struct ResumePoint {
  std::filesystem::path folder;  ///< the checkpoint: load_parameters() takes it, or load_adapter()
  TrainingState state;
};

/// The folder of one run, locked against other processes as long as the object lives (the lock of a process that died
/// is void):
///
///     config.toml plugins.json summary.json samples.json …   write_file()
///     metrics.jsonl                                           one object a step
///     inspect/step-000010.json  …                             some of the steps, token by token
///     changes.jsonl                                           settings that were changed when the run continued
///     checkpoints/step-000010/  …                             the last few
///     checkpoints/last -> step-000010                         the one to continue from
///     checkpoints/best -> step-000005                         of the highest accuracy, if the run keeps it
///
/// Everything is written so that a kill at any instant leaves the old or the new state, never a mixture.
class RunFolder {
 public:
  enum class Existing { kRefuse, kOverwrite };

  /// Whether a run has left something here that would be lost: a line of metrics or a checkpoint.
  static bool has_begun(const std::filesystem::path& path);

  /// What create() would refuse now, for before long work. @throws Error as create() does, but writes nothing.
  static void check_free(const std::filesystem::path& path, Existing existing);
  /// A new run; files of one that never began are removed, with kOverwrite those of any.
  /// @throws Error if the folder holds a run that has begun, is in use or cannot be written.
  static RunFolder create(const std::filesystem::path& path, Existing existing = Existing::kRefuse);
  /// A run to continue. @throws Error if there is none, its folder of checkpoints is missing, or it is in use.
  static RunFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// FolderLock::is_held(). If it is not, every write throws an Error.
  bool is_held() const { return lock_.is_held(); }

  /// Write a file of the run atomically, replacing an older one.
  void write_file(std::string_view name, std::string_view content) const;

  /// Append one line, an object with an integer `step`, without a line break; on disk when this returns.
  void append_metrics(std::string_view line) const { append_line("metrics.jsonl", line); }
  /// Any other file of the run that grows by lines.
  void append_line(std::string_view name, std::string_view line) const;
  /// Drop the lines of metrics of steps after `step`, and a last line that was cut off.
  void truncate_metrics(std::int64_t step) const;

  /// Write inspect/step-NNNNNN.json.
  void write_inspection(std::int64_t step, std::string_view content) const;
  /// Before a run goes on behind `step`: metrics and inspections of later steps are gone, and `best` of one.
  void forget_steps_after(std::int64_t step) const;

  /// Write checkpoints/step-NNNNNN, point `last` at it and `best`, if it is, then remove all but the newest `keep` (at
  /// least 1) and the best. @return its folder
  std::filesystem::path save_checkpoint(const RunCheckpoint& checkpoint, std::int64_t keep) const;
  /// Point `best` at the step's checkpoint, if there is one.
  void link_best(std::int64_t step) const;

  /// The checkpoint to continue from, every file checked against its checksum; nothing if the run never wrote one.
  /// @throws Error if it is damaged (the hint names the newest complete one and how to choose it: the decision is the
  /// user's) or of another format.
  std::optional<ResumePoint> resume_point() const;

 private:
  explicit RunFolder(const std::filesystem::path& path);
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

  std::filesystem::path path_;
  FolderLock lock_;
};

/// The shell command that makes a run go back to the checkpoint before `checkpoint`; empty if there is none.
std::string earlier_checkpoint_command(const std::filesystem::path& checkpoint);

}  // namespace drift
