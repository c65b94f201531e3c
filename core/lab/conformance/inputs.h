#pragma once

// Made-up inputs of every kind, the same in every process: small, with padding, and with what is rare in a run.

#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/reward.h>
#include <drift/trajectories.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

// Of all made-up rollouts: six responses in three groups.
constexpr std::int64_t kResponses = 6, kGroupSize = 2, kPromptLength = 3, kResponseLength = 8;
constexpr std::int64_t kPadId = 0, kEndId = 0, kMaskId = 1, kVocabulary = 23;

/// Uniform numbers in [low, high), float64, a function of the name.
at::Tensor made_up_numbers(const std::string& name, at::IntArrayRef sizes, double low, double high);

/// Of the first group they are shorter, if they have more than one token.
Prompts made_up_prompts(std::int64_t length);

/// Which responses a rollout left.
enum class Responded {
  kUsual,       ///< of different lengths, several tokens a step
  kEmpty,       ///< some, and the last, end at once: no valid token
  kAllEmpty,    ///< every one
  kUnfinished,  ///< some positions were never committed
};
Trajectories made_up_trajectories(Responded responded);

/// `trajectories` must outlive it.
MaskingInput made_up_masking_input(const Trajectories& trajectories, std::uint64_t seed = 1, std::int64_t step = 3);

/// Which views a loss is given.
enum class Viewed {
  kUsual,      ///< two forwards of every response, about half of it masked
  kAllMasked,  ///< everything is masked, the prompt too, and everything is scored
  kEmpty,      ///< one view masks and scores nothing, one response has no view, and its advantage is 0
  kPlain,      ///< as usual, without what a plan may leave undefined
};
/// @param dtype   of the log-probabilities; a run's are float32
/// @param spread  how far the log-probabilities of old and reference policy are from the current ones
LossInput made_up_loss_input(const LossEstimator& loss, Viewed viewed, at::ScalarType dtype, double spread = 0.3);
/// Of the usual one: the same views with log-probabilities of 0, -1e-6, -30 and -100, each against each.
LossInput extreme_loss_input(const LossEstimator& loss);

/// The views of the given numbers alone; totals stay those of all.
LossInput selected_views(const LossInput& input, const std::vector<std::int64_t>& views);

/// Texts that a model may write, good and bad: empty, long, not UTF-8.
std::vector<std::string> made_up_responses();

}  // namespace drift
