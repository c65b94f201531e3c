#include "block_model_decoder.h"
#include "decoder.h"
#include "rows.h"
#include "tensor_decoder.h"

#include <drift/error.h>
#include <drift/parallel.h>
#include <drift/plugin.h>

#include <algorithm>
#include <string>
#include <vector>

namespace drift::block {
namespace {

constexpr Choices<Schedule, 4> kSchedules{{{"dynamic", Schedule::kDynamic},
                                           {"static", Schedule::kStatic},
                                           {"factor", Schedule::kFactor},
                                           {"entropy_bounded", Schedule::kEntropyBounded}}};
constexpr Choices<Remasking, 6> kRemasking{{{"low_confidence", Remasking::kLowConfidence},
                                            {"margin", Remasking::kMargin},
                                            {"negative_entropy", Remasking::kNegativeEntropy},
                                            {"random", Remasking::kRandom},
                                            {"sequential", Remasking::kSequential},
                                            {"taken_entropy", Remasking::kTakenEntropy}}};
constexpr Choices<ConfidenceOf, 2> kConfidenceOf{{{"logits", ConfidenceOf::kLogits}, {"draw", ConfidenceOf::kDraw}}};
constexpr Choices<Cache, 3> kCaches{{{"none", Cache::kNone}, {"prefix", Cache::kPrefix}, {"dual", Cache::kDual}}};
/// Block-wise decoding with confidence remasking: LLaDA's semi-autoregressive sampler (static schedule), Fast-dLLM's
/// threshold and factor, and the caches of both and of RLDF's release. Without a cache every state is computed in full,
/// so that training scores what the rollout saw. On a model with block attention: the samplers of SDAR, JetEngine,
/// DreamReasoner, LMDeploy, LLaDA2.0 and Fast-dLLM v2, whose cache is exact.
class BlockRollout final : public Rollout, public RolloutCostEstimate {
 public:
  explicit BlockRollout(Parameters& parameters);

  std::int64_t response_length() const override { return settings_.length; }
  void generate(const RolloutInput& input, Trajectories& trajectories) const override;
  void estimate_cost(const Model& model, std::int64_t prompt_length, std::int64_t responses, bool on_cpu,
                     RolloutCost& cost) const override;

 private:
  static std::int64_t rows_at_once(const BlockSettings& settings, std::int64_t prompt_length, bool on_cpu);
  void check() const;

