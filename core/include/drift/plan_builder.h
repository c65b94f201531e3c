#pragma once

#include <drift/export.h>
#include <drift/mask_plan.h>
#include <drift/masking_strategy.h>

#include <cstdint>
#include <vector>

namespace drift {

/// One response of a rollout, seen through plain pointers to its L positions.
struct Response {
  std::int64_t number;  ///< in the rollout: RandomPoint::sample of its draws
  const std::int64_t* tokens;
  const bool* valid;
  const std::int32_t* step;
  const float* commit_logprob;
};

/// The responses that a plan is made for.
class DRIFT_API Responses {
 public:
  explicit Responses(const MaskingInput& input);
  std::int64_t size() const;           ///< B
  std::int64_t length() const;         ///< L
  std::int64_t prompt_length() const;  ///< P
  Response operator[](std::int64_t b) const;

  /// Positions up to and including the first token `end_id`; L where there is none (docs/spec/algorithms.md 1.3).
  std::int64_t positions_through_end(std::int64_t b, std::int64_t end_id) const;

 private:
  at::Tensor number_B_, tokens_BL_, valid_BL_, step_BL_, commit_logprob_BL_;
  std::int64_t prompt_length_;
};

/// Collects views one by one and turns them into a plan.
class DRIFT_API PlanBuilder {
 public:
  PlanBuilder(std::int64_t length, std::int64_t prompt_length);

  /// A new view with nothing masked, nothing scored, weight 1. `step`: the denoising step whose state it shows, or -1.
  void begin_view(std::int64_t sample, std::int64_t forward, std::int64_t step = -1);
  // Of the newest view.
  void mask(std::int64_t position);
  void mask_prompt(std::int64_t position);
  void hide(std::int64_t position);  ///< MaskPlan::hidden_FL
  void score(std::int64_t position, bool committed = true);
  void weigh(double weight);

  /// @param forwards  K of the estimator.
  MaskPlan finish(std::int64_t forwards) const;

 private:
  std::int64_t length_, prompt_length_;
  std::vector<std::int64_t> sample_, forward_, step_;
  std::vector<std::uint8_t> masked_, target_, committed_, prompt_masked_, hidden_;
  std::vector<float> weight_;
};

}  // namespace drift
