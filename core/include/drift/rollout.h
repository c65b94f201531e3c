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

}  // namespace drift