  BlockSettings settings_;
};

BlockRollout::BlockRollout(Parameters& parameters) {
  settings_.length = parameters("length", 256, "response positions, L", at_least(1));
  settings_.block = parameters(
      "block", 0,
      "positions per block, decoded from left to right; 0 = those of the model's blocks, or 32 of a longer response",
      at_least(0));
  settings_.block_steps =
      parameters("block_steps", 0,
                 "forwards over which a block's positions are divided, the surplus first; 0 = as steps says, or on a "
                 "model with blocks one for each position",
                 at_least(0));
  settings_.schedule = parameters("schedule", kSchedules, Schedule::kDynamic,
                                  "dynamic: commit all positions that reach the threshold; static: a fixed number per "
                                  "step; factor: more positions the surer they are; entropy_bounded: as many as keep "
                                  "the sum of their entropies below the threshold");
  settings_.threshold = parameters("threshold", 0.9,
                                   "dynamic: confidence from which a position is committed; the most confident one "
                                   "always is, with block_steps at least as many as static commits");
  settings_.above_threshold =
      parameters("above_threshold", false, "dynamic: a confidence that equals the threshold is not enough");
  settings_.factor = parameters(
      "factor", 1.0, "factor: the r-th surest position is committed from confidence 1 - factor / (r + 1)", at_least(0));
  settings_.steps =
      parameters("steps", 0, "static: forwards for the entire response; 0 = one token per forward", at_least(0));
  settings_.remasking = parameters("remasking", kRemasking, Remasking::kLowConfidence,
                                   "which positions stay masked; sequential: the last ones; taken_entropy: those of "
                                   "the largest -p ln p of the taken token");
  settings_.order_temperature =
      parameters("order_temperature", 0.0, "static: positions are drawn by softmax(confidence / this); 0 = the surest",
                 at_least(0));
  settings_.confidence_of =
      parameters("confidence_of", kConfidenceOf, ConfidenceOf::kLogits,
                 "confidence by the raw logits, or by what is drawn from: after temperature, top_p and top_k");
  settings_.temperature = parameters("temperature", 1.0, "of the token draw; 0 = greedy", at_least(0));
  settings_.top_k = parameters("top_k", 0, "draw among the k most likely tokens; 0 = all", at_least(0));
  settings_.top_p = parameters("top_p", 1.0, "draw among the most likely tokens of this probability; 1 = all",
                               {.minimum = 0, .maximum = 1, .minimum_excluded = true});
  settings_.guidance = parameters("guidance", 0.0, "scale of classifier-free guidance; 0 = none", at_least(0));
  settings_.cache =
      parameters("cache", kCaches, Cache::kNone,
                 "keys and values that a block's later forwards take from its first: none, of what is before the block "
                 "(prefix), of all but the block (dual)");
  settings_.horizon =
      parameters("horizon", -1, "prefix: positions after the block that are computed with it and attended to; -1 = all",
                 at_least(-1));
  settings_.append = parameters("append", false, "nothing exists behind the block that is decoded: no masks, no text");
  settings_.small_block = parameters(
      "small_block", 0, "positions of a block that are open together, from left to right; 0 = all", at_least(0));
  settings_.small_block_cache =
      parameters("small_block_cache", false,
                 "a small block's forwards compute it alone once its first position is committed, and see the rest of "
                 "the block as it was; not exact");
  settings_.early_stop = parameters("early_stop", false, "after a block with an end token, the rest is padding");
  settings_.stop_ids =
      parameters("stop_ids", std::vector<std::int64_t>{},
                 "tokens after whose block the rest is padding, instead of early_stop's end tokens", at_least(0));
  settings_.stop_at_once = parameters(
      "stop_at_once", false, "a response stops as soon as nothing before its stop is masked, not after the block");
  settings_.forbidden_ids =
      parameters("forbidden_ids", std::vector<std::int64_t>{}, "further token ids that are never written", at_least(0));
  settings_.unsure_ids = parameters("unsure_ids", std::vector<std::int64_t>{},
                                    "token ids whose confidence is 0, so that they are committed last", at_least(0));
  settings_.pad_penalty =
      parameters("pad_penalty", 1.0, "the confidence of a padding token is divided by this; 1 = unchanged", above(0));
  settings_.quirks = rollouts::read_quirks(parameters);
  check();
}

void BlockRollout::check() const {
  const bool has_entropies =
      settings_.remasking == Remasking::kNegativeEntropy || settings_.remasking == Remasking::kTakenEntropy;
  if (settings_.schedule == Schedule::kEntropyBounded && !has_entropies) {
    throw Error("rollout.schedule = \"entropy_bounded\" sums entropies, and rollout.remasking orders by something else",
                "set rollout.remasking = \"negative_entropy\", or \"taken_entropy\"");
  }
  if (settings_.block > 0) settings_.check_length();
  if (settings_.guidance > 0 && settings_.cache != Cache::kNone) {
    throw Error("rollout.guidance computes entire sequences, and rollout.cache keeps parts of them",
                "set rollout.cache = \"none\", or rollout.guidance = 0");
  }
  if (!settings_.unsure_ids.empty() && settings_.remasking != Remasking::kLowConfidence) {
    throw Error("rollout.unsure_ids sets probabilities to 0, and rollout.remasking orders by something else",
                "set rollout.remasking = \"low_confidence\"");
  }
  if (!settings_.unsure_ids.empty() && settings_.confidence_of != ConfidenceOf::kLogits) {
    throw Error("rollout.unsure_ids changes confidences by the raw logits, and rollout.confidence_of asks for others",
                "set rollout.confidence_of = \"logits\"");
  }
  rollouts::require_no_quirks_of_early_stop(settings_);
}

/// On a model with blocks a forward is over one of them, or over prompts: on a CPU these say how many rows are computed
/// together, on a device the keys that are kept of them.
std::int64_t BlockRollout::rows_at_once(const BlockSettings& settings, std::int64_t prompt_length, bool on_cpu) {
  return rollouts::rows_at_once(prompt_length + (on_cpu ? settings.block : settings.length), on_cpu);
}

void BlockRollout::generate(const RolloutInput& input, Trajectories& trajectories) const {
  const auto& traits = input.policy->traits();
  const BlockSettings settings = settings_.on(traits);
  const std::int64_t responses = input.prompts.tokens_BP.size(0), length = settings.length;
  rollouts::require_in_vocabulary("stop_ids", settings.stop_ids, traits);
  rollouts::require_in_vocabulary("forbidden_ids", settings.forbidden_ids, traits);
  rollouts::require_in_vocabulary("unsure_ids", settings.unsure_ids, traits);
  rollouts::start_trajectories(input, length, trajectories);

  const bool on_cpu = input.policy->device().is_cpu();
  const std::int64_t sequence = input.prompts.tokens_BP.size(1) + length;
  const std::int64_t at_once = rollouts::rows_at_once(sequence, on_cpu);
  const std::int64_t workers = rollouts::workers_for(responses, traits.hidden_size, on_cpu);
  if (traits.block_size > 0) {
    const std::int64_t rows = rows_at_once(settings, input.prompts.tokens_BP.size(1), on_cpu);
    parallel_rows(workers, responses, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin; first < end; first += rows)
        BlockModelDecoder(settings, input, first, std::min(end, first + rows)).run(trajectories);
    });
    return rollouts::mark_valid(traits, trajectories);
  }
  std::vector<RowForwards> forwards(static_cast<std::size_t>(responses),
                                    RowForwards(static_cast<std::size_t>(settings.blocks()), 0));
  if (!on_cpu && !settings.quirks.any()) {
    for (std::int64_t begin = 0; begin < responses; begin += at_once) {
      TensorDecoder(settings, input, begin, std::min(responses, begin + at_once)).run(trajectories);
    }
  } else {
    parallel_rows(workers, responses, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      BlockDecoder(settings, input, begin, end, at_once).run(trajectories, forwards);
    });
  }
  if (settings.quirks.counts_batch) count_over_batch(forwards, settings, traits.pad_id, trajectories);
  rollouts::mark_valid(traits, trajectories);
}

