#include "loader.h"
#include "settings.h"

#include <drift/error.h>
#include <drift/plugin.h>
#include <drift/task.h>

#include <bit>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace drift::dataset {
namespace {

// A task is made more than once in a run, for training and for evaluation; what it leaves out is said once.
void say_once(const std::string& note) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(note).second) std::cerr << "note: task `dataset`: " + note + "\n";
}

const TaskItem& at(const std::vector<TaskItem>& items, std::int64_t index, const std::string& kind) {
  if (index >= 0 && index < static_cast<std::int64_t>(items.size())) return items[static_cast<std::size_t>(index)];
  throw Error("there is no " + kind + " item " + std::to_string(index) + ", only " + std::to_string(items.size()) +
              " from 0 on");
}

// Which item comes at `position` of round `round`: for every round, a random permutation of 0 … size-1. A pure function
// without tables: positions may be asked for in any order, from any thread.
// A Feistel network permutes the numbers of 2 * half bits whatever its round function is; numbers beyond the size are
// sent through it again until one is within (Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002).
std::int64_t shuffled(std::int64_t position, std::int64_t size, std::int64_t round, const RandomStream& random) {
  constexpr int rounds = 10;
  const int half = (std::bit_width(static_cast<std::uint64_t>(size - 1)) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  auto number = static_cast<std::uint64_t>(position);
  do {
    for (int i = 0; i < rounds; ++i) {
      const std::uint64_t left = number >> half, right = number & mask;
      const std::uint64_t drawn = random.bits({.step = round, .position = static_cast<std::int64_t>(right), .draw = i});
      number = right << half | (left ^ (drawn & mask));
    }
  } while (number >= static_cast<std::uint64_t>(size));
  return static_cast<std::int64_t>(number);
}

/// Problems out of files, in the formats and by the column map of Settings.
class DatasetTask final : public Task, public TrainingList {
 public:
  /// @throws Error with everything that is wrong with the files.
  explicit DatasetTask(const Parameters& params);

  void training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const override;
  std::int64_t held_out_size() const override { return static_cast<std::int64_t>(held_out_.size()); }
  void held_out_item(std::int64_t index, TaskItem& item) const override;

  std::int64_t training_size() const override { return static_cast<std::int64_t>(training_.size()); }
  void listed_item(std::int64_t index, TaskItem& item) const override;
  void keep(const std::vector<std::int64_t>& indices) override;

 private:
  bool shuffle_;
  std::vector<TaskItem> training_, held_out_;
};

DatasetTask::DatasetTask(const Parameters& params) {
  const Settings settings = Settings::from(params);
  Items items = load_items(settings);
  for (const std::string& note : items.notes) say_once(note);
  shuffle_ = settings.shuffle;
  training_ = std::move(items.training);
  held_out_ = std::move(items.held_out);
}

void DatasetTask::training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const {
  if (training_.empty()) throw Error("it has no training items", "name them: [task] training_files = [\"…\"]");
  const std::int64_t size = training_size();
  const std::int64_t round = index / size, position = index % size;
  listed_item(shuffle_ ? shuffled(position, size, round, random.child("order")) : position, item);
}

void DatasetTask::held_out_item(std::int64_t index, TaskItem& item) const { item = at(held_out_, index, "held-out"); }

void DatasetTask::listed_item(std::int64_t index, TaskItem& item) const { item = at(training_, index, "training"); }

void DatasetTask::keep(const std::vector<std::int64_t>& indices) {
  std::vector<TaskItem> kept;
  kept.reserve(indices.size());
  for (const std::int64_t index : indices) kept.push_back(at(training_, index, "training"));
  training_ = std::move(kept);
}

}  // namespace
}  // namespace drift::dataset

DRIFT_PLUGIN("dataset", "1.0.0", "Apache-2.0") {
  registry.add<drift::dataset::DatasetTask>("dataset", "Problems from files: JSON, JSON Lines, Parquet.",
                                            drift::dataset::Settings::parameters());
}
