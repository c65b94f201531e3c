#include <core/conformance/inputs.h>
#include <core/conformance/rules.h>
#include <core/conformance/watches.h>
#include <core/process/threads.h>

#include <drift/random.h>
#include <drift/task.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

namespace drift {
namespace {

constexpr std::int64_t kItems = 200, kSomeItems = 20;

using TaskPointer = std::unique_ptr<Task>;

auto fields(const TaskItem& item) {
  return std::tie(item.id, item.prompt, item.reference, item.demonstration, item.response_prefix, item.earlier_turns);
}
bool same_item(const TaskItem& a, const TaskItem& b) { return fields(a) == fields(b); }

TaskItem training_item(const Task& task, std::int64_t index, std::uint64_t seed = 1) {
  TaskItem item;
  task.training_item(index, RandomStream(seed, "items"), item);
  return item;
}
TaskItem held_out_item(const Task& task, std::int64_t index) {
  TaskItem item;
  task.held_out_item(index, item);
  return item;
}

std::vector<TaskItem> training_items(const Task& task, std::int64_t count) {
  std::vector<TaskItem> items;
  for (std::int64_t i = 0; i < count; ++i) items.push_back(training_item(task, i));
  return items;
}

void require_same(const TaskItem& a, const TaskItem& b, const std::string& when) {
  if (!same_item(a, b))
    throw Error("item `" + b.id + "` is another one " + when, "an item is a function of the stream and its number");
}

/// Ids of held-out items are distinct, and no training item is one of them.
void check_held_out(const Task& task) {
  const std::int64_t size = task.held_out_size();
  std::set<std::string> ids, prompts;
  for (std::int64_t i = 0; i < std::min(size, kItems); ++i) {
    const TaskItem item = held_out_item(task, i);
    if (!ids.insert(item.id).second) throw Error("two held-out items have the id `" + item.id + "`");
    prompts.insert(item.prompt + '\0' + item.reference);
  }
  for (const TaskItem& item : training_items(task, kItems)) {
    if (ids.contains(item.id)) throw Error("training item `" + item.id + "` has the id of a held-out item");
    if (prompts.contains(item.prompt + '\0' + item.reference))
      throw Error("training item `" + item.id + "` is also held out",
                  "none may be: draw again, or divide the problems by a hash");
  }
}

void check_deterministic(const Task& task, const Task& other) {
  const auto first = training_items(task, kSomeItems);
  for (std::int64_t i = kSomeItems; i-- > 0;) {
    const TaskItem& expected = first[static_cast<std::size_t>(i)];
    require_same(training_item(task, i), expected, "the second time");
    require_same(training_item(other, i), expected, "from another object");
  }
  for (std::int64_t i = 0; i < std::min(task.held_out_size(), kSomeItems); ++i) {
    const TaskItem expected = held_out_item(task, i);
    training_item(task, i, /*seed=*/2);
    require_same(held_out_item(task, i), expected, "the second time");
    require_same(held_out_item(other, i), expected, "from another object");
  }
}

void check_list(TrainingList& list) {
  const std::int64_t size = list.training_size();
  if (size == 0) return;
  TaskItem last;
  list.listed_item(size - 1, last);
  list.keep({size - 1});
  TaskItem kept;
  list.listed_item(0, kept);
  require_same(kept, last, "after keep()");
}

void check_threads(const Task& task) {
  const auto expected = training_items(task, kSomeItems);
  for_each_at_once(
      4 * kThreads,
      [&](std::size_t) {
        for (std::size_t i = 0; i < expected.size(); ++i)
          require_same(training_item(task, static_cast<std::int64_t>(i)), expected[i], "from several threads");
      },
      kThreads);
}

}  // namespace

void check_task_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination) {
  const auto settings = edge_settings(entry.params, with.values);
  const auto make = [&](const Setting& setting) { return make_examined<Task>(entry, setting.values); };
  const auto each = [&](const std::function<void(Task&)>& body) {
    return for_each_setting(settings, [&](const Setting& setting) { body(*make(setting)); });
  };

  examination.basic_rule(
      "made", [&] { return or_not_checked(entry, [&] { return each([](Task& task) { task.held_out_size(); }); }); });
  // Ids, prompts and UTF-8 are what the guards of core/boundary check of every item.
  examination.basic_rule("results", [&] {
    return each([](Task& task) {
      training_items(task, kSomeItems);
      const std::int64_t size = task.held_out_size();
      for (std::int64_t i = 0; i < std::min(size, kSomeItems); ++i) held_out_item(task, i);
      if (size > 0) held_out_item(task, size - 1);
    });
  });
  examination.rule("held out", [&] { return each([](Task& task) { check_held_out(task); }); });
  examination.rule("deterministic", [&] {
    return for_each_setting(settings,
                            [&](const Setting& setting) { check_deterministic(*make(setting), *make(setting)); });
  });
  examination.rule("list", [&] {
    return each([](Task& task) {
      auto* const list = capability<TrainingList>(task);
      if (list == nullptr) throw RuleNotChecked("it has no TrainingList");
      check_list(*list);
    });
  });
  examination.rule("threads", [&] {
    check_threads(*make(settings.front()));
    return std::to_string(kThreads) + " threads";
  });
  examination.rule("random numbers", [&] {
    return each([](Task& task) { without_global_random([&] { training_items(task, kSomeItems); }); });
  });
  examination.rule("leak", [&] {
    const TaskPointer task = make(settings.front());
    std::int64_t next = 0;
    return without_leak([&] { training_item(*task, next++); });
  });
}

}  // namespace drift
