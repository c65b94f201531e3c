#include <core/train/rank_plan.h>

#include <core/boundary/components.h>
#include <core/boundary/streamed_model.h>
#include <core/update/policy_scores.h>

#include <algorithm>

namespace drift {
namespace {

/// Forwards without gradients of a rank, in the update of one step.
double score_forwards(const ExchangeWork& work, const Sharding& ranks) {
  const std::int64_t steps = std::max<std::int64_t>(1, work.optimizer_steps);
  const std::int64_t rows = ranks.largest_share((work.scored_rows + steps - 1) / steps);
  const std::int64_t at_once = std::max<std::int64_t>(1, work.rows_of_a_forward);
  return static_cast<double>(work.gap_forwards + steps * ((rows + at_once - 1) / at_once));
}

}  // namespace

ExchangeWork exchange_work(const RunConfig& config, const Model& shapes, const TrainingPlan& plan) {
  const TrainedSizes trained(shapes);
  const auto element = static_cast<double>(shapes.lm_head_VH().element_size());
  ExchangeWork work;
  work.gradient_bytes = static_cast<double>(trained.wide_bytes);
  work.block_bytes = static_cast<double>(parameters_of_blocks(shapes).value_or(0)) * element;
  work.trained_bytes = static_cast<double>(trained.bytes);
  const bool all_are_trained = trained.elements == plan.parameters;
  work.trained_whole_bytes = work.trained_bytes - (all_are_trained ? work.block_bytes : 0);
  work.optimizer_steps = plan.update.optimizer_steps;
  work.passes = plan.update.passes;
  work.scored_rows = plan.update.forward_rows - plan.update.backward_rows;
  work.rows_of_a_forward = rows_of_a_forward(plan.update.row_tokens);
  work.gap_forwards = config.get<TrainSettings>().gap_responses > 0 ? 1 : 0;
  work.rollout_forwards = plan.rollout_is_known ? plan.rollout.most_forwards : plan.response_length;
  return work;
}

ExchangedBytes exchanged_bytes(const ExchangeWork& work, const Sharding& ranks) {
  const double others = static_cast<double>(ranks.count - 1) / static_cast<double>(ranks.count);
  const auto steps = static_cast<double>(work.optimizer_steps);
  const auto passes = static_cast<double>(std::max(work.optimizer_steps, ranks.largest_share(work.passes)));
  ExchangedBytes bytes;
  switch (ranks.shard) {
    case Shard::kNone:  // sums go to all: each bucket is added up somewhere, then sent to everyone
      bytes.gradients = 2 * others * work.gradient_bytes * steps;
      break;
    case Shard::kOptimizer:  // sums go to the rank that updates these weights, new weights to all
      bytes.gradients = others * work.gradient_bytes * steps;
      bytes.weights = others * work.trained_bytes * steps;
      break;
    case Shard::kGradients:  // likewise, after each pass: no rank has room for a sum over several
      bytes.gradients = others * work.gradient_bytes * passes;
      bytes.weights = others * work.trained_bytes * steps;
      break;
    case Shard::kParameters:  // every forward and every backward gathers the blocks
      bytes.gradients = others * work.gradient_bytes * passes;
      bytes.weights =
          others * (work.block_bytes * (2 * passes + score_forwards(work, ranks)) + work.trained_whole_bytes * steps);
      bytes.rollout_weights = others * work.block_bytes * static_cast<double>(work.rollout_forwards);
      break;
  }
  return bytes;
}

}  // namespace drift
