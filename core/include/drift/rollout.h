#pragma once

#include <drift/component.h>
#include <drift/model.h>
#include <drift/params.h>
#include <drift/random.h>
#include <drift/trajectories.h>

#include <atomic>
#include <cstdint>

namespace drift {

struct RolloutInput {
  const Model* model = nullptr;
  Prompts prompts;
  RandomStream random{0, ""};     ///< draw at RandomPoint{step, first_sample + b, position, denoising step}
  std::int64_t step = 0;          ///< optimisation step
  std::int64_t first_sample = 0;  ///< number of response 0, so that a split batch draws what the whole one draws
  const std::atomic<bool>* cancelled =
      nullptr;  ///< set from another thread: return soon, whatever is in the result; may be null
};

/// Writes responses by denoising. Registered with a constructor (const Params&).
class DRIFT_API Rollout : public Component {
 public:
  static constexpr ComponentKind kKind = ComponentKind::kRollout;

  /// L, the number of response positions.
  virtual std::int64_t response_length() const = 0;

  /// Fill `trajectories` for all responses. Response b depends only on its own prompt and random points: not on the
  /// batch around it (up to rounding). Gradients are disabled by the caller.
  virtual void generate(const RolloutInput& input, Trajectories& trajectories) const = 0;
};

/// What a rollout takes, known before it runs.
struct RolloutCost {
  std::int64_t least_forwards = 1;  ///< of one response
  std::int64_t most_forwards = 1;
  std::int64_t bytes = 0;  ///< activations and logits held at one time, weights excluded; an estimate on the high side
};

/// A rollout that knows its cost. The host asks for it with dynamic_cast.
class DRIFT_API CostedRollout : public Rollout {
 public:
  /// @param model          its shapes; the parameters may lie on the meta device
  /// @param prompt_length  P, tokens of the longest prompt
  /// @param responses      written at once
  /// @param on_cpu         where the model will lie
  virtual void cost(const Model& model, std::int64_t prompt_length, std::int64_t responses, bool on_cpu,
                    RolloutCost& cost) const = 0;
};

}  // namespace drift
