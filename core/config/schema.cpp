#include <core/config/schema.h>

#include <algorithm>
#include <utility>

namespace drift {
namespace {

using enum KeyRole;

/// A key of the core's own. Its role is its section's unless it says another.
struct Key : ParamSpec {
  using ParamSpec::ParamSpec;
  Key(ParamSpec spec) : ParamSpec(std::move(spec)) {}  // NOLINT: a path is a key, too
  Key(KeyRole role, ParamSpec spec) : ParamSpec(std::move(spec)), role(role) {}

  std::optional<KeyRole> role;
};
using Keys = std::vector<Key>;

SectionSchema section(std::string name, std::string doc, KeyRole role, const Keys& keys,
                      std::optional<ComponentKind> component, std::vector<ConfigPurpose> needed_for,
                      bool is_family = false) {
  SectionSchema schema{std::move(name), std::move(doc),        role,     {keys.begin(), keys.end()}, {},
                       component,       std::move(needed_for), is_family};
  for (const Key& key : keys) {
    if (key.role) schema.roles[key.name] = *key.role;
  }
  return schema;
}

/// What training and pretraining share.
Keys with_optimizer(Keys keys, double learning_rate) {
  const Keys shared = {
      {kBookkeeping, {"checkpoint_every", 10, "steps between two checkpoints, 0 = only at the end", at_least(0)}},
      {kBookkeeping, {"keep_checkpoints", 2, "latest checkpoints to keep", at_least(1)}},
      {kMeasurement, {"memory_budget_mib", 1024, "memory that a micro-batch may take, in MiB", at_least(1)}},
      {kOptimization,
       {"learning_rate", learning_rate, "AdamW's learning rate, at the top of the schedule", at_least(0)}},
      {kOptimization,
       {"schedule", "constant", "the learning rate after the warm-up", one_of({"constant", "linear", "cosine"})}},
      {kOptimization, {"warmup_steps", 0, "steps over which the learning rate rises from 0", at_least(0)}},
      {kOptimization,
       {"final_fraction", 0.1, "the last learning rate of a linear or cosine schedule, as a fraction of the top",
        between(0, 1)}},
      {kOptimization,
       {"beta1", 0.9, "AdamW's decay of the first moment", {.minimum = 0, .maximum = 1, .maximum_excluded = true}}},
      {kOptimization,
       {"beta2", 0.999, "AdamW's decay of the second moment", {.minimum = 0, .maximum = 1, .maximum_excluded = true}}},
      {kOptimization, {"epsilon", 1e-8, "AdamW's epsilon", above(0)}},
      {kOptimization, {"weight_decay", 0.0, "AdamW's weight decay", at_least(0)}},
      {kOptimization, {"gradient_clip", 1.0, "largest norm of the gradient, 0 = no clipping", at_least(0)}},
      {kOptimization,
       {"moments", "float32", "type of AdamW's moments; bfloat16 halves them, and rounds the second one at random",
        one_of({"float32", "bfloat16"})}},
      {kMeasurement,
       {"offload", "none",
        "optimizer: master weights and moments are in host memory, where AdamW then runs; on the CPU they are there "
        "already",
        one_of({"none", "optimizer"})}},
  };
  keys.insert(keys.end(), shared.begin(), shared.end());
  return keys;
}

std::vector<SectionSchema> make_sections() {
  using enum ConfigPurpose;
  using enum ComponentKind;
  const std::vector<ConfigPurpose> with_model = {kTrain, kPretrain, kEval, kGenerate, kModelOnly};
  const std::vector<ConfigPurpose> all = {kTrain, kPretrain, kEval, kGenerate, kModelOnly, kJudge, kData};
  const ParamSpec name = {"name", "", "which one of those that plugins provide"};
  const ParamSpec after_end = {
      "after_end", "dropped",
      "tokens behind the first one that ends a response: dropped, they are not judged, shown or trained on; kept, they "
      "are, as some originals have it",
      one_of({"dropped", "kept"})};
  return {
      section(
          "run", "the run itself", kMeasurement,
          {{kBookkeeping, {"name", "", "name of the run and of its folder; default: the file's name"}},
           {kResult, {"seed", 0, "the run's seed", at_least(0)}},
           {"device", "cpu", "where tensors live; CUDA_VISIBLE_DEVICES chooses among GPUs", one_of({"cpu", "cuda"})},
           {"threads", 0,
            "threads that compute, 0 = as many as the process may: affinity, quota, OMP_NUM_THREADS    (drift doctor)",
            at_least(0)},
           {kBookkeeping,
            {"memory_gib", 0.0,
             "memory of the device that a run may take; one whose plan needs more is refused; 0 = what is available",
             at_least(0)}}},
          std::nullopt, all),
      section("plugins", "where plugins are looked for first", kBookkeeping,
              {paths("paths", "plugin files, or folders that hold them")}, std::nullopt, all),
      section(
          "model", "the backbone and its checkpoint", kResult,
          {{"name", "", "the backbone's family; default: what the checkpoint's config.json says"},
           path("path", "", "checkpoint folder in the Hugging Face layout"),
           {"dtype", "float32",
            "type of weights and activations; with bfloat16, the sums of norms, rotary angles, log-softmax "
            "and, in training, gradient sums, master weights and moments stay float32",
            one_of({"float32", "bfloat16"})},
           {"quantize", "none",
            "nf4: the matrices of the blocks are read into 4 bits, with double quantisation, and frozen: training "
            "moves "
            "adapters alone; nf4_single: their scales stay float32",
            one_of({"none", "nf4", "nf4_single"})},
           {kTraining, {"initialize", "checkpoint", "where the weights come from", one_of({"checkpoint", "random"})}}},
          kModel, with_model),
      section("adapter", "low-rank adapters (LoRA): they alone are trained, the model's weights are frozen", kTraining,
              {{"kind", "none", "which adapters are trained; none: all weights", one_of({"none", "lora"})},
               {"rank", 8, "columns of A and rows of B", at_least(1)},
               {"alpha", 8.0, "alpha / rank x B A is added to a projection's weight", above(0)},
               {"dropout",
                0.0,
                "share of a projection's inputs that the adapter does not see in training",
                {.minimum = 0, .maximum = 1, .maximum_excluded = true}},
               {"targets", std::vector<std::string>{"*"},
                "projections with an adapter: names, last words of names, * for any characters    (drift model info)"},
               {kResult,
                path("path", "", "folder of a saved adapter (peft's layout); it has its own rank, alpha and targets")}},
              std::nullopt, with_model),
      section("task", "the problems", kResult,
              {name,
               {kTraining,
                {"max_prompt_tokens", 0,
                 "leave out training items of a list whose whole prompt has more tokens, 0 = none", at_least(0)}}},
              kTask, {kTrain, kPretrain, kEval, kData}),
      section("prompt", "the text around a question", kResult,
              {{"format", "none", "the model's turns: one of its chat formats, or none    (drift model info)"},
               {"instruction", "{question}",
                "the user's words, {question} where the question belongs; {{ and }} are braces"},
               {"system", "", "text of a system turn before it"},
               {"response_prefix", "", "first words of the response, given to the model if the item has none"},
               {"trailing_newline", false, "add a newline after the start of the reply if the format has none"},
               {"special_tokens", "recognised",
                "special tokens in the user's words: control ids, as the originals have them, or plain text",
                one_of({"recognised", "text"})}},
              std::nullopt, {kTrain, kPretrain, kEval, kGenerate, kData}),
      section("reward", "what judges a response", kResult,
              {{"name", "", "which one; default: the reward with the task's name"},
               {"weight", 1.0, "factor of its value in the sum of all rewards"},
               {"after", "",
                "a text such as </think>: only what stands behind the last one is judged, and a response without it "
                "is wrong"},
               {kTraining,
                {"truncation_is_wrong", false,
                 "in training, a response that fills its length is wrong: reward 0, not solved"}},
               {kTraining,
                {"truncation_margin", 5, "a response fills its length if at most this many positions are left",
                 at_least(0)}}},
              kReward, {kTrain, kEval, kJudge}),
      section("reward.added", "a further reward; accuracy does not count it", kResult,
              {{"name", "", "which one; default: the reward with the section's name"},
               {"weight", 1.0, "factor of its value in the sum of all rewards"},
               {"after", "", "as reward.after, for this reward"}},
              kReward, {}, /*is_family=*/true),
      section("rollout", "how responses are written", kTraining, {name, after_end}, kRollout,
              {kTrain, kEval, kGenerate}),
      section(
          "evaluation", "accuracy on held-out items", kMeasurement,
          {{"every", 0, "optimisation steps between two evaluations, 0 = only at the ends", at_least(0)},
           {"items", 0, "held-out items to use, 0 = all", at_least(0)},
           {"validation_items", 0,
            "held-out items, the first so many, that accuracy leaves out: theirs is written as validation, to choose "
            "among runs by",
            at_least(0)},
           {kResponses, {"samples", 1, "responses per item", at_least(1)}},
           {"batch_size", 64, "responses written at a time", at_least(1)},
           {"before", true, "also evaluate before the first step"},
           {kBookkeeping,
            {"trajectories", false,
             "the records of drift eval --out also keep each token's forward, log-probability and entropy at the "
             "time it was committed"}}},
          std::nullopt, {kTrain, kPretrain, kEval}),
      section("evaluation.rollout", "how responses are written in evaluation, if not as in [rollout]", kResponses,
              {name, after_end}, kRollout, {kTrain, kEval}),
      section("algorithm", "the bundle: masking strategy, loss and the settings of its paper", kTraining,
              {{"name", "", "which algorithm of those that plugins provide"},
               {"preset", "", "which of its presets; default: the first"},
               {"rollout_correction", "none",
                "truncated: advantages are multiplied by importance weights, where a cache or a horizon made the "
                "rollout's log-probabilities differ from those that training scores",
                one_of({"none", "truncated"})},
               {"rollout_correction_cap", 2.0, "largest of these weights", above(0)}},
              std::nullopt, {kTrain}),
      section("algorithm.masking", "which masked contexts are scored", kTraining,
              {{"name", "", "which masking strategy; default: the algorithm's"}}, kMaskingStrategy, {kTrain}),
      section("algorithm.loss", "what is minimised", kTraining, {{"name", "", "which loss; default: the algorithm's"}},
              kLossEstimator, {kTrain}),
      section("advantage", "from the rewards of a group to its advantages", kTraining,
              {{"baseline", "mean", "what is subtracted from a reward", one_of({"mean", "leave_one_out"})},
               {"std", "sample", "which standard deviation divides it", one_of({"none", "sample", "population"})},
               {"std_floor", 0.01, "the divisor is at least this", at_least(0)},
               {"std_epsilon", 1e-8, "added to the standard deviation, before the floor", at_least(0)}},
              std::nullopt, {kTrain}),
      section(
          "filter", "which groups are trained on", kTraining,
          {{"require_variance", true, "drop groups whose rewards are all equal"},
           {"max_groups", 0, "groups kept per step, 0 = all", at_least(0)},
           {"fill", "none", "what fills up to max_groups if too few groups vary", one_of({"none", "constant_groups"})},
           {"success_low", 0.0, "drop groups with a smaller share of solved responses", between(0, 1)},
           {"success_high", 1.0, "drop groups with a larger share of solved responses", between(0, 1)}},
          std::nullopt, {kTrain}),
      section("reference", "the policy that the KL compares with, where the loss has one", kTraining,
              {{"policy", "frozen",
                "the run's first model; that model, moved towards the policy (ema); or the policy that wrote "
                "the responses (old)",
                one_of({"frozen", "ema", "old"})},
               {"sync_steps", 64, "ema: optimizer steps between two moves", at_least(1)},
               {"mix", 0.6, "ema: reference <- mix policy + (1 - mix) reference", between(0, 1)},
               {kMeasurement,
                {"offload", false,
                 "frozen: its blocks' weights stay in the checkpoint's files and are read block by block"}}},
              std::nullopt, {kTrain}),
      section("value", "a value model (critic): tokens get generalised advantages    (docs/algorithms.md)", kTraining,
              {{"enabled", false,
                "train one; it begins as the run's first model, with a head of one number, and takes as much memory as "
                "the policy"},
               {"gamma", 1.0, "discount of a reward for each denoising step until it comes", between(0, 1)},
               {"lambda", 1.0, "decay of what later estimates did not foresee, for each denoising step", between(0, 1)},
               {"clip", 0.2, "how far an update's estimates count beyond those before it", above(0)},
               {"norm", "targets",
                "a view's losses are divided by the number of its scored tokens, or by the response's length",
                one_of({"targets", "length"})},
               {"every", 1, "steps from one of its updates to the next", at_least(1)},
               {kOptimization,
                {"learning_rate", 5e-6, "its learning rate; schedule and AdamW are those of [train]", at_least(0)}}},
              std::nullopt, {kTrain}),
      section("train", "the optimisation", kTraining,
              with_optimizer(
                  {{kLength, {"steps", 100, "optimisation steps (rollouts)", at_least(1)}},
                   {"prompts_per_step", 8, "groups per step", at_least(1)},
                   {"group_size", 8, "responses per prompt", at_least(2)},
                   {"inner_iterations", 1, "times that each rollout is trained on", at_least(1)},
                   {"views_per_update", 0, "masked contexts per optimizer step, 0 = all of an inner iteration",
                    at_least(0)},
                   {kMeasurement,
                    {"gap_responses", 8, "responses per step of which rollout_gap is measured, 0 = none", at_least(0)}},
                   {"optimizer_restart", "never",
                    "per_rollout: a rollout's updates begin without AdamW's moments and with master weights made anew",
                    one_of({"never", "per_rollout"})}},
                  1e-6),
              std::nullopt, {kTrain}),
      section("pretrain", "masked-diffusion likelihood training on a task's demonstrations", kTraining,
              with_optimizer({{kLength, {"steps", 1000, "optimizer steps", at_least(1)}},
                              {"batch_size", 64, "demonstrations per step", at_least(1)},
                              {"response_length", 256,
                               "response positions; shorter demonstrations are filled with the end token", at_least(1)},
                              {"block", 0,
                               "masks fall on one block of this length: what is before it is clean, what is after it "
                               "masked and not scored; 0 = on the whole response",
                               at_least(0)},
                              {"minimum_mask_ratio",
                               0.001,
                               "smallest share of masked response tokens",
                               {.minimum = 0, .maximum = 1, .minimum_excluded = true}}},
                             1e-3),
              std::nullopt, {kPretrain}),
      section(
          "alarms", "when a run warns that it goes wrong; a limit of 0 turns its alarm off    (docs/runs.md)",
          kBookkeeping,
          {{"window", 10, "steps whose mean is compared with that of earlier ones", at_least(1)},
           {"length_drift", 0.5, "the responses' length differs from that of the first window by more than this share",
            at_least(0)},
           {"reward_collapse", 0.5, "the reward is below its best window by more than this share, and than noise",
            at_least(0)},
           {"equal_groups", 0.1,
            "in the first 5 steps, less than this share of the groups has differing rewards; later, none has",
            between(0, 1)},
           {"entropy_collapse", 0.2, "token_surprisal is below this share of that of the first window", between(0, 1)},
           {"kl_blowup", 1.0, "loss/kl is above this", at_least(0)},
           {"same_responses", 0.99, "same_responses is at least this", between(0, 1)},
           {"rollout_gap", 0.1, "rollout_gap is above this, in nats", at_least(0)},
           {"throughput_drop", 0.5, "tokens_per_second is below that of its best window by more than this share",
            between(0, 1)}},
          std::nullopt, {kTrain, kPretrain}),
      section(
          "report", "what a run keeps for its report, and writes for programs that watch runs    (docs/runs.md)",
          kBookkeeping,
          {{"inspect_every", 25,
            "drift train: steps between two whose groups the report shows token by token, besides the first and the "
            "last; 0 = no step",
            at_least(0)},
           {"inspect_groups", 4, "groups that are kept of such a step", at_least(1)},
           {"tensorboard", false, "write event files for TensorBoard into the run's folder tensorboard"},
           {"samples", 4, "responses of each training step and of each evaluation that these files hold", at_least(0)}},
          std::nullopt, {kTrain, kPretrain}),
      section(
          "distributed", "a run of several processes    (docs/distributed.md)", kBookkeeping,
          {{kMeasurement,
            {"shard", "none",
             "what each process has a part of instead of all: the optimizer's state; and gradients; and weights",
             one_of({"none", "optimizer", "gradients", "parameters"})}},
           {"timeout", 20.0,
            "seconds without a sign of life after which a rank counts as lost and the run ends, 0 = never; ranks "
            "give these signs while they compute",
            at_least(0)},
           {"longest_wait", 7200.0,
            "seconds that ranks wait for one that lives, but does not come to an exchange, 0 = any time", at_least(0)}},
          std::nullopt, {kTrain, kPretrain})};
}

}  // namespace

bool SectionSchema::needed(ConfigPurpose purpose) const {
  return std::find(needed_for.begin(), needed_for.end(), purpose) != needed_for.end();
}

KeyRole SectionSchema::role_of(std::string_view key) const {
  const auto found = roles.find(key);
  return found == roles.end() ? role : found->second;
}

const std::vector<SectionSchema>& config_sections() {
  static const std::vector<SectionSchema> sections = make_sections();
  return sections;
}

const SectionSchema* find_section(std::string_view name) {
  const auto& sections = config_sections();
  const auto found = std::find_if(sections.begin(), sections.end(), [&](const SectionSchema& s) {
    return s.is_family ? name.starts_with(s.name + ".") && name.find('.', s.name.size() + 1) == name.npos
                       : s.name == name;
  });
  return found == sections.end() ? nullptr : &*found;
}

}  // namespace drift
