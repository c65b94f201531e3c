#pragma once

// What the tests of several processes compare: an update by one algorithm, by all of them and by one alone.

#include <core/ranks/ranks.h>
#include <core/update/policy_gradient.h>
#include <core/update/update_batch.h>

#include "tests/support/alone.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

namespace drift {

inline constexpr std::int64_t kGroups = 3, kGroupSize = 3, kPrompt = 7, kResponses = kGroups * kGroupSize;

/// The processes of this program.
Ranks& all_ranks();

/// Every rank has the same bits.
inline void expect_same_everywhere(const at::Tensor& tensor) {
  const auto all_R = all_ranks().all_gather(tensor.detach().reshape({1, -1}));
  for (std::int64_t r = 1; r < all_ranks().size(); ++r) EXPECT_TRUE(at::equal(all_R[r], all_R[0])) << "rank " << r;
}

/// Numbers whose sum depends on the order of its terms.
inline at::Tensor numbers_of(std::int64_t rank, std::int64_t count, at::ScalarType type) {
  return (at::arange(count, at::kDouble) * (rank + 1) * 0.37 + rank).sin().to(type);
}

/// An update by one algorithm: its masks of some responses, and other policies that are not far from the current one.
struct AlgorithmCase {
  AlgorithmCase(const Algorithm& algorithm, const Model& model, const Trajectories& written)
      : trajectories(written), loss(make<LossEstimator>(algorithm.loss)) {
    MaskingInput input = test::masking_input(trajectories);
    input.end_id = model.traits().end_id;
    input.pad_id = model.traits().pad_id;
    plan = test::draw_plan(*make<MaskingStrategy>(algorithm.masking), input);
    loss->needs(needs);
    const auto advantage_B = (at::arange(trajectories.tokens_BL.size(0), at::kDouble) * 2.3).sin();
    batch = update_batch(trajectories, advantage_B, plan, kGroupSize);
    batch.old_policy = near(model, 1.03);
    if (needs.reference) batch.reference = near(model, 0.96);
  }

  template <class Interface>
  static std::unique_ptr<Interface> make(const std::string& name) {
    const ComponentEntry* entry = test::all_plugins().find(Interface::kKind, name);
    auto made = test::host().make(*entry, Parameters(entry->params));
    auto* typed = dynamic_cast<Interface*>(made.release());
    return std::unique_ptr<Interface>(typed);
  }

  PolicyScores near(const Model& model, double factor) const {
    auto scores = score_views(test::alone, model, trajectories, plan, all_views(plan), needs.entropy);
    scores.logprob_FL = scores.logprob_FL * factor;
    return scores;
  }

  Trajectories trajectories;
  std::unique_ptr<LossEstimator> loss;
  LossNeeds needs;
  MaskPlan plan;
  UpdateBatch batch;
};

/// By this process alone, with an algorithm that ships.
inline AlgorithmCase case_of(const char* algorithm, const Model& model, const Trajectories& written) {
  return AlgorithmCase(*test::all_plugins().find_algorithm(algorithm), model, written);
}

}  // namespace drift
