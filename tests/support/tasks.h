#pragma once

// Items of tasks, and what holds for every task that makes its own.

#include "tests/support/support.h"

#include <drift/error.h>
#include <drift/task.h>

namespace drift::test {

inline std::vector<TaskItem> training_items(const Task& task, std::int64_t count, std::uint64_t seed = 1) {
  const RandomStream random(seed, "items");
  std::vector<TaskItem> items(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) task.training_item(i, random, items[static_cast<std::size_t>(i)]);
  return items;
}

inline std::vector<TaskItem> held_out_items(const Task& task) {
  std::vector<TaskItem> items(static_cast<std::size_t>(task.held_out_size()));
  for (std::int64_t i = 0; i < task.held_out_size(); ++i) task.held_out_item(i, items[static_cast<std::size_t>(i)]);
  return items;
}

/// Every byte of an item.
inline std::string text_of(const TaskItem& item) {
  return item.id + "\n" + item.prompt + "\n" + item.reference + "\n" + item.demonstration + item.response_prefix + "\n";
}

/// FNV-1a of all texts, one after the other.
template <class Texts>
std::uint64_t hash_of(const Texts& texts) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const std::string_view text : texts) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return hash;
}

/// Training items depend on the seed and the index alone. `other`: the same task with other held-out items.
inline void expect_items_of_seed_and_index(const Task& task, const Task& other) {
  const auto items = training_items(task, 50);
  const RandomStream same_seed(1, "items");
  for (std::int64_t i = 49; i >= 0; --i) {
    TaskItem again;
    other.training_item(i, same_seed, again);
    EXPECT_EQ(text_of(again), text_of(items[static_cast<std::size_t>(i)]));
  }
  EXPECT_NE(training_items(task, 1, 2)[0].prompt, items[0].prompt);
  TaskItem far;
  task.training_item((std::int64_t{1} << 32) + 7, same_seed, far);
  EXPECT_NE(far.prompt, items[7].prompt) << "items continue beyond 2^32";
}

/// A larger number of held-out items adds some at the end, and there are no others.
inline void expect_held_out_items_to_grow(const Task& task, const Task& smaller) {
  const auto items = held_out_items(task), fewer = held_out_items(smaller);
  ASSERT_LT(fewer.size(), items.size());
  for (std::size_t i = 0; i < fewer.size(); ++i) EXPECT_EQ(fewer[i].id, items[i].id);
  TaskItem item;
  EXPECT_THROW(task.held_out_item(task.held_out_size(), item), Error);
  EXPECT_THROW(task.held_out_item(-1, item), Error);
}

}  // namespace drift::test
