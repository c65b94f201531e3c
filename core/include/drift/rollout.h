#pragma once

// A rollout writes responses; the policy predicts tokens at masked positions (policy.h):
//
//     void LeftToRight::generate(const drift::RolloutInput& input, drift::Trajectories& made) const {
//       for (std::int64_t i = 0; i < length_; ++i) {
//         forward.tokens_BS = at::cat({input.prompts.tokens_BP, made.tokens_BL}, 1).to(input.policy->device());
//         forward.rows_N = next_N + i;  // b * S + P + i
//         const auto sampled = input.policy->sample(forward, {}, all_B, uniform_B, options);
//         made.tokens_BL.select(1, i).copy_(sampled.token_M);
//         made.step_BL.select(1, i).fill_(i);
//         …
//       }
//     }

#include <drift/component.h>
#include <drift/model.h>
#include <drift/params.h>
#include <drift/policy.h>
#include <drift/random.h>
#include <drift/reserved.h>
#include <drift/trajectories.h>

#include <atomic>
#include <cstdint>

namespace drift {

/// Created by the host.
struct RolloutInput {
  const Policy* policy = nullptr;
  Prompts prompts;                  ///< on the CPU
  RandomStream random{0, ""};       ///< draw at RandomPoint{step, first_response + b, position, denoising step}
  std::int64_t step = 0;            ///< training step
  std::int64_t first_response = 0;  ///< number of response 0: parts of a batch draw the same as the full batch
  const std::atomic<bool>* cancelled = nullptr;  ///< set from another thread: return soon, with any result; may be null
  Reserved<at::Tensor, 4> reserved_tensors = {};
  Reserved<std::int64_t, 4> reserved_numbers = {};
};

/// Writes responses by denoising. Constructors: registry.h.
class DRIFT_API Rollout : public Component {
 public:
  static constexpr ComponentKind kKind = ComponentKind::kRollout;

  /// L, the number of response positions.
  virtual std::int64_t response_length() const = 0;

  /// Fill `trajectories` for all responses, with tensors on the CPU. Response b depends only on its own prompt and
  /// random points, not on the rest of the batch (up to rounding). The caller disables gradients.
  virtual void generate(const RolloutInput& input, Trajectories& trajectories) const = 0;
};

/// The cost of a rollout, known before it runs.
struct RolloutCost {
  std::int64_t least_forwards = 1;  ///< of one response
  std::int64_t most_forwards = 1;
  std::int64_t bytes = 0;  ///< activations and logits in memory at a time, without weights; a generous estimate
  Reserved<std::int64_t, 6> reserved_numbers = {};
};

/// Capability of a rollout that knows its cost.
class DRIFT_API RolloutCostEstimate {
 public:
  virtual ~RolloutCostEstimate() = default;

  /// @param model          its shapes; the parameters may be on the meta device
  /// @param prompt_length  P, tokens of the longest prompt
  /// @param responses      written together
  /// @param on_cpu         whether the model will be on the CPU
  virtual void estimate_cost(const Model& model, std::int64_t prompt_length, std::int64_t responses, bool on_cpu,
                             RolloutCost& cost) const = 0;
};

}  // namespace drift
