#pragma once

#include <drift/component.h>
#include <drift/mask_plan.h>
#include <drift/params.h>
#include <drift/random.h>
#include <drift/trajectories.h>

#include <cstdint>

namespace drift {

struct MaskingInput {
  const Trajectories* trajectories = nullptr;  ///< on the CPU
  RandomStream random{0, ""};                  ///< draw at RandomPoint{step, first_sample + b, position, draw}
  std::int64_t step = 0;                       ///< optimisation step
  at::Tensor sample_number_B;  ///< int64, the response's number in the rollout: RandomPoint::sample for response b
  std::int64_t inner_iteration = 0;
  std::int64_t end_id = -1;  ///< the model's end token; may equal pad_id
  std::int64_t pad_id = -1;
};

/// What every plan of a strategy has, and a loss may rely on (LossNeeds).
struct PlanOffers {
  /// A response's views come in pairs, forward 2m and 2m + 1 or (behind a first forward that scores everything) 2m + 1
  /// and 2m + 2, whose masks are complementary: of the positions scored, each is scored in exactly one of the two.
  bool complementary_views = false;
};

/// How often a strategy draws its plan.
enum class PlanRefresh : std::uint32_t {
  kOncePerRollout = 0,
  kEachInnerIteration = 1,
};

/// Chooses which masked contexts are scored, and at which positions. Registered with a constructor (const Params&).
class DRIFT_API MaskingStrategy : public Component {
 public:
  static constexpr ComponentKind kKind = ComponentKind::kMaskingStrategy;

  virtual PlanRefresh refresh() const { return PlanRefresh::kOncePerRollout; }
  virtual void offers(PlanOffers&) const {}

  /// Fill `plan` (CPU tensors). Views may come in any order; a response without a training signal gets none.
  virtual void plan(const MaskingInput& input, MaskPlan& plan) const = 0;
};

}  // namespace drift
