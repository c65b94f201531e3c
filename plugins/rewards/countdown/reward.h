#pragma once

#include <drift/reward.h>

#include "answer.h"
#include "expression.h"

namespace countdown {

/// Judges an arithmetic expression that a response holds. Which references it reads: reference.h.
class CountdownReward final : public drift::Reward {
 public:
  static drift::ParamSpecs parameters();
  explicit CountdownReward(const drift::Params& params);

  /// @throws drift::Error if the item's reference is not a Countdown puzzle. Any response is judged.
  void score(const drift::RewardRequest& request, drift::RewardResult& result) const override;

 private:
  AnswerForm form_;
  bool lenient_;
  bool all_numbers_;
  bool partial_;
  Intermediates intermediates_;
};

}  // namespace countdown
