#pragma once

// Make a plan view by view, without tensors (see also the example in masking_strategy.h):
//
//     drift::PlanBuilder builder(responses.length(), responses.prompt_length());
//     builder.begin_view(/*response=*/b, /*term=*/0);
//     builder.mask(3);
//     builder.score(3);
//     builder.weigh(0.5);
//     plan = builder.finish(/*terms=*/1);

#include <drift/export.h>
#include <drift/mask_plan.h>
#include <drift/masking_strategy.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace drift {

/// One response of a rollout, seen through plain pointers to its L positions. Final.
struct Response {
  std::int64_t number;  ///< in the rollout: RandomPoint::response of its draws
  const std::int64_t* tokens;
  const bool* valid;
  const std::int32_t* step;
  const float* commit_logprob;
};

/// The responses for which a plan is made.
class DRIFT_API Responses {
 public:
  explicit Responses(const MaskingInput& input);
  std::int64_t size() const;           ///< B
  std::int64_t length() const;         ///< L
  std::int64_t prompt_length() const;  ///< P
  Response operator[](std::int64_t b) const;
  std::int64_t forwards(std::int64_t b) const;  ///< Trajectories::forwards_B

  /// Positions up to and including the first token `end_id`, or where that is the model's, the first of all its end
  /// tokens; L if there is none (docs/spec/algorithms.md 1.3).
  std::int64_t positions_through_end(std::int64_t b, std::int64_t end_id) const;

  /// The block of each of the L positions of response b, of a model with blocks: 0 is the one of the first position.
  /// With BlockOrigin::kText the prompt's end may be in it, so that it has fewer positions.
  /// @throws Error if the model has no blocks
  std::vector<std::int64_t> blocks(std::int64_t b, BlockOrigin origin) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Positions 0 … count - 1 in a random order; the first l of it are l positions drawn uniformly. Draws at
/// RandomPoint{input.step, response, position, draw}.
/// @param response  Response::number
DRIFT_API std::vector<std::int64_t> random_order(const MaskingInput& input, std::int64_t response, std::int64_t count,
                                                 std::int64_t draw);

/// Collects views and turns them into a plan.
class DRIFT_API PlanBuilder {
 public:
  PlanBuilder(std::int64_t length, std::int64_t prompt_length);
  PlanBuilder(const PlanBuilder&) = delete;
  PlanBuilder& operator=(const PlanBuilder&) = delete;
  ~PlanBuilder();

  /// A new view with nothing masked, nothing scored, everything attended to, weight 1.
  void begin_view(std::int64_t response, std::int64_t term);
  // Of the newest view.
  void mask(std::int64_t position);
  void mask_prompt(std::int64_t position);
  void leave_unattended(std::int64_t position);  ///< MaskPlan::attended_FL
  void score(std::int64_t position, bool committed = true);
  void weigh(double weight);
  void set_step(std::int64_t position, std::int64_t step);  ///< MaskPlan::target_step_FL
  void weigh_token(std::int64_t position, double weight);   ///< MaskPlan::token_weight_FL

  /// Of the entire plan.
  void count_blocks_from(BlockOrigin origin);

  /// @param terms  K of the estimator.
  MaskPlan finish(std::int64_t terms) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace drift
