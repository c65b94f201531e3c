#pragma once

#include <core/eval/answers.h>
#include <core/record/held_out_result.h>
#include <core/rollout/held_out_split.h>
#include <core/rollout/judge.h>
#include <core/text/tokenizer.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace drift {

struct HeldOutSettings {
  AnswerSettings answers;
  const Judge* judge = nullptr;
  HeldOutSplit split = {};
  std::int64_t batch_size = 1;
  std::function<void(std::int64_t done, std::int64_t total)> progress;  ///< of responses; may be empty
};

/// Answer held-out items and judge the responses; those that could not be judged do not count. Nothing of a training
/// run's randomness is touched.
/// @param answers  become those of this evaluation, in the order of their numbers
HeldOutResult evaluate_held_out(const HeldOutSettings& settings, std::vector<AnsweredItem>& answers);

/// samples.json for the report: up to `count` solved and `count` failed answers.
std::string samples_json(const std::vector<AnsweredItem>& answers, std::int64_t step, const Tokenizer& tokenizer,
                         std::int64_t count);

/// The first `count` answers, as samples.json has them: the same items in every evaluation.
nlohmann::json first_samples(const std::vector<AnsweredItem>& answers, std::int64_t step, const Tokenizer& tokenizer,
                             std::int64_t count);

}  // namespace drift
