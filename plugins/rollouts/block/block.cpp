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

constexpr Choices<Schedule, 3> kSchedules{
    {{"dynamic", Schedule::kDynamic}, {"static", Schedule::kStatic}, {"factor", Schedule::kFactor}}};
constexpr Choices<Remasking, 4> kRemasking{{{"low_confidence", Remasking::kLowConfidence},
                                            {"margin", Remasking::kMargin},
                                            {"negative_entropy", Remasking::kNegativeEntropy},
                                            {"random", Remasking::kRandom}}};
constexpr Choices<ConfidenceOf, 2> kConfidenceOf{{{"logits", ConfidenceOf::kLogits}, {"draw", ConfidenceOf::kDraw}}};
constexpr Choices<Cache, 3> kCaches{{{"none", Cache::kNone}, {"prefix", Cache::kPrefix}, {"dual", Cache::kDual}}};
/// Block-wise decoding with confidence remasking: LLaDA's semi-autoregressive sampler (static schedule), Fast-dLLM's
/// threshold and factor, and the caches of both and of RLDF's release. Without a cache every state is computed in full,
/// so that training scores what the rollout saw.
class BlockRollout final : public Rollout, public RolloutCostEstimate {
 public:
  explicit BlockRollout(Parameters& parameters);

  std::int64_t response_length() const override { return settings_.length; }
  void generate(const RolloutInput& input, Trajectories& trajectories) const override;
  void estimate_cost(const Model& model, std::int64_t prompt_length, std::int64_t responses, bool on_cpu,
                     RolloutCost& cost) const override;

 private:
  void check() const;

  BlockSettings settings_;
};

BlockRollout::BlockRollout(Parameters& parameters) {
  settings_.length = parameters("length", 256, "response positions, L", at_least(1));
  settings_.block = parameters("block", 32, "positions per block; blocks are decoded from left to right", at_least(1));
  settings_.schedule = parameters("schedule", kSchedules, Schedule::kDynamic,
                                  "dynamic: commit all positions that reach the threshold; static: a fixed number per "
                                  "step; factor: more positions the surer they are");
  settings_.threshold = parameters(
      "threshold", 0.9, "dynamic: confidence from which a position is committed; the most confident one always is");
  settings_.factor = parameters(
      "factor", 1.0, "factor: the r-th surest position is committed from confidence 1 - factor / (r + 1)", at_least(0));
  settings_.steps =
      parameters("steps", 0, "static: forwards for the entire response; 0 = one token per forward", at_least(0));
  settings_.remasking = parameters("remasking", kRemasking, Remasking::kLowConfidence, "which positions stay masked");
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
  settings_.early_stop = parameters("early_stop", false, "after a block with an end token, the rest is padding");
  settings_.forbidden_ids =
      parameters("forbidden_ids", std::vector<std::int64_t>{}, "further token ids that are never written", at_least(0));
  settings_.unsure_ids = parameters("unsure_ids", std::vector<std::int64_t>{},
                                    "token ids whose confidence is 0, so that they are committed last", at_least(0));
  settings_.pad_penalty =
      parameters("pad_penalty", 1.0, "the confidence of a padding token is divided by this; 1 = unchanged", above(0));
  settings_.quirks = rollouts::read_quirks(parameters);
  if (settings_.steps == 0) settings_.steps = settings_.length;
  check();
}

void BlockRollout::check() const {
  if (settings_.length % settings_.block != 0) {
    throw Error("rollout.length = " + std::to_string(settings_.length) +
                    " is not a multiple of rollout.block = " + std::to_string(settings_.block),
                "choose a block that divides the length");
  }
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

void BlockRollout::generate(const RolloutInput& input, Trajectories& trajectories) const {
  const std::int64_t responses = input.prompts.tokens_BP.size(0), length = settings_.length;
  const auto& traits = input.policy->traits();
  rollouts::require_in_vocabulary("forbidden_ids", settings_.forbidden_ids, traits);
  rollouts::require_in_vocabulary("unsure_ids", settings_.unsure_ids, traits);
  rollouts::start_trajectories(input, length, trajectories);

  const bool on_cpu = input.policy->device().is_cpu();
  const std::int64_t sequence = input.prompts.tokens_BP.size(1) + length;
  const std::int64_t at_once = rollouts::rows_at_once(sequence, on_cpu);
  std::vector<RowForwards> forwards(static_cast<std::size_t>(responses),
                                    RowForwards(static_cast<std::size_t>(settings_.blocks()), 0));
  if (!on_cpu && !settings_.quirks.any()) {
    for (std::int64_t begin = 0; begin < responses; begin += at_once) {
      TensorDecoder(settings_, input, begin, std::min(responses, begin + at_once)).run(trajectories);
    }
  } else {
    parallel_rows(rollouts::workers_for(responses, traits.hidden_size, on_cpu), responses,
                  [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                    BlockDecoder(settings_, input, begin, end, at_once).run(trajectories, forwards);
                  });
  }
  if (settings_.quirks.counts_batch) count_over_batch(forwards, settings_, traits.pad_id, trajectories);
  rollouts::mark_valid(traits, trajectories);
}

void BlockRollout::estimate_cost(const Model& model, std::int64_t prompt_length, std::int64_t responses, bool on_cpu,
                                 RolloutCost& cost) const {
  const auto& traits = model.traits();
  const std::int64_t blocks = settings_.length / settings_.block;
  cost.least_forwards = blocks;
  cost.most_forwards = settings_.length;
  if (settings_.schedule == Schedule::kStatic) {
    cost.most_forwards = 0;
    for (std::int64_t k = 0; k < blocks; ++k) {
      cost.most_forwards += std::min(settings_.steps_of_block(k), settings_.block);
    }
    cost.least_forwards = cost.most_forwards;
  }
  if (settings_.early_stop) cost.least_forwards = 1;

  const std::int64_t sequence = prompt_length + settings_.length;
  const std::int64_t workers = rollouts::workers_for(responses, traits.hidden_size, on_cpu);
  const std::int64_t rows = std::min(responses, workers * rollouts::rows_at_once(sequence, on_cpu));
  // Of the logits also their float32 copy and the probabilities.
  cost.bytes = rollouts::forward_bytes(model, rows, sequence, 3 * settings_.block * traits.vocabulary_size);
  const auto* cached = capability<CachedForward>(model);
  if (settings_.cache != Cache::kNone && cached != nullptr) cost.bytes += cached->make_cache(rows, sequence)->bytes();
}

}  // namespace
}  // namespace drift::block

DRIFT_PLUGIN("block", "0.1.0", "Apache-2.0") {
  registry.add<drift::block::BlockRollout>(
      "block", "Block-wise decoding with confidence remasking, as LLaDA, Fast-dLLM and RLDF's release do it.");
}
