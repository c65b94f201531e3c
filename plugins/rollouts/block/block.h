#pragma once

#include "decoder.h"

/// Block-wise decoding with confidence remasking: LLaDA's semi-autoregressive sampler (static schedule) and Fast-dLLM's
/// threshold rule (dynamic), without a cache: every state is computed in full, so training scores what the rollout saw.
class BlockRollout final : public drift::Rollout, public drift::RolloutCostEstimate {
 public:
  explicit BlockRollout(const drift::Params& params);
  static drift::ParamSpecs parameters();

  std::int64_t response_length() const override { return settings_.length; }
  void generate(const drift::RolloutInput& input, drift::Trajectories& trajectories) const override;
  void estimate_cost(const drift::Model& model, std::int64_t prompt_length, std::int64_t responses, bool on_cpu,
                     drift::RolloutCost& cost) const override;

 private:
  BlockSettings settings_;
};
