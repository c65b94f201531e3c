#pragma once

#include <drift/reward.h>

#include <optional>
#include <string_view>

#include "expression.h"

namespace countdown {

/// Judges an arithmetic expression that a response holds. The reference is {"numbers": [3, 7, 12], "target": 24}.
class CountdownReward final : public drift::Reward {
 public:
  static drift::ParamSpecs parameters();
  explicit CountdownReward(const drift::Params& params);

  /// @throws drift::Error if the item's reference is not a Countdown puzzle. Any response is judged.
  void score(const drift::RewardRequest& request, drift::RewardResult& result) const override;

 private:
  std::optional<std::string_view> find_answer(std::string_view response, drift::RewardResult& result) const;

  bool tags_;
  bool all_numbers_;
  bool partial_;
  Intermediates intermediates_;
};

}  // namespace countdown
