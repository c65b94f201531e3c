#include "task.h"

#include <drift/error.h>

#include <iostream>
#include <mutex>
#include <set>
#include <string>

#include "loader.h"
#include "order.h"
#include "settings.h"

namespace dataset {
namespace {

// A task is made more than once in a run, for training and for evaluation; what it leaves out is said once.
void say_once(const std::string& note) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(note).second) std::cerr << "note: task `dataset`: " + note + "\n";
}

const drift::TaskItem& at(const std::vector<drift::TaskItem>& items, std::int64_t index, const std::string& kind) {
  if (index >= 0 && index < static_cast<std::int64_t>(items.size())) return items[static_cast<std::size_t>(index)];
  throw drift::Error("there is no " + kind + " item " + std::to_string(index) + ", only " +
                     std::to_string(items.size()) + " from 0 on");
}

}  // namespace

drift::ParamSpecs DatasetTask::parameters() { return Settings::parameters(); }

DatasetTask::DatasetTask(const drift::Params& params) {
  const Settings settings = Settings::from(params);
  Items items = load_items(settings);
  for (const std::string& note : items.notes) say_once(note);
  shuffle_ = settings.shuffle;
  training_ = std::move(items.training);
  held_out_ = std::move(items.held_out);
}

void DatasetTask::training_item(std::int64_t index, const drift::RandomStream& random, drift::TaskItem& item) const {
  if (training_.empty()) throw drift::Error("it has no training items", "name them: [task] training_files = [\"…\"]");
  const std::int64_t size = training_size();
  const std::int64_t round = index / size, position = index % size;
  listed_item(shuffle_ ? shuffled(position, size, round, random.child("order")) : position, item);
}

void DatasetTask::held_out_item(std::int64_t index, drift::TaskItem& item) const {
  item = at(held_out_, index, "held-out");
}

void DatasetTask::listed_item(std::int64_t index, drift::TaskItem& item) const {
  item = at(training_, index, "training");
}

void DatasetTask::keep(const std::vector<std::int64_t>& indices) {
  std::vector<drift::TaskItem> kept;
  kept.reserve(indices.size());
  for (const std::int64_t index : indices) kept.push_back(at(training_, index, "training"));
  training_ = std::move(kept);
}

}  // namespace dataset
