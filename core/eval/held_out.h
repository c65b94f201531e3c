#pragma once

#include <drift/model.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <core/text/tokenizer.h>
#include <core/train/components.h>
#include <core/train/judge.h>
#include <core/train/prompt_encoder.h>
#include <core/train/step_record.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace drift {

/// One answered item, with the order in which it was written.
struct AnsweredItem {
  TaskItem item;
  std::string response;
  std::vector<std::int64_t> token_ids;
  std::vector<std::int32_t> commit_step;  ///< per token, -1 = never
  std::vector<float> commit_logprob;
  std::int64_t forwards = 0;
  Judgement judgement;
};

struct HeldOutEvaluation {
  HeldOutResult result;
  std::vector<AnsweredItem> answers;  ///< in the order of the items
};

struct HeldOutSettings {
  const Model* model = nullptr;
  const PromptEncoder* prompts = nullptr;
  const Loaded<Task>* task = nullptr;
  const Judge* judge = nullptr;
  const Loaded<Rollout>* rollout = nullptr;
  std::int64_t items = 0;  ///< the first so many; 0 = all
  std::uint64_t seed = 0;
  const std::atomic<bool>* cancelled = nullptr;
  std::function<void(std::int64_t done, std::int64_t total)> progress;  ///< may be empty
};

/// Answer held-out items, one response each, and judge them. Nothing of a training run's randomness is touched.
HeldOutEvaluation evaluate_held_out(const HeldOutSettings& settings);

/// The text of each token as the report shows it.
std::vector<std::string> display_pieces(const std::vector<std::int64_t>& ids, const Tokenizer& tokenizer);

/// samples.json for the report: up to `count` solved and `count` failed answers.
std::string samples_json(const HeldOutEvaluation& evaluation, std::int64_t step, const Tokenizer& tokenizer,
                         std::int64_t count);

}  // namespace drift
