#include <core/boundary/checked.h>
#include <core/lab/conformance/trials.h>

#include <drift/random.h>
#include <drift/task.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

namespace drift {
namespace {

constexpr std::int64_t kItems = 200, kSomeItems = 20;

bool same_item(const TaskItem& a, const TaskItem& b) {
  const auto fields = [](const TaskItem& item) {
    return std::tie(item.id, item.prompt, item.reference, item.demonstration, item.response_prefix, item.earlier_turns);
  };
  return fields(a) == fields(b);
}

void require_same_item(const TaskItem& a, const TaskItem& b, const std::string& when) {
  if (!same_item(a, b))
    throw Error("item `" + b.id + "` is another one " + when, "an item is a function of the stream and its number");
}

TaskItem training_item(const Task& task, std::int64_t index, std::uint64_t seed = 1) {
  return checked_training_item(task, index, RandomStream(seed, "items"));
}

std::vector<TaskItem> training_items(const Task& task, std::int64_t count) {
  std::vector<TaskItem> items;
  for (std::int64_t i = 0; i < count; ++i) items.push_back(training_item(task, i));
  return items;
}

/// Training items, then held-out ones: `count` of each, or as many as there are.
std::vector<TaskItem> first_items(const Task& task, std::int64_t count) {
  std::vector<TaskItem> items = training_items(task, count);
  const std::int64_t held_out = std::min(checked_held_out_size(task), count);
  for (std::int64_t i = 0; i < held_out; ++i) items.push_back(checked_held_out_item(task, i));
  return items;
}

/// Ids of held-out items are distinct, and no training item is one of them.
void check_held_out(const Task& task) {
  const auto items = first_items(task, kItems);
  std::set<std::string> ids, prompts;
  for (auto item = items.begin() + kItems; item != items.end(); ++item) {
    if (!ids.insert(item->id).second) throw Error("two held-out items have the id `" + item->id + "`");
    prompts.insert(item->prompt + '\0' + item->reference);
  }
  for (auto item = items.begin(); item != items.begin() + kItems; ++item) {
    if (ids.contains(item->id)) throw Error("training item `" + item->id + "` has the id of a held-out item");
    if (prompts.contains(item->prompt + '\0' + item->reference))
      throw Error("training item `" + item->id + "` is also held out",
                  "none may be: draw again, or divide the problems by a hash");
  }
}

void check_list(Task& task) {
  const auto size = checked_training_size(task);
  if (!size) throw RuleNotChecked("it has no TrainingList");
  if (*size == 0) return;
  const TaskItem last = checked_listed_item(task, *size - 1);
  checked_keep(task, {*size - 1});
  require_same_item(checked_listed_item(task, 0), last, "after keep()");
}

}  // namespace

void check_task_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination) {
  const Trials<Task> trials(entry, with, examination);
  const auto some_items = [](const Task& task) { return first_items(task, kSomeItems); };
  const auto same_items = [](const std::vector<TaskItem>& a, const std::vector<TaskItem>& b, const char* when) {
    for (std::size_t i = 0; i < b.size(); ++i) require_same_item(a.at(i), b[i], when);
  };
  trials.made([](const Task& task) { checked_held_out_size(task); });
  trials.results([&](const Task& task) {
    some_items(task);
    if (const std::int64_t size = checked_held_out_size(task); size > 0) checked_held_out_item(task, size - 1);
  });
  trials.rule("held out", check_held_out);
  trials.rule("list", check_list);
  trials.repeats(some_items, same_items, [](const Task& task) {
    for (std::int64_t i = kSomeItems; i-- > 0;) training_item(task, i, /*seed=*/2);
  });
  trials.threads([](const Task& task) { return training_items(task, kSomeItems); }, same_items);
  std::int64_t next = 0;
  trials.leak([&](const Task& task) { training_item(task, next++); });
}

}  // namespace drift
