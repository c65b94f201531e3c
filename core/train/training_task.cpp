#include <core/train/training_task.h>

namespace drift {
namespace {

std::vector<std::int64_t> short_prompts(const TrainingList& task, const PromptEncoder& prompts, std::int64_t most) {
  std::vector<std::int64_t> kept;
  TaskItem item;
  for (std::int64_t i = 0; i < task.training_size(); ++i) {
    task.listed_item(i, item);
    if (static_cast<std::int64_t>(prompts.ids(item).size()) <= most) kept.push_back(i);
  }
  return kept;
}

std::string limit_prompts(TrainingList& task, const PromptEncoder& prompts, std::int64_t most) {
  const std::int64_t before = task.training_size();
  const auto kept = short_prompts(task, prompts, most);
  const auto left_out = before - static_cast<std::int64_t>(kept.size());
  if (left_out == 0) return {};
  const std::string note = std::to_string(left_out) + " of " + std::to_string(before) +
                           " training items have prompts of more than " + std::to_string(most) + " tokens";
  if (kept.empty()) throw Error(note, "raise task.max_prompt_tokens");
  task.keep(kept);
  return note + ": left out";
}

}  // namespace

TrainingTask open_training_task(const Registry& registry, const RunConfig& config, const PromptEncoder& prompts) {
  TrainingTask training{create_component<Task>(registry, config, "task"), {}};
  auto* listed = capability<TrainingList>(*training.task);
  const auto most = config.section("task").get<std::int64_t>("max_prompt_tokens");
  if (listed == nullptr && most > 0) {
    throw Error("task.max_prompt_tokens selects from a list of items, but the task `" + training.task.name() +
                    "` generates its items",
                "set max_prompt_tokens = 0");
  }
  if (listed == nullptr) return training;
  if (listed->training_size() == 0) throw Error("the task `" + training.task.name() + "` has no training items");
  if (most > 0) training.note = limit_prompts(*listed, prompts, most);
  return training;
}

}  // namespace drift
