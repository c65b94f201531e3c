#pragma once

// What plugins give back, checked once where it enters the core. Each check throws an Error that says which field is
// wrong and where; checked.h adds whose it is.

#include <drift/error.h>
#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <vector>

namespace drift {

/// A problem: an id, a question, and texts that are UTF-8.
void check_item(const TaskItem& item);

/// Value in [0, 1], a status that is known.
void check_verdict(const RewardResult& result, const TaskItem& item);

/// Traits that fit each other, and parameters and head that fit the traits and what was asked for.
void check_model(const Model& model, const ModelConfig& config);

/// Before and after Model::initialize: makes every parameter NaN, and finds one that was left so.
void spoil_parameters(const Model& model);
void check_initialized(const Model& model);

/// [N, H] of the model's type and device; on the CPU also finite.
void check_hidden(const at::Tensor& hidden_NH, std::int64_t rows, const Model& model);

/// Shapes, types and ranges. Makes what is there contiguous.
void check_trajectories(const RolloutInput& input, std::int64_t length, Trajectories& made);

/// Trajectories that passed it: every token is one that the model may write.
void check_written_ids(const ModelTraits& traits, const Trajectories& made);

/// Shapes, types and ranges of views of these responses, on the CPU. Makes what is there contiguous.
/// @param prompt   positions of the prompts
/// @param weights  the type of weights
void check_views(MaskPlan& plan, std::int64_t responses, std::int64_t length, std::int64_t prompt,
                 at::ScalarType weights = at::kFloat);

/// The same of what a strategy has drawn, and that it scores something.
void check_plan(const MaskingInput& input, MaskPlan& plan);

/// A number that the log-probabilities can get their gradient from, and metrics under good names. To read a value from
/// a device is to wait for it: there whoever reads it calls check_loss_value().
void check_loss(const LossInput& input, const Loss& loss);
/// @param finite_input  all log-probabilities are finite
/// @param has_gradient  or needs none
void check_loss_value(double value, bool finite_input, bool has_gradient);

/// A tensor that a loss is lent.
struct LossTensor {
  const char* name;  ///< "log_probs.old_FL"
  at::Tensor* tensor;
};
std::vector<LossTensor> tensors_of(LossInput& input);

/// What loss.evaluate(input) threw, with the names of the tensors that it is about: one that is undefined, which is
/// found by calling the loss again with another in its place, or those of sizes that do not fit.
Error with_tensors(const Error& thrown, const LossEstimator& loss, const LossInput& input);

}  // namespace drift
