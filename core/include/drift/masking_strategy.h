#pragma once

// A strategy chooses the contexts that are scored:
//
//     void OneMask::plan(const drift::MaskingInput& input, drift::MaskPlan& plan) const {
//       const drift::Responses responses(input);
//       drift::PlanBuilder builder(responses.length(), responses.prompt_length());
//       for (std::int64_t b = 0; b < responses.size(); ++b) {
//         builder.begin_view(b, 0);
//         for (std::int64_t i = 0; i < responses.length(); ++i) {
//           const drift::RandomPoint point{input.step, responses[b].number, i, 0};
//           if (responses[b].valid[i] && input.random.uniform(point) < share_) builder.mask(i), builder.score(i);
//         }
//       }
//       plan = builder.finish(1);
//     }

#include <drift/component.h>
#include <drift/mask_plan.h>
#include <drift/params.h>
#include <drift/random.h>
#include <drift/reserved.h>
#include <drift/trajectories.h>

#include <cstdint>

namespace drift {

/// Created by the host.
struct MaskingInput {
  const Trajectories* trajectories = nullptr;  ///< on the CPU
  RandomStream random{0, ""};                  ///< draw at RandomPoint{step, response_number_B[b], position, draw}
  std::int64_t step = 0;                       ///< training step
  at::Tensor response_number_B;  ///< int64, the response's number in the rollout, which is not its place in the batch
  std::int64_t inner_iteration = 0;
  std::int64_t end_id = -1;  ///< the model's end token; may equal pad_id
  std::int64_t pad_id = -1;
  at::Tensor end_ids_E;  ///< int64, all tokens that end a response, end_id first; undefined: end_id alone
  Reserved<at::Tensor, 3> reserved_tensors = {};
  std::int64_t block_size = 0;  ///< ModelTraits::block_size
  Reserved<std::int64_t, 3> reserved_numbers = {};
};

/// How often a strategy draws its plan.
enum class PlanRefresh : std::uint32_t {
  kOncePerRollout = 0,
  kEachInnerIteration = 1,
};

/// Chooses which masked contexts are scored, and at which positions. Constructors: registry.h.
class DRIFT_API MaskingStrategy : public Component {
 public:
  static constexpr ComponentKind kKind = ComponentKind::kMaskingStrategy;

  virtual PlanRefresh refresh() const { return PlanRefresh::kOncePerRollout; }

  /// Fill `plan` (CPU tensors). Views may come in any order; a response without a training signal gets none.
  virtual void plan(const MaskingInput& input, MaskPlan& plan) const = 0;
};

}  // namespace drift
