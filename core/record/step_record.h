#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

namespace drift {

/// Wall-clock seconds of a step, phase by phase.
struct StepSeconds {
  double rollout = 0;
  double reward = 0;
  double old = 0;  ///< log-probabilities of the policy that wrote the responses, where the update does not yield them
  double reference = 0;
  double update = 0;  ///< forwards with gradients, loss, backwards, optimizer
  double total = 0;

  double other() const { return total - rollout - reward - old - reference - update; }
};

struct HeldOutResult {
  double accuracy = 0;
  double standard_error = 0;  ///< binomial
  std::int64_t items = 0;
  double forwards_per_response = 0;
  double seconds = 0;
};

/// What is known of one optimisation step: a line of metrics.jsonl. What a run does not have stays NaN (null in the
/// file).
struct StepRecord {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  std::int64_t step = 0;  ///< 1, 2, …; 0: the evaluation before the first step
  double loss = kUnknown;
  double reward = kUnknown;                    ///< mean over all responses of the rollout
  std::map<std::string, double> reward_parts;  ///< by label, where there are several rewards; without their weights
  double solved = kUnknown;
  double grad_norm = kUnknown;  ///< mean over the inner iterations, before clipping
  double learning_rate = kUnknown;
  std::int64_t groups = 0;
  std::int64_t live_groups = -1;  ///< groups with differing rewards
  std::int64_t kept_groups = -1;  ///< groups that were trained on
  double response_length = kUnknown;
  double forwards_per_response = kUnknown;
  double tokens_per_second = kUnknown;  ///< valid response tokens per second of rollout; pretrain: tokens per second
  // Masked sequences that went through the model in the update, those of the old and the reference policy included, and
  // through it backwards. Equal contexts count once.
  std::int64_t forward_rows = -1;
  std::int64_t backward_rows = -1;
  std::int64_t update_responses = 0;  ///< responses of the rollout: what the two are told per one of
  bool two_pass = false;
  bool skipped = false;                        ///< no group was live: no optimizer step
  std::map<std::string, double> loss_metrics;  ///< kl, token_utility, …
  StepSeconds seconds;
  std::optional<HeldOutResult> held_out;

  /// NaN if the loss does not report it.
  double loss_metric(const std::string& name) const;
  /// One line of JSON, without the line break.
  std::string to_json() const;
};

}  // namespace drift