void BlockRollout::estimate_cost(const Model& model, std::int64_t prompt_length, std::int64_t responses, bool on_cpu,
                                 RolloutCost& cost) const {
  const auto& traits = model.traits();
  const BlockSettings settings = settings_.on(traits);
  const std::int64_t blocks = settings.length / settings.block;
  const std::int64_t workers = rollouts::workers_for(responses, traits.hidden_size, on_cpu);
  if (traits.block_size > 0) {
    const std::int64_t whole = std::max<std::int64_t>(1, blocks) - 1;  // of which there are more than so many
    const bool known = settings.schedule == Schedule::kStatic && traits.prediction_row == PredictionRow::kSame;
    cost.least_forwards =
        settings.stops() ? 1 : whole * (known ? std::min(settings.block_steps, settings.block) + 1 : 2) + 1;
    cost.most_forwards = (whole + 3) * (settings.block + 1) + 1;
    const std::int64_t rows = std::min(responses, workers * rows_at_once(settings, prompt_length, on_cpu));
    cost.bytes = rollouts::forward_bytes(model, rows, std::max(prompt_length, settings.block),
                                         3 * settings.block * traits.vocabulary_size);
    // Twice where some rows leave.
    if (const auto* cached = capability<CachedForward>(model))
      cost.bytes += 2 * cached->make_cache(rows, prompt_length + settings.length)->bytes();
    return;
  }
  cost.least_forwards = blocks;
  cost.most_forwards = settings.length;
  if (settings.schedule == Schedule::kStatic) {
    cost.most_forwards = 0;
    for (std::int64_t k = 0; k < blocks; ++k) {
      cost.most_forwards += std::min(settings.steps_of_block(k), settings.block);
    }
    cost.least_forwards = cost.most_forwards;
  }
  if (settings.stops()) cost.least_forwards = 1;

  const std::int64_t sequence = prompt_length + settings.length;
  const std::int64_t rows = std::min(responses, workers * rollouts::rows_at_once(sequence, on_cpu));
  // Of the logits also their float32 copy and the probabilities.
  cost.bytes = rollouts::forward_bytes(model, rows, sequence, 3 * settings.block * traits.vocabulary_size);
  const auto* cached = capability<CachedForward>(model);
  if (settings.cache != Cache::kNone && cached != nullptr) cost.bytes += cached->make_cache(rows, sequence)->bytes();
}

}  // namespace
}  // namespace drift::block

DRIFT_PLUGIN("block", "0.1.0", "Apache-2.0") {
  registry.add<drift::block::BlockRollout>(
      "block",
      "Block-wise decoding with confidence remasking, as LLaDA, Fast-dLLM and RLDF's release do it, and as SDAR, "
      "JetEngine and others do on models with block attention.");
}
