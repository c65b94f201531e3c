#pragma once

#include <drift/reward.h>

#include <string>

namespace format {

/// Judges how a response is written, not what it says. Needs no reference. First words that were given with the item
/// count as the response's.
class FormatReward final : public drift::Reward {
 public:
  static drift::ParamSpecs parameters();
  explicit FormatReward(const drift::Params& params);

  void score(const drift::RewardRequest& request, drift::RewardResult& result) const override;

 private:
  std::string part_;
  bool published_;
};

}  // namespace format
