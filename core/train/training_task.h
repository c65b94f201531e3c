#pragma once

#include <core/boundary/components.h>
#include <core/rollout/prompt_encoder.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// The task that a run trains on, with the training items that its prompts leave.
struct TrainingTask {
  Loaded<Task> task;
  std::string note;  ///< what was left out, for the log and the user; empty: nothing
};

/// Create `[task]` and keep only those of its listed items whose complete prompt, with turns and first words of the
/// response, has at most `max_prompt_tokens` tokens. Held-out items all stay.
/// @throws Error if no training item is left, or the task has no list to choose from.
TrainingTask open_training_task(RunHost& host, const RunConfig& config, const PromptEncoder& prompts);

/// Training items `first`, first + 1, …, as many as `count`.
std::vector<TaskItem> draw_items(const Task& task, std::int64_t first, std::int64_t count, const RandomStream& random);

}  // namespace drift
