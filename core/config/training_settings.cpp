#include <core/config/training_settings.h>

namespace drift {
namespace {

constexpr Choices<AdvantageBaseline, 2> kBaselines{
    {{"mean", AdvantageBaseline::kMean}, {"leave_one_out", AdvantageBaseline::kLeaveOneOut}}};
constexpr Choices<AdvantageDeviation, 3> kDeviations{{{"none", AdvantageDeviation::kNone},
                                                      {"sample", AdvantageDeviation::kSample},
                                                      {"population", AdvantageDeviation::kPopulation}}};
constexpr Choices<GroupFill, 2> kFills{
    {{"none", GroupFill::kNone}, {"constant_groups", GroupFill::kKeepConstantGroups}}};
constexpr Choices<ReferenceKind, 3> kReferences{
    {{"frozen", ReferenceKind::kFrozen}, {"ema", ReferenceKind::kMovingAverage}, {"old", ReferenceKind::kOld}}};
constexpr Choices<ValueNorm, 2> kValueNorms{{{"targets", ValueNorm::kTargets}, {"length", ValueNorm::kLength}}};
constexpr Choices<PretrainNoise, 5> kNoises{{{"likelihood", PretrainNoise::kLikelihood},
                                             {"text", PretrainNoise::kText},
                                             {"semi_ar", PretrainNoise::kSemiAutoregressive},
                                             {"complementary", PretrainNoise::kComplementary},
                                             {"mean", PretrainNoise::kMean}}};
constexpr Choices<bool, 2> kRestarts{{{"never", false}, {"per_rollout", true}}};
constexpr Choices<bool, 2> kMoments{{{"float32", false}, {"bfloat16", true}}};
constexpr Choices<bool, 2> kOffload{{{"none", false}, {"optimizer", true}}};

}  // namespace

void AdvantageSettings::declare(Parameters& parameters) {
  baseline = parameters("baseline", kBaselines, baseline, "what is subtracted from a reward");
  deviation = parameters("std", kDeviations, deviation, "which standard deviation divides it");
  floor = parameters("std_floor", floor, "the divisor is at least this", at_least(0));
  epsilon = parameters("std_epsilon", epsilon, "added to the standard deviation, before the floor", at_least(0));
}

void GroupFilterSettings::declare(Parameters& parameters) {
  require_variance = parameters("require_variance", require_variance, "drop groups whose rewards are all equal");
  max_groups = parameters("max_groups", max_groups, "groups kept per step, 0 = all", at_least(0));
  fill = parameters("fill", kFills, fill, "what fills up to max_groups if too few groups vary");
  success_low =
      parameters("success_low", success_low, "drop groups with a smaller share of solved responses", between(0, 1));
  success_high =
      parameters("success_high", success_high, "drop groups with a larger share of solved responses", between(0, 1));
}

void ReferenceSettings::declare(Parameters& parameters) {
  kind = parameters("policy", kReferences, kind,
                    "the run's first model; that model, moved towards the policy (ema); or the policy that wrote the "
                    "responses (old)");
  sync_steps = parameters("sync_steps", sync_steps, "ema: optimizer steps between two moves", at_least(1));
  mix = parameters("mix", mix, "ema: reference <- mix policy + (1 - mix) reference", between(0, 1));
  offload = parameters("offload", offload,
                       "frozen: its blocks' weights stay in the checkpoint's files and are read block by block");
}

void ValueModelSettings::declare(Parameters& parameters) {
  enabled = parameters("enabled", enabled,
                       "train one; it begins as the run's first model, with a head of one number, and takes as much "
                       "memory as the policy");
  discount.gamma =
      parameters("gamma", discount.gamma, "discount of a reward for each denoising step until it comes", between(0, 1));
  discount.lambda = parameters("lambda", discount.lambda,
                               "decay of what later estimates did not foresee, for each denoising step", between(0, 1));
  clip = parameters("clip", clip, "how far an update's estimates count beyond those before it", above(0));
  norm = parameters("norm", kValueNorms, norm,
                    "a view's losses are divided by the number of its scored tokens, or by the response's length");
  every = parameters("every", every, "steps from one of its updates to the next", at_least(1));
  learning_rate = parameters("learning_rate", learning_rate,
                             "its learning rate; schedule and AdamW are those of [train]", at_least(0));
}

void AdamwSettings::declare(Parameters& parameters) {
  const AllowedValues below_one{.minimum = 0, .maximum = 1, .maximum_excluded = true};
  learning_rate =
      parameters("learning_rate", learning_rate, "AdamW's learning rate, at the top of the schedule", at_least(0));
  schedule = parameters("schedule", schedule.c_str(), "the learning rate after the warm-up",
                        one_of({"constant", "linear", "cosine"}));
  warmup_steps =
      parameters("warmup_steps", warmup_steps, "steps over which the learning rate rises from 0", at_least(0));
  final_fraction =
      parameters("final_fraction", final_fraction,
                 "the last learning rate of a linear or cosine schedule, as a fraction of the top", between(0, 1));
  beta1 = parameters("beta1", beta1, "AdamW's decay of the first moment", below_one);
  beta2 = parameters("beta2", beta2, "AdamW's decay of the second moment", below_one);
  epsilon = parameters("epsilon", epsilon, "AdamW's epsilon", above(0));
  weight_decay = parameters("weight_decay", weight_decay, "AdamW's weight decay", at_least(0));
  gradient_clip =
      parameters("gradient_clip", gradient_clip, "largest norm of the gradient, 0 = no clipping", at_least(0));
  narrow_moments = parameters("moments", kMoments, narrow_moments,
                              "type of AdamW's moments; bfloat16 halves them, and rounds the second one at random");
  offload = parameters(
      "offload", kOffload, offload,
      "optimizer: master weights and moments are in host memory, where AdamW then runs; on the CPU they are there "
      "already");
}

void SharedTrainingSettings::declare(Parameters& parameters) {
  checkpoint_every = parameters("checkpoint_every", checkpoint_every,
                                "steps between two checkpoints, 0 = only at the end", at_least(0));
  keep_checkpoints = parameters("keep_checkpoints", keep_checkpoints, "latest checkpoints to keep", at_least(1));
  keep_best =
      parameters("keep_best", keep_best,
                 "also keep the checkpoint of the step with the highest held-out accuracy, as checkpoints/best");
  memory_budget =
      parameters(
          "memory_budget_mib", memory_budget >> 20,
          "memory that a micro-batch may take, in MiB; 0 = of the device's memory less weights and states a half, "
          "on the CPU a quarter, rounded down to a power of two",
          at_least(0))
      << 20;
  adamw.declare(parameters);
}

void TrainSettings::declare(Parameters& parameters) {
  steps = parameters("steps", steps, "optimisation steps (rollouts)", at_least(1));
  prompts_per_step = parameters("prompts_per_step", prompts_per_step, "groups per step", at_least(1));
  group_size = parameters("group_size", group_size, "responses per prompt", at_least(2));
  inner_iterations =
      parameters("inner_iterations", inner_iterations, "times that each rollout is trained on", at_least(1));
  views_per_update = parameters("views_per_update", views_per_update,
                                "masked contexts per optimizer step, 0 = all of an inner iteration", at_least(0));
  gap_responses = parameters("gap_responses", gap_responses,
                             "responses per step of which rollout_gap is measured, 0 = none", at_least(0));
  restarts_optimizer =
      parameters("optimizer_restart", kRestarts, restarts_optimizer,
                 "per_rollout: a rollout's updates begin without AdamW's moments and with master weights made anew");
  SharedTrainingSettings::declare(parameters);
}

void PretrainSettings::declare(Parameters& parameters) {
  steps = parameters("steps", steps, "optimizer steps", at_least(1));
  batch_size = parameters("batch_size", batch_size, "demonstrations per step", at_least(1));
  response_length =
      parameters("response_length", response_length,
                 "response positions; shorter demonstrations are filled with the end token, with noise text and "
                 "complementary just one",
                 at_least(1));
  noise = parameters("noise", kNoises, noise,
                     "likelihood, text: a mask ratio for each text, losses divided by it; mean: the same ratios, the "
                     "mean loss of masked tokens; complementary: a ratio for each block, the mean loss of masked "
                     "tokens, then of all others; semi_ar: a ratio for each token, losses divided by the length");
  block = parameters("block", block,
                     "likelihood: masks fall on one block of this length: what is before it is clean, what is after it "
                     "masked and not scored; 0 = on the whole response. complementary, of a model without blocks: "
                     "tokens that share a ratio; 0 = all of a text",
                     at_least(0));
  const AllowedValues ratio{.minimum = 0, .maximum = 1, .minimum_excluded = true};
  minimum_mask_ratio =
      parameters("minimum_mask_ratio", minimum_mask_ratio, "smallest share of masked response tokens", ratio);
  maximum_mask_ratio =
      parameters("maximum_mask_ratio", maximum_mask_ratio, "largest share of masked response tokens", ratio);
  mask_prompts = parameters("mask_prompts", mask_prompts, "prompts are masked and learned, too; not with likelihood");
  packed_length =
      parameters("packed_length", packed_length,
                 "model with blocks: rows of at most this many tokens, with the masked copies, each of several "
                 "demonstrations; 0 = a row for each",
                 at_least(0));
  SharedTrainingSettings::declare(parameters);
}

void AlarmLimits::declare(Parameters& parameters) {
  window = parameters("window", window, "steps whose mean is compared with that of earlier ones", at_least(1));
  length_drift =
      parameters("length_drift", length_drift,
                 "the responses' length differs from that of the first window by more than this share", at_least(0));
  reward_collapse =
      parameters("reward_collapse", reward_collapse,
                 "the reward is below its best window by more than this share, and than noise", at_least(0));
  equal_groups = parameters(
      "equal_groups", equal_groups,
      "in the first 5 steps, less than this share of the groups has differing rewards; later, none has", between(0, 1));
  entropy_collapse = parameters("entropy_collapse", entropy_collapse,
                                "token_surprisal is below this share of that of the first window", between(0, 1));
  kl_blowup = parameters("kl_blowup", kl_blowup, "loss/kl is above this", at_least(0));
  same_responses = parameters("same_responses", same_responses, "same_responses is at least this", between(0, 1));
  rollout_gap = parameters("rollout_gap", rollout_gap, "rollout_gap is above this, in nats", at_least(0));
  throughput_drop =
      parameters("throughput_drop", throughput_drop,
                 "tokens_per_second is below that of its best window by more than this share", between(0, 1));
}

}  // namespace drift
