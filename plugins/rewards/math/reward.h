#pragma once

#include <drift/reward.h>

#include <string>

#include "equivalence.h"
#include "extraction.h"

namespace math_reward {

/// Judges the final answer of a response: 1 if it means the same as the reference, else 0. See truth_of for references.
class MathReward final : public drift::Reward {
 public:
  static drift::ParamSpecs parameters();
  explicit MathReward(const drift::Params& params);

  /// @throws drift::Error if the item has no answer to compare with. Any response is judged.
  void score(const drift::RewardRequest& request, drift::RewardResult& result) const override;

 private:
  Extracted extract(std::string_view response) const;
  void judge_as_rldf_release(std::string_view response, const std::string& truth, drift::RewardResult& result) const;

  enum class Extraction { kBoxed, kTags, kRaw };
  Extraction extraction_;
  BoxOptions boxes_;
  EquivalenceOptions equivalence_;
  bool legacy_;  ///< judge as rldf_release
};

}  // namespace math_reward
