#include "decoder.h"
#include "rows.h"
#include "schedule.h"
#include "tensor_decoder.h"

#include <drift/error.h>
#include <drift/parallel.h>
#include <drift/plugin.h>

#include <algorithm>

namespace drift::diffusion {
namespace {

// Logits of all masked positions are in memory together.
constexpr std::int64_t kLogitsPerForward = std::int64_t{1} << 26;
constexpr std::int64_t kLogitsPerForwardOnDevice = std::int64_t{1} << 31;

constexpr Choices<Order, 4> kOrders{{{"maskgit_plus", Order::kMaskgitPlus},
                                     {"topk_margin", Order::kTopkMargin},
                                     {"entropy", Order::kEntropy},
                                     {"origin", Order::kOrigin}}};

/// Decoding over the entire response, without blocks and without a cache: Dream's diffusion_generate
/// (docs/spec/models_rollout.md 3.3).
class DiffusionRollout final : public Rollout, public RolloutCostEstimate {
 public:
  explicit DiffusionRollout(Parameters& parameters);

  std::int64_t response_length() const override { return settings_.length; }
  void generate(const RolloutInput& input, Trajectories& trajectories) const override;
  void estimate_cost(const Model& model, std::int64_t prompt_length, std::int64_t responses, bool on_cpu,
                     RolloutCost& cost) const override;

 private:
  std::int64_t rows_at_once(std::int64_t sequence, std::int64_t vocabulary, bool on_cpu) const;

  DiffusionSettings settings_;
};

DiffusionRollout::DiffusionRollout(Parameters& parameters) {
  settings_.length = parameters("length", 256, "response positions, L", at_least(1));
  settings_.steps =
      parameters("steps", 0, "denoising steps for the entire response; 0 = as many as positions", at_least(0));
  settings_.order = parameters("order", kOrders, Order::kEntropy,
                               "which positions are committed first: the most probable tokens, the largest margins "
                               "between two tokens, the least entropy, or any, by chance");
  settings_.order_temperature = parameters(
      "order_temperature", 0.0, "positions are drawn by softmax(confidence / this); 0 = the surest", at_least(0));
  settings_.temperature = parameters("temperature", 1.0, "of the token draw; 0 = greedy", at_least(0));
  settings_.top_k = parameters("top_k", 0, "tokens are drawn from the k most likely; 0 = all", at_least(0));
  settings_.top_p = parameters("top_p", 1.0, "tokens are drawn from the most likely of this probability; 1 = all",
                               {.minimum = 0, .maximum = 1, .minimum_excluded = true});
  settings_.eps = parameters("eps", 1e-3, "the time of the last step; the first is at 1", between(0, 1));
  settings_.guidance = parameters("guidance", 0.0, "scale of classifier-free guidance; 0 = none", at_least(0));
  settings_.early_stop =
      parameters("early_stop", false, "a response ends as soon as everything up to its first end token is committed");
  settings_.forbidden_ids = parameters("forbidden_ids", std::vector<std::int64_t>{},
                                       "ids that are never written, besides those that the model forbids", at_least(0));
  settings_.quirks = rollouts::read_quirks(parameters, {"counts_batch", "writes_any_id", "time_grid"});
  if (settings_.steps == 0) settings_.steps = settings_.length;
  rollouts::require_no_quirks_of_early_stop(settings_);
}

std::int64_t DiffusionRollout::rows_at_once(std::int64_t sequence, std::int64_t vocabulary, bool on_cpu) const {
  const std::int64_t by_logits =
      (on_cpu ? kLogitsPerForward : kLogitsPerForwardOnDevice) / (settings_.length * vocabulary);
  return std::max<std::int64_t>(1, std::min(rollouts::rows_at_once(sequence, on_cpu), by_logits));
}

void DiffusionRollout::generate(const RolloutInput& input, Trajectories& trajectories) const {
  const std::int64_t responses = input.prompts.tokens_BP.size(0), length = settings_.length;
  rollouts::start_trajectories(input, length, trajectories);
  const auto& traits = input.policy->traits();
  rollouts::require_in_vocabulary("forbidden_ids", settings_.forbidden_ids, traits);
  const bool on_cpu = input.policy->device().is_cpu();
  const std::int64_t at_once = rows_at_once(input.prompts.tokens_BP.size(1) + length, traits.vocabulary_size, on_cpu);
  const Schedule schedule(settings_);
  const bool in_tensors = !on_cpu && !settings_.quirks.any();
  const std::int64_t workers = rollouts::workers_for(responses, traits.hidden_size, on_cpu);
  parallel_rows(workers, responses, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += at_once) {
      const std::int64_t last = std::min(end, first + at_once);
      in_tensors ? TensorDecoder(settings_, schedule, input, first, last).run(trajectories)
                 : DiffusionDecoder(settings_, schedule, input, first, last).run(trajectories);
    }
  });
  rollouts::mark_valid(traits, trajectories);
}

void DiffusionRollout::estimate_cost(const Model& model, std::int64_t prompt_length, std::int64_t responses,
                                     bool on_cpu, RolloutCost& cost) const {
  const auto& traits = model.traits();
  const rollouts::Quirks& quirks = settings_.quirks;
  const std::int64_t steps = Schedule(settings_).steps();
  cost.most_forwards = quirks.counts_batch ? steps : std::min(steps, settings_.length);
  const bool may_be_fewer =
      settings_.early_stop || (!quirks.counts_batch && (settings_.by_chance() || quirks.time_grid));
  cost.least_forwards = may_be_fewer ? 1 : cost.most_forwards;

  const std::int64_t sequence = prompt_length + settings_.length;
  const std::int64_t workers = rollouts::workers_for(responses, traits.hidden_size, on_cpu);
  const std::int64_t rows = std::min(responses, workers * rows_at_once(sequence, traits.vocabulary_size, on_cpu));
  // Of the logits also a float32 copy and, on a device, probabilities; with guidance the unconditional ones.
  const std::int64_t copies = settings_.guidance == 0 ? 3 : 5;
  cost.bytes = rollouts::forward_bytes(model, rows, sequence, settings_.length * traits.vocabulary_size * copies);
}

}  // namespace
}  // namespace drift::diffusion

DRIFT_PLUGIN("diffusion", "0.1.0", "Apache-2.0") {
  registry.add<drift::diffusion::DiffusionRollout>(
      "diffusion", "Decoding over the entire response in the order of confidence, or by chance: Dream's sampler.");
}
