#pragma once

#include <drift/model.h>
#include <drift/task.h>
#include <drift/trajectories.h>

#include <core/config/run_settings.h>
#include <core/ranks/ranks.h>
#include <core/rollout/judge.h>
#include <core/rollout/prompt_encoder.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// What the rewards of a run say of a rollout's responses.
struct ScoredResponses {
  at::Tensor reward_B;                        ///< float64
  std::vector<std::int64_t> solved;           ///< 0 or 1
  std::vector<std::int64_t> unjudged_groups;  ///< ascending
  std::vector<Judgement> judgements;          ///< before truncation counts
  double same_responses = 0;                  ///< fraction of repeated texts, as in StepRecord
};

/// Groups that could not be judged are named in the log.
/// @param items  one a group of `group_size` responses
ScoredResponses score_responses(Ranks& ranks, const std::vector<TaskItem>& items, const Trajectories& trajectories,
                                std::int64_t group_size, const Judge& judge, const PromptEncoder& prompts,
                                const ModelTraits& traits, const RewardSettings& settings);

}  // namespace drift
