#pragma once

// What is known of a training step: what training fills in, the terminal shows, metrics.jsonl keeps and the reports
// read.

#include <core/base/unknown.h>
#include <core/record/held_out_result.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// Time that a step spent in one phase.
struct PhaseSeconds {
  std::string name;
  double seconds = 0;
};

/// Wall-clock seconds of a step, phase by phase.
struct StepSeconds {
  double rollout = 0;
  double reward = 0;
  double old = 0;  ///< log-probabilities of the policy that wrote the responses, if the update does not yield them
  double reference = 0;
  double value = kUnknown;  ///< estimates and updates of the value model, if there is one
  double update = 0;        ///< forwards with gradients, loss, backwards, optimizer
  double total = 0;

  double other() const;
  /// Those that are known, by name and without the total.
  std::vector<PhaseSeconds> phases() const;
};

/// A response, for readers.
struct SampleText {
  std::string question, response;
  double reward = kUnknown;
  bool solved = false;
};

/// What is known of one training step. Values that a run does not have stay unknown.
struct StepRecord {
  std::int64_t step = 0;  ///< 1, 2, …; 0: the evaluation before the first step
  double loss = kUnknown;
  double reward = kUnknown;                                 ///< mean over all responses of the rollout
  std::map<std::string, double, std::less<>> reward_parts;  ///< by label, if there are several; without their weights
  double solved = kUnknown;                                 ///< share of the responses, in [0, 1]
  double grad_norm = kUnknown;                              ///< mean over the optimizer steps, before clipping
  double learning_rate = kUnknown;
  std::int64_t groups = 0;
  std::optional<std::int64_t> live_groups;  ///< groups with differing rewards
  std::optional<std::int64_t> kept_groups;  ///< groups that were trained on
  double response_length = kUnknown;
  double forwards_per_response = kUnknown;
  double tokens_per_second = kUnknown;  ///< valid response tokens per second of rollout; pretrain: tokens per second
  // Masked sequences that went through the model in the update, those of the old and the reference policy included, and
  // through it backwards. Equal contexts count once.
  double update_forwards_per_response = kUnknown;
  double update_backwards_per_response = kUnknown;
  double token_surprisal = kUnknown;  ///< - log-probability of a token when it was committed: mean over the rollout
  double same_responses =
      kUnknown;  ///< share whose text repeats that of an earlier one of the group, its first not counted
  double rollout_gap = kUnknown;  ///< between log-probabilities when committed and as training scores them: mean …
  double rollout_gap_max = kUnknown;           ///< … and largest absolute difference
  double rollout_weight = kUnknown;            ///< of rollout_correction, mean over the tokens that have one
  double rollout_capped = kUnknown;            ///< share of these whose weight is the cap
  double value_loss = kUnknown;                ///< of the value model, mean over its optimizer steps
  double value_explained_variance = kUnknown;  ///< of the returns, by the estimates before the update
  double rank_idle = kUnknown;      ///< share of the step that a rank spent in exchanges: mean over several ranks …
  double rank_idle_max = kUnknown;  ///< … and the largest
  bool two_pass = false;
  bool skipped = false;                                       ///< no group was live: no optimizer step
  std::map<std::string, double, std::less<>> loss_metrics;    ///< what the loss reports: loss/NAME in metrics.jsonl
  std::map<std::string, double, std::less<>> plugin_metrics;  ///< what other components report, as COMPONENT/name
  /// Why the step taught nothing or little: texts that are the same in each such step, so that they can be counted. Not
  /// in metrics.jsonl.
  std::vector<std::string> warnings;
  std::string inspection;                 ///< the content of inspect/step-NNNNNN.json; empty: not inspected
  std::optional<StepSeconds> seconds;     ///< none where nothing was trained
  std::optional<HeldOutResult> held_out;  ///< where the step was evaluated
  // For programs that watch the run ([report]), not in metrics.jsonl: empty if there is none.
  std::map<std::string, std::vector<double>> distributions;  ///< values over responses or tokens, by name
  std::vector<SampleText> samples;                           ///< of the first responses

  /// A number by its name in metrics.jsonl, "reward.LABEL", "loss/NAME" and "COMPONENT/name" included; "seconds" is the
  /// whole step's time, "held_out" the accuracy.
  double value(std::string_view name) const;
};

/// One line of metrics.jsonl, without the line break.
std::string to_json_line(const StepRecord& record);

/// What to_json_line() wrote. A plain name that is not known is a metric of the loss, as in runs from before these had
/// names of their own.
/// @throws Error if it is no such line.
StepRecord parse_step(std::string_view line);

}  // namespace drift
