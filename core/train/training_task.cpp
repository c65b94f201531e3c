#include <core/train/training_task.h>

#include <core/boundary/checked.h>

namespace drift {
namespace {

std::string limit_prompts(Task& task, std::int64_t listed, const PromptEncoder& prompts, std::int64_t most) {
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < listed; ++i) {
    if (static_cast<std::int64_t>(prompts.ids(checked_listed_item(task, i)).size()) <= most) kept.push_back(i);
  }
  const auto left_out = listed - static_cast<std::int64_t>(kept.size());
  if (left_out == 0) return {};
  const std::string note = std::to_string(left_out) + " of " + std::to_string(listed) +
                           " training items have prompts of more than " + std::to_string(most) + " tokens";
  if (kept.empty()) throw Error(note, "raise task.max_prompt_tokens");
  checked_keep(task, kept);
  return note + ": left out";
}

}  // namespace

TrainingTask open_training_task(RunHost& host, const RunConfig& config, const PromptEncoder& prompts) {
  TrainingTask training{create_component<Task>(host, config, "task"), {}};
  const auto listed = checked_training_size(*training.task);
  const auto most = config.get<TaskSettings>().max_prompt_tokens;
  if (!listed && most > 0) {
    throw Error("task.max_prompt_tokens selects from a list of items, but the task `" + training.task.name() +
                    "` generates its items",
                "set max_prompt_tokens = 0");
  }
  if (!listed) return training;
  if (*listed == 0) throw Error("the task `" + training.task.name() + "` has no training items");
  if (most > 0) training.note = limit_prompts(*training.task, *listed, prompts, most);
  return training;
}

std::vector<TaskItem> draw_items(const Task& task, std::int64_t first, std::int64_t count, const RandomStream& random) {
  std::vector<TaskItem> items(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    items[static_cast<std::size_t>(i)] = checked_training_item(task, first + i, random);
  return items;
}

}  // namespace drift
