#pragma once

// The sections that only training has; see run_settings.h.

#include <core/config/run_settings.h>

#include <drift/params.h>

#include <cstdint>
#include <string>

namespace drift {

/// What is subtracted from a reward.
enum class AdvantageBaseline {
  kMean,         ///< the mean of the response's group
  kLeaveOneOut,  ///< the mean of the others in its group
};

/// What the difference is divided by: a standard deviation of the group's rewards.
enum class AdvantageDeviation {
  kNone,        ///< nothing
  kSample,      ///< divisor G - 1
  kPopulation,  ///< divisor G
};

/// [advantage]
struct AdvantageSettings {
  static constexpr const char* kSection = "advantage";
  AdvantageBaseline baseline = AdvantageBaseline::kMean;
  AdvantageDeviation deviation = AdvantageDeviation::kSample;
  double floor = 0.01;    ///< smallest divisor; 0: none
  double epsilon = 1e-8;  ///< added to the deviation before the floor applies

  void declare(Parameters& parameters);
};

/// What happens when fewer groups have rewards that vary than `max_groups` asks for.
enum class GroupFill {
  kNone,                ///< groups of equal rewards are dropped, the batch becomes smaller
  kKeepConstantGroups,  ///< nothing is dropped below max_groups; above it, groups of equal rewards fill up the batch
};

/// [filter]
struct GroupFilterSettings {
  static constexpr const char* kSection = "filter";
  bool require_variance = true;  ///< false: groups of equal rewards count like any other
  std::int64_t max_groups = 0;   ///< at most this many are kept; 0: no limit
  GroupFill fill = GroupFill::kNone;
  double success_low = 0;   ///< groups are dropped whose share of solved responses is below this …
  double success_high = 1;  ///< … or above this; they never fill up a batch either

  void declare(Parameters& parameters);
};

/// Which policy the KL compares with.
enum class ReferenceKind {
  kFrozen,         ///< the model that the run began with
  kMovingAverage,  ///< that model, moved towards the policy every so many optimizer steps
  kOld,            ///< the policy that wrote the responses
};

/// [reference]
struct ReferenceSettings {
  static constexpr const char* kSection = "reference";
  ReferenceKind kind = ReferenceKind::kFrozen;
  std::int64_t sync_steps = 64;  ///< optimizer steps between two moves
  double mix = 0.6;              ///< reference <- mix policy + (1 - mix) reference
  bool offload = false;          ///< of a frozen one, the blocks' weights are not held in memory

  void declare(Parameters& parameters);
};

/// What the losses of a view's tokens are divided by before they are added up.
enum class ValueNorm {
  kTargets,  ///< the number of its targets
  kLength,   ///< the response's length
};

/// How later rewards count for earlier tokens.
struct RewardDiscount {
  double gamma = 1;   ///< of a reward one denoising step later
  double lambda = 1;  ///< of what the value model did not foresee one denoising step later
};

/// [value]
struct ValueModelSettings {
  static constexpr const char* kSection = "value";
  bool enabled = false;
  RewardDiscount discount;
  double clip = 0.2;  ///< how far an update's estimates count beyond those before it
  ValueNorm norm = ValueNorm::kTargets;
  std::int64_t every = 1;  ///< trained in every so many steps
  double learning_rate = 5e-6;

  void declare(Parameters& parameters);
};

/// AdamW and its schedule.
struct AdamwSettings {
  double learning_rate = 0;
  std::string schedule = "constant";  ///< after the warm-up: constant, linear or cosine
  std::int64_t warmup_steps = 0;
  double final_fraction = 0.1;  ///< of the learning rate, at the end of a falling schedule
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  double gradient_clip = 1;     ///< largest norm of the whole gradient; 0 = not clipped
  bool narrow_moments = false;  ///< moments are bfloat16, as kernels/adamw.h rounds them
  bool offload = false;         ///< masters and moments are in host memory, and moved there

  void declare(Parameters& parameters);
};

/// What [train] and [pretrain] share.
struct SharedTrainingSettings {
  std::int64_t checkpoint_every = 10;  ///< 0: only at the end
  std::int64_t keep_checkpoints = 2;
  bool keep_best = false;          ///< one checkpoint more is up to seven times the weights' bytes on disk
  std::int64_t memory_budget = 0;  ///< bytes; 0: a share of the device's memory
  AdamwSettings adamw;

  void declare(Parameters& parameters);
};

/// [train]
struct TrainSettings : SharedTrainingSettings {
  static constexpr const char* kSection = "train";
  std::int64_t steps = 100;
  std::int64_t prompts_per_step = 8;
  std::int64_t group_size = 8;
  std::int64_t inner_iterations = 1;
  std::int64_t views_per_update = 0;  ///< 0: all of an inner iteration
  std::int64_t gap_responses = 8;     ///< 0: none
  bool restarts_optimizer = false;

  TrainSettings() { adamw.learning_rate = 1e-6; }
  void declare(Parameters& parameters);
};

/// Which tokens pretraining masks, and how their losses are added up (core/train/pretraining_noise.h).
enum class PretrainNoise { kLikelihood, kText, kSemiAutoregressive, kComplementary, kMean };

/// [pretrain]
struct PretrainSettings : SharedTrainingSettings {
  static constexpr const char* kSection = "pretrain";
  std::int64_t steps = 1000;
  std::int64_t batch_size = 64;
  std::int64_t response_length = 256;
  PretrainNoise noise = PretrainNoise::kLikelihood;
  std::int64_t block = 0;  ///< 0: the whole response
  double minimum_mask_ratio = 0.001, maximum_mask_ratio = 1;
  bool mask_prompts = false;
  std::int64_t packed_length = 0;  ///< 0: a row for each demonstration

  PretrainSettings() { adamw.learning_rate = 1e-3; }
  void declare(Parameters& parameters);
};

/// [alarms] of a run's file, where they are explained. A limit of 0 turns its alarm off.
struct AlarmLimits {
  static constexpr const char* kSection = "alarms";
  std::int64_t window = 10;  ///< steps that are compared with earlier ones
  double length_drift = 0.5;
  double reward_collapse = 0.5;
  double equal_groups = 0.1;
  double entropy_collapse = 0.2;
  double kl_blowup = 1;
  double same_responses = 0.99;
  double rollout_gap = 0.1;
  double throughput_drop = 0.5;

  void declare(Parameters& parameters);
};

}  // namespace drift
