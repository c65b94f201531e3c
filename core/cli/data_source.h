#pragma once

#include <core/base/item_statistics.h>
#include <core/boundary/components.h>
#include <core/cli/load_run.h>
#include <core/rollout/prompt_encoder.h>
#include <core/text/tokenizer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// Items that are looked at of a task that makes its items.
constexpr std::int64_t kFirstItems = 1000;

/// What makes prompts of a run's items. The model's weights are not read.
struct RunPrompts {
  /// @param opened  the tokenizer of the model's folder; null: it is opened here
  /// @throws Error if the folder has no tokenizer, or no prompt can be made for the model
  RunPrompts(const LoadedRun& run, const ModelTraits& model_traits, std::shared_ptr<const Tokenizer> opened = nullptr);
  RunPrompts(const RunPrompts&) = delete;

  std::shared_ptr<const Tokenizer> owned;
  const Tokenizer& tokenizer;
  ModelTraits traits;
  PromptEncoder encoder;
};

/// A task's training items: the whole list, or the first `generated` that a run of this seed meets.
std::vector<TaskItem> training_items(const Loaded<Task>& task, std::uint64_t seed, std::int64_t generated);

struct ListedItem {
  std::string set;  ///< "training", "held-out"
  TaskItem item;
};

/// The item with this id. @throws Error if there is none
ListedItem item_with_id(const Loaded<Task>& task, std::uint64_t seed, const std::string& id);

/// What `drift data check` looks at: a task's items and, where the file names a model that is there, its prompts.
class DataSource {
 public:
  /// @throws ConfigError
  explicit DataSource(const ConfigOptions& options);
  DataSource(const DataSource&) = delete;

  const LoadedRun& run() const { return run_; }
  const RunConfig& config() const { return run_.config; }
  RunHost& host() const { return run_.host(); }

  /// Create the task. @throws Error with everything that is wrong with its data.
  void open_task();
  const Loaded<Task>& task() const { return task_; }

  /// Null for a task that makes its items.
  const TrainingList* list() const { return capability<TrainingList>(*task_); }
  std::vector<TaskItem> training_items(std::int64_t generated) const;
  std::vector<TaskItem> held_out_items() const;

  /// Null where no prompt can be made; then missing_model() says why.
  const PromptEncoder* prompts() const { return prompts_ ? &prompts_->encoder : nullptr; }
  const std::string& missing_model() const { return missing_model_; }
  const ModelTraits& traits() const { return prompts_->traits; }
  std::int64_t count_tokens(const TaskItem& item) const;

 private:
  void open_prompts();

  LoadedRun run_;
  Loaded<Task> task_;
  std::optional<RunPrompts> prompts_;
  std::string missing_model_;
};

/// How many items the task has, how long they are, their answers and duplicates; of a generator the first items.
void print_statistics(const DataSource& source, bool json);

/// Items as the model reads them: the first `count` of each set, or the one with this id. As JSON, one a line.
void print_items(const DataSource& source, std::int64_t count, const std::string& id, bool json);

}  // namespace drift
