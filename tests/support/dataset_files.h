#pragma once

// Tests of the task `dataset`: files written by the test, opened as the program opens them.

#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <drift/error.h>
#include <drift/task.h>

namespace drift::test {

/// The task `dataset` and its list, under one name.
class DatasetTask final : public Task, public TrainingList {
 public:
  explicit DatasetTask(std::unique_ptr<Task> task) : task_(std::move(task)), list_(capability<TrainingList>(*task_)) {}

  void training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const override {
    task_->training_item(index, random, item);
  }
  std::int64_t held_out_size() const override { return task_->held_out_size(); }
  void held_out_item(std::int64_t index, TaskItem& item) const override { task_->held_out_item(index, item); }
  std::int64_t training_size() const override { return list_->training_size(); }
  void listed_item(std::int64_t index, TaskItem& item) const override { list_->listed_item(index, item); }
  void keep(const std::vector<std::int64_t>& indices) override { list_->keep(indices); }

 private:
  std::unique_ptr<Task> task_;
  TrainingList* list_;
};

inline std::unique_ptr<DatasetTask> open_dataset(const std::map<std::string, Parameter::Value>& values) {
  return std::make_unique<DatasetTask>(create<Task>("dataset", "dataset", values));
}

class DatasetFiles : public testing::Test {
 protected:
  using Values = std::map<std::string, Parameter::Value>;
  using Files = std::vector<std::string>;

  std::string write(const std::string& name, const std::string& content) const {
    write_file(folder_.path() / name, content);
    return (folder_.path() / name).string();
  }

  /// A task that trains on one file.
  std::unique_ptr<DatasetTask> open(const std::string& file, Values values = {}) const {
    values.emplace("training_files", Files{file});
    return open_dataset(values);
  }

  /// What is said against the files; "" if nothing.
  static std::string error_of(const Values& values) {
    return test::error_of([&] { open_dataset(values); });
  }
  std::string error_of(const std::string& file, Values values = {}) const {
    values.emplace("training_files", Files{file});
    return error_of(values);
  }

  static std::vector<TaskItem> training(const DatasetTask& task) {
    std::vector<TaskItem> items(static_cast<std::size_t>(task.training_size()));
    for (std::size_t i = 0; i < items.size(); ++i) task.listed_item(static_cast<std::int64_t>(i), items[i]);
    return items;
  }
  static std::vector<std::string> prompts(const DatasetTask& task) {
    std::vector<std::string> texts;
    for (const TaskItem& item : training(task)) texts.push_back(item.prompt);
    return texts;
  }
  static TaskItem first(const DatasetTask& task) { return training(task).at(0); }

  /// `count` questions q0, q1, …
  std::string numbered(int count) const {
    std::string lines;
    for (int i = 0; i < count; ++i)
      lines += R"({"question": "q)" + std::to_string(i) + R"(", "ground_truth_answer": "1"})" + "\n";
    return write("numbered.jsonl", lines);
  }

  TemporaryFolder folder_;
};

}  // namespace drift::test
