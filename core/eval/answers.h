#pragma once

// Responses to a task's held-out items. They are numbered item by item: response n is sample n % samples of item
// n / samples, and what it says depends on n alone, not on the batch that it is written in.

#include <drift/model.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <core/boundary/components.h>
#include <core/ranks/ranks.h>
#include <core/rollout/judge.h>
#include <core/rollout/prompt_encoder.h>
#include <core/rollout/trajectory_record.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// One response, with the order in which it was written.
struct AnsweredItem {
  TaskItem item;
  std::int64_t sample = 0;
  std::string response;
  std::vector<std::int64_t> token_ids;
  std::vector<std::int32_t> commit_step;  ///< per token, -1 = never
  std::vector<float> commit_logprob;
  std::optional<TrajectoryRecord> trajectory;  ///< all of it, with entropies, where asked for
  std::int64_t written = 0;                    ///< tokens before the one that ends the response
  bool truncated = false;                      ///< no token ends it
  std::int64_t forwards = 0;
  double seconds = 0;  ///< its share of the time that its batch took to write
  Judgement judgement;
};

/// What writes the responses of one task.
struct AnswerSettings {
  Ranks* ranks = nullptr;  ///< that write and judge them together
  const Model* model = nullptr;
  const PromptEncoder* prompts = nullptr;
  const Loaded<Task>* task = nullptr;
  const Loaded<Rollout>* rollout = nullptr;
  std::int64_t samples = 1;
  std::int64_t first_item = 0;  ///< that response 0 answers
  std::uint64_t seed = 0;
  bool keep_trajectories = false;  ///< costs as many forwards again
  const std::atomic<bool>* cancelled = nullptr;
};

/// Held-out items [first, first + count).
std::vector<TaskItem> held_out_items(const Loaded<Task>& task, std::int64_t first, std::int64_t count);

/// Collective: write responses [first, first + count), not judged. Empty if it was cancelled.
std::vector<AnsweredItem> write_answers(const AnswerSettings& settings, std::int64_t first, std::int64_t count);

/// Fill in the judgements.
void judge_answers(Ranks& ranks, const Judge& judge, std::vector<AnsweredItem>& answers);

}  // namespace drift
