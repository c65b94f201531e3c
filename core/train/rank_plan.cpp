#include <core/train/rank_plan.h>

#include <core/components/components.h>
#include <core/components/streamed_model.h>
#include <core/update/policy_scores.h>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

// Of a response's token in Trajectories: id, step, log-probability, whether it is valid.
constexpr double kTrajectoryBytes = 8 + 4 + 4 + 1;

/// Of everything that all ranks have together: what a rank does not have itself.
double of_others(const Sharding& ranks) {
  return static_cast<double>(ranks.count - 1) / static_cast<double>(ranks.count);
}

/// Forwards of a row in an update: of the policy, and of others that score it.
double forwards_of_row(const StepWork& work) {
  return static_cast<double>(work.forward_rows) / static_cast<double>(std::max<std::int64_t>(1, work.backward_rows));
}

/// Forwards without gradients of a rank, in the update of one step.
double score_forwards(const StepWork& work, const Sharding& ranks) {
  const std::int64_t steps = std::max<std::int64_t>(1, work.optimizer_steps);
  const std::int64_t rows = ranks.largest_share((work.forward_rows - work.backward_rows + steps - 1) / steps);
  const std::int64_t at_once = std::max<std::int64_t>(1, work.rows_scored_at_once);
  return static_cast<double>(work.gap_forwards + steps * ((rows + at_once - 1) / at_once));
}

/// Passes of a rank over one step.
double passes_of_rank(const StepWork& work, const Sharding& ranks) {
  return static_cast<double>(std::max(work.optimizer_steps, ranks.largest_share(work.passes)));
}

}  // namespace

StepWork step_work(const RunConfig& config, const Model& shapes, const TrainingPlan& plan, double forwards) {
  const auto& traits = shapes.traits();
  StepWork work;
  work.responses = plan.responses();
  work.response_length = plan.response_length;
  work.sequence = plan.prompt_lengths.longest + plan.response_length;
  work.forwards = forwards > 0            ? forwards
                  : plan.rollout_is_known ? static_cast<double>(plan.rollout.most_forwards)
                                          : static_cast<double>(plan.response_length);
  work.views = plan.update.views;
  work.scored_tokens = plan.update.scored_tokens;
  work.forward_rows = plan.update.forward_rows;
  work.backward_rows = plan.update.backward_rows;
  work.passes = plan.update.passes;
  work.optimizer_steps = plan.update.optimizer_steps;
  work.recomputes = plan.update.recomputes;
  const LossNeeds& needs = plan.memory_work.needs;
  work.score_sets = 1 + (needs.old ? 1 : 0) + (needs.reference ? 1 : 0) + (needs.entropy ? 1 : 0);

  // A row of the embedding is looked up, not multiplied; the head is counted apart.
  const double table = static_cast<double>(traits.hidden_size) * static_cast<double>(traits.vocabulary_size);
  const auto in_blocks = parameters_of_blocks(shapes);
  const double multiplied = in_blocks ? static_cast<double>(*in_blocks) : static_cast<double>(plan.parameters) - table;
  work.pieces = traits.layers + 2;
  const auto hidden = static_cast<double>(traits.hidden_size);
  const double attention = 4.0 * static_cast<double>(work.sequence * traits.layers) * hidden;
  work.token_operations = 2 * multiplied + attention;
  work.head_operations = 2 * table;

  const TrainedSizes trained(shapes);
  work.backward_factor = trained.elements < plan.parameters ? 1 : 2;
  work.weight_bytes = static_cast<double>(weight_bytes(shapes));
  work.trained_bytes = static_cast<double>(trained.bytes);
  work.gradient_bytes = static_cast<double>(trained.wide_bytes);
  const auto element = static_cast<double>(shapes.lm_head_VH().element_size());
  work.block_bytes = static_cast<double>(in_blocks.value_or(0)) * element;
  work.trained_whole_bytes =
      trained.elements < plan.parameters ? work.trained_bytes : work.trained_bytes - work.block_bytes;
  const bool on_cpu = config.section("run").get<std::string>("device") == "cpu";
  work.rows_scored_at_once = rows_scored_at_once(shapes, work.sequence, on_cpu) / scoring_workers(shapes, on_cpu);
  work.gap_forwards = config.section("train").get<std::int64_t>("gap_responses") > 0 ? 1 : 0;
  work.state_bytes = static_cast<double>(trained.masters + trained.moment_bytes(config));
  return work;
}

