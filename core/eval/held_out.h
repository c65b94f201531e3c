#pragma once

#include <core/eval/answers.h>
#include <core/record/step_record.h>
#include <core/rollout/judge.h>
#include <core/text/tokenizer.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace drift {

struct HeldOutEvaluation {
  HeldOutResult result;
  std::vector<AnsweredItem> answers;  ///< in the order of their numbers
};

struct HeldOutSettings {
  AnswerSettings answers;
  const Judge* judge = nullptr;
  std::int64_t items = 0;  ///< the first so many; 0 = all
  std::int64_t batch_size = 1;
  std::function<void(std::int64_t done, std::int64_t total)> progress;  ///< of responses; may be empty
};

/// Answer held-out items and judge the responses; those that could not be judged do not count. Nothing of a training
/// run's randomness is touched.
HeldOutEvaluation evaluate_held_out(const HeldOutSettings& settings);

/// The text of each token as the report shows it.
std::vector<std::string> display_pieces(const std::vector<std::int64_t>& ids, const Tokenizer& tokenizer);

/// samples.json for the report: up to `count` solved and `count` failed answers.
std::string samples_json(const HeldOutEvaluation& evaluation, std::int64_t step, const Tokenizer& tokenizer,
                         std::int64_t count);

}  // namespace drift
