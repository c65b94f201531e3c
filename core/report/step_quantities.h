#pragma once

// What the charts of a run and of a comparison, and those in a terminal, draw of a run's steps.

#include <core/record/step_record.h>
#include <core/report/chart.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

struct StepQuantity {
  const char* metric;
  const char* title;
  const char* unit;
  bool from_zero;         ///< never below 0
  double most;            ///< never above; 0: no such limit
  bool noisy;             ///< single steps tell little: a moving mean is drawn
  bool of_a_run;          ///< drawn in the report of a run like all others
  const char* file = "";  ///< where comparisons draw it: the name of its files
  double factor = 1;      ///< from the metric to the unit
  bool points = false;    ///< known at a few steps

  /// Its chart, without values.
  Chart chart() const;
};

inline constexpr std::array<StepQuantity, 17> kStepQuantities = {{
    {"held_out", "Held-out accuracy", "%", true, 100, false, false, "held_out_accuracy", 100, true},
    {"reward", "Reward", "of the training responses", false, 0, true, false, "reward"},
    {"solved", "Solved", "share of the training responses", true, 1, true, false, "solved"},
    {"loss", "Loss", "", false, 0, true, true, "loss"},
    {"loss/kl", "KL to the reference", "nats", false, 0, true, true, "kl"},
    {"grad_norm", "Gradient norm", "before clipping", true, 0, true, true, "grad_norm"},
    {"loss/token_utility", "Token utility", "share of tokens scored", true, 0, true, true, "token_utility"},
    {"live_groups", "Live groups", "groups with differing rewards", true, 0, true, false, "live_groups"},
    {"response_length", "Response length", "tokens", true, 0, true, true, "response_length"},
    {"forwards_per_response", "Rollout forwards", "a response", true, 0, true, true, "rollout_forwards"},
    {"update_forwards_per_response", "Update forwards", "a response", true, 0, true, false, "update_forwards"},
    {"update_backwards_per_response", "Update backwards", "a response", true, 0, true, false, "update_backwards"},
    {"token_surprisal", "Surprisal", "nats, of a committed token", true, 0, true, true},
    {"same_responses", "Same responses", "share of the responses of a group", true, 1, true, true},
    {"tokens_per_second", "Speed", "tokens per second", true, 0, false, true},
    {"learning_rate", "Learning rate", "", true, 0, false, true},
    {"seconds", "Time", "seconds per step", true, 0, true, false, "seconds_per_step"},
}};

/// One a step.
std::vector<double> values_of(const std::vector<StepRecord>& steps, std::string_view metric, double factor = 1);
std::vector<double> step_numbers(const std::vector<StepRecord>& steps);

/// Of a metric over the steps, whether it is one of the above or not.
Chart metric_chart(const std::vector<StepRecord>& steps, const std::string& metric);

}  // namespace drift