MovedBytes moved_bytes(const StepWork& work, const Sharding& ranks) {
  MovedBytes moved;
  if (ranks.count < 2) return moved;
  const double others = of_others(ranks), steps = static_cast<double>(work.optimizer_steps),
               passes = passes_of_rank(work, ranks), pieces = static_cast<double>(work.pieces),
               length = static_cast<double>(work.response_length);
  moved.trajectories = others * kTrajectoryBytes * static_cast<double>(work.responses) * length;
  moved.log_probabilities = others * 4 * static_cast<double>(work.views * work.score_sets) * length;
  moved.messages = 1 + steps;
  switch (ranks.shard) {
    case Shard::kNone:  // sums go to all: each piece is added up somewhere, then sent to everyone
      moved.gradients = 2 * others * work.gradient_bytes * steps;
      moved.messages += 2 * pieces * steps;
      break;
    case Shard::kOptimizer:  // sums go to the rank that updates these weights, new weights to all
      moved.gradients = others * work.gradient_bytes * steps;
      moved.weights = others * work.trained_bytes * steps;
      moved.messages += 2 * pieces * steps;
      break;
    case Shard::kGradients:  // likewise, after each pass: no rank has room for a sum over several
      moved.gradients = others * work.gradient_bytes * passes;
      moved.weights = others * work.trained_bytes * steps;
      moved.messages += pieces * (passes + steps);
      break;
    case Shard::kParameters: {  // every forward and every backward gathers the blocks
      const double gathers = 2 * passes + score_forwards(work, ranks);
      moved.gradients = others * work.gradient_bytes * passes;
      moved.weights = others * (work.block_bytes * gathers + work.trained_whole_bytes * steps);
      moved.rollout_weights = others * work.block_bytes * work.forwards;
      moved.messages += pieces * (passes + gathers + work.forwards);
      break;
    }
  }
  return moved;
}

RankSeconds rank_seconds(const StepWork& work, const Sharding& ranks, const RankMachine& machine) {
  const auto rows = [&](std::int64_t count) { return static_cast<double>(ranks.largest_share(count)); };
  const double sequence = static_cast<double>(work.sequence), count = static_cast<double>(ranks.count);
  RankSeconds seconds;

  const double responses = rows(work.responses);
  const double forward =
      responses * (sequence * work.token_operations + static_cast<double>(work.response_length) * work.head_operations);
  seconds.rollout = work.forwards * std::max(forward / machine.rate, work.weight_bytes / machine.memory_rate);
  // The largest of n sums of m numbers, where these are normal.
  const auto busy = static_cast<double>(std::min(ranks.count, work.responses));
  seconds.idle = seconds.rollout * machine.spread * std::sqrt(2 * std::log(busy) / responses);

  const double through_blocks = rows(work.forward_rows) + (work.recomputes ? rows(work.backward_rows) : 0) +
                                work.backward_factor * rows(work.backward_rows);
  const double through_head = forwards_of_row(work) + work.backward_factor;
  seconds.update = (through_blocks * sequence * work.token_operations +
                    through_head * static_cast<double>(work.scored_tokens) / count * work.head_operations) /
                   machine.rate;

  // Read state, gradients; write state, weights.
  const double touched = 2 * work.state_bytes + work.gradient_bytes + work.trained_bytes;
  const double own = ranks.shard == Shard::kNone ? 1 : 1 / count;
  seconds.optimizer = static_cast<double>(work.optimizer_steps) * own * touched / machine.memory_rate;

  const MovedBytes moved = moved_bytes(work, ranks);
  seconds.exchange = moved.sum() / machine.link + moved.messages * machine.latency * std::ceil(std::log2(count));
  return seconds;
}

MemoryWork memory_work_of_rank(MemoryWork work, std::int64_t ranks) {
  const Sharding sharding{.count = ranks};
  for (std::int64_t* count : {&work.responses, &work.evaluated_at_once, &work.rows, &work.scored_tokens})
    *count = sharding.largest_share(*count);
  return work;
}

}  // namespace drift
