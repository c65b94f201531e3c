#include <core/config/run_settings.h>

namespace drift {
namespace {

constexpr const char* kWhichComponent = "which one of those that plugins provide";
constexpr const char* kWeight = "factor of its value in the sum of all rewards";

constexpr Choices<DeviceKind, 2> kDevices{{{"cpu", DeviceKind::kCpu}, {"cuda", DeviceKind::kCuda}}};
constexpr Choices<bool, 2> kTypes{{{"float32", false}, {"bfloat16", true}}};
constexpr Choices<bool, 2> kInitialize{{{"checkpoint", false}, {"random", true}}};
constexpr Choices<bool, 2> kAdapters{{{"none", false}, {"lora", true}}};
constexpr Choices<bool, 2> kSpecialTokens{{{"recognised", false}, {"text", true}}};
constexpr Choices<bool, 2> kAfterEnd{{{"dropped", false}, {"kept", true}}};
constexpr Choices<bool, 2> kCorrections{{{"none", false}, {"truncated", true}}};

}  // namespace

void RunSettings::declare(Parameters& parameters) {
  name = parameters("name", name.c_str(), "name of the run and of its folder; default: the file's name");
  seed = static_cast<std::uint64_t>(parameters("seed", static_cast<std::int64_t>(seed), "the run's seed", at_least(0)));
  device = parameters("device", kDevices, device, "where tensors live; CUDA_VISIBLE_DEVICES chooses among GPUs");
  threads = parameters(
      "threads", threads,
      "threads that compute, 0 = as many as the process may: affinity, quota, OMP_NUM_THREADS    (drift doctor)",
      at_least(0));
  memory_gib = parameters(
      "memory_gib", memory_gib,
      "memory of the device that a run may take; one whose plan needs more is refused; 0 = what is available",
      at_least(0));
  deterministic = parameters("deterministic", deterministic,
                             "a GPU adds in a fixed order, more slowly, and equal runs are equal to the last bit; on "
                             "the CPU they always are");
  bfloat16_products = parameters(
      "bfloat16_products", bfloat16_products.c_str(),
      "how a CPU multiplies bfloat16 matrices: native, by its own instructions; widened to float32; auto, as "
      "was faster on a processor of its kind    (drift doctor)",
      one_of({kAuto, "native", "widened"}));
}

void ModelSettings::declare(Parameters& parameters) {
  name = parameters("name", name.c_str(), "the backbone's family; default: what the checkpoint's config.json says");
  path = parameters(drift::path("path", path.c_str(), "checkpoint folder in the Hugging Face layout"));
  bfloat16 = parameters("dtype", kTypes, bfloat16,
                        "type of weights and activations; with bfloat16, the sums of norms, rotary angles, log-softmax "
                        "and, in training, gradient sums, master weights and moments stay float32");
  quantize = parameters(
      "quantize", quantize.c_str(),
      "nf4: the matrices of the blocks are read into 4 bits, with double quantisation, and frozen: training moves "
      "adapters alone; nf4_single: their scales stay float32",
      one_of({"none", "nf4", "nf4_single"}));
  random_weights = parameters("initialize", kInitialize, random_weights, "where the weights come from");
}

void AdapterSettings::declare(Parameters& parameters) {
  lora = parameters("kind", kAdapters, lora, "which adapters are trained; none: all weights");
  rank = parameters("rank", rank, "columns of A and rows of B", at_least(1));
  alpha = parameters("alpha", alpha, "alpha / rank x B A is added to a projection's weight", above(0));
  dropout = parameters("dropout", dropout, "share of a projection's inputs that the adapter does not see in training",
                       {.minimum = 0, .maximum = 1, .maximum_excluded = true});
  targets =
      parameters("targets", targets,
                 "projections with an adapter: names, last words of names, * for any characters    (drift model info)");
  path = parameters(drift::path("path", path.c_str(),
                                "folder of a saved adapter (peft's layout); it has its own rank, alpha and targets"));
}

void TaskSettings::declare(Parameters& parameters) {
  name = parameters("name", name.c_str(), kWhichComponent);
  max_prompt_tokens =
      parameters("max_prompt_tokens", max_prompt_tokens,
                 "leave out training items of a list whose whole prompt has more tokens, 0 = none", at_least(0));
}

void PromptSettings::declare(Parameters& parameters) {
  format =
      parameters("format", format.c_str(), "the model's turns: one of its chat formats, or none    (drift model info)");
  instruction = parameters("instruction", instruction.c_str(),
                           "the user's words, {question} where the question belongs; {{ and }} are braces");
  system = parameters("system", system.c_str(), "text of a system turn before it");
  response_prefix = parameters("response_prefix", response_prefix.c_str(),
                               "first words of the response, given to the model if the item has none");
  trailing_newline = parameters("trailing_newline", trailing_newline,
                                "add a newline after the start of the reply if the format has none");
  enable_thinking = parameters("enable_thinking", enable_thinking,
                               "let the model think before it answers; false needs a format with words for it");
  special_tokens_as_text =
      parameters("special_tokens", kSpecialTokens, special_tokens_as_text,
                 "special tokens in the user's words: control ids, as the originals have them, or plain text");
}

void RewardSettings::declare(Parameters& parameters) {
  name = parameters("name", name.c_str(), "which one; default: the reward with the task's name");
  weight = parameters("weight", weight, kWeight);
  after = parameters("after", after.c_str(),
                     "a text such as </think>: only what stands behind the last one is judged, and a response without "
                     "it is wrong");
  truncation_is_wrong = parameters("truncation_is_wrong", truncation_is_wrong,
                                   "in training, a response that fills its length is wrong: reward 0, not solved");
  truncation_margin = parameters("truncation_margin", truncation_margin,
                                 "a response fills its length if at most this many positions are left", at_least(0));
}

void AddedRewardSettings::declare(Parameters& parameters) {
  name = parameters("name", name.c_str(), "which one; default: the reward with the section's name");
  weight = parameters("weight", weight, kWeight);
  after = parameters("after", after.c_str(), "as reward.after, for this reward");
}

void RolloutSettings::declare(Parameters& parameters) {
  name = parameters("name", name.c_str(), kWhichComponent);
  keep_after_end = parameters(
      "after_end", kAfterEnd, keep_after_end,
      "tokens behind the first one that ends a response: dropped, they are not judged, shown or trained on; kept, they "
      "are, as some originals have it");
}

void EvaluationSettings::declare(Parameters& parameters) {
  every = parameters("every", every, "optimisation steps between two evaluations, 0 = only at the ends", at_least(0));
  items = parameters("items", items, "held-out items to use, 0 = all", at_least(0));
  validation_items =
      parameters("validation_items", validation_items,
                 "held-out items, the first so many, that accuracy leaves out: theirs is written as validation, to "
                 "choose among runs by",
                 at_least(0));
  samples = parameters("samples", samples, "responses per item", at_least(1));
  batch_size = parameters("batch_size", batch_size, "responses written at a time", at_least(1));
  before = parameters("before", before, "also evaluate before the first step");
  trajectories = parameters(
      "trajectories", trajectories,
      "the records of drift eval --out also keep each token's forward, log-probability and entropy at the time it was "
      "committed");
}

void ReportSettings::declare(Parameters& parameters) {
  inspect_every = parameters(
      "inspect_every", inspect_every,
      "drift train: steps between two whose groups the report shows token by token, besides the first and the last; 0 "
      "= no step",
      at_least(0));
  inspect_groups = parameters("inspect_groups", inspect_groups, "groups that are kept of such a step", at_least(1));
  tensorboard =
      parameters("tensorboard", tensorboard, "write event files for TensorBoard into the run's folder tensorboard");
  samples = parameters("samples", samples,
                       "responses of each training step and of each evaluation that these files hold", at_least(0));
}

void DistributedSettings::declare(Parameters& parameters) {
  shard =
      parameters("shard", kShards, shard,
                 "what each process has a part of instead of all: the optimizer's state; and gradients; and weights");
  timeout = parameters("timeout", timeout,
                       "seconds without a sign of life after which a rank counts as lost and the run ends, 0 = never; "
                       "ranks give these signs while they compute",
                       at_least(0));
  longest_wait = parameters(
      "longest_wait", longest_wait,
      "seconds that ranks wait for one that lives, but does not come to an exchange, 0 = any time", at_least(0));
}

void AlgorithmSettings::declare(Parameters& parameters) {
  name = parameters("name", name.c_str(), "which algorithm of those that plugins provide");
  preset = parameters("preset", preset.c_str(), "which of its presets; default: the first");
  corrects_rollout = parameters(
      "rollout_correction", kCorrections, corrects_rollout,
      "truncated: advantages are multiplied by importance weights, where a cache or a horizon made the rollout's "
      "log-probabilities differ from those that training scores");
  rollout_correction_cap =
      parameters("rollout_correction_cap", rollout_correction_cap, "largest of these weights", above(0));
}

}  // namespace drift
