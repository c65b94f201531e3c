#pragma once

// What the charts of a run and of a comparison draw of its steps, but for what needs more than one number.

#include <array>

namespace drift {

struct StepQuantity {
  const char* metric;
  const char* title;
  const char* unit;
  bool from_zero;         ///< never below 0
  double most;            ///< never above; 0: no such limit
  bool noisy;             ///< single steps tell little: a moving mean is drawn
  bool of_a_run;          ///< drawn in the report of a run
  const char* file = "";  ///< where comparisons draw it: the name of its files
};

inline constexpr std::array<StepQuantity, 13> kStepQuantities = {{
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
}};

}  // namespace drift
