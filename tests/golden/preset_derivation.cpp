#include "tests/golden/preset_derivation.h"
#include "tests/support/support.h"

#include <core/config/document.h>

#include <iterator>

namespace drift::test {
namespace {

using namespace std::string_literals;

/// For a rule that says what it expects of an original.
void demand(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("no rule for this: " + what);
}

bool is_dream(const Original& o) { return o.text("model_name_or_path").find("Dream") != std::string::npos; }

// Originals on the trainers of transformers and TRL: d1, ESPO, Coupled-GRPO, wd1, SPG, d2, AGRPO.

Settings merged(std::initializer_list<Settings> parts) {
  Settings all;
  for (Settings part : parts) {
    all.merge(part);
    demand(part.empty(), part.empty() ? "" : part.begin()->first + " from two rules");
  }
  return all;
}

/// Groups that nothing filters.
Settings unfiltered(const std::string& baseline, const std::string& deviation, double epsilon) {
  return {{"advantage.baseline", baseline},
          {"advantage.std", deviation},
          {"advantage.std_floor", 0.0},
          {"advantage.std_epsilon", epsilon},
          {"filter.require_variance", false},
          {"filter.max_groups", std::int64_t{0}},
          {"filter.fill", "none"s}};
}

/// TRL divides by the deviation only where it is asked to.
Settings advantage(const Original& o, const std::string& baseline) {
  demand(!o.flag("scale_rewards"), "scale_rewards");
  return unfiltered(baseline, "none", 0);
}

Settings schedule(const Original& o) {
  demand(o.number("warmup_ratio") <= 1e-3, "a warm-up of more than about one update");
  Settings s = {{"train.warmup_steps", std::int64_t{0}}};
  const std::string type = o.text("lr_scheduler_type");
  if (type == "constant_with_warmup") {
    s["train.schedule"] = "constant"s;
  } else if (type == "cosine_with_min_lr") {
    s["train.schedule"] = "cosine"s;
    s["train.final_fraction"] = o.number("min_lr_rate");
  } else {
    demand(type == "linear", type);
    s["train.schedule"] = "linear"s;
    s["train.final_fraction"] = 0.0;
  }
  return s;
}

/// A batch is that of a device, accumulated, of all devices.
Settings batches(const Original& o) {
  const std::int64_t group = o.integer("num_generations");
  const std::int64_t responses =
      o.integer("per_device_train_batch_size") * o.integer("gradient_accumulation_steps") * o.devices();
  demand(responses % group == 0, "a batch of no whole groups");
  return {{"train.prompts_per_step", responses / group},           {"train.group_size", group},
          {"train.inner_iterations", o.integer("num_iterations")}, {"train.learning_rate", o.number("learning_rate")},
          {"rollout.length", o.integer("max_completion_length")},  {"rollout.schedule", "static"s}};
}

Settings optimizer(const Original& o) {
  Settings s = {{"train.beta1", o.number("adam_beta1")},
                {"train.beta2", o.number("adam_beta2")},
                {"train.weight_decay", o.number("weight_decay")},
                {"train.gradient_clip", o.number("max_grad_norm")}};
  if (o.flag("use_peft")) s["note.train.learning_rate"] = "adapters"s;
  return s;
}

Settings trainer(const Original& o) {
  return merged({schedule(o),
                 batches(o),
                 optimizer(o),
                 {{"rollout.steps", o.integer("diffusion_steps")},
                  {"rollout.after_end", "kept"s}}});  // all ids are decoded for the rewards
}

/// They are made where adapter.kind asks for them, which no preset does: small models are trained whole.
Settings adapter(const Original& o) {
  return {{"adapter.rank", o.integer("lora_r")},
          {"adapter.alpha", o.number("lora_alpha")},
          {"adapter.dropout", o.number("lora_dropout")}};
}

/// With adapters the reference is the model without them, and its synchronisation has no effect.
Settings reference(const Original& o) {
  const std::int64_t steps = o.integer("ref_model_sync_steps");
  if (!o.flag("sync_ref_model") || o.flag("use_peft")) return {{"reference.policy", "frozen"s}};
  return {{"reference.policy", "ema"s},
          {"reference.sync_steps", steps},
          {"reference.mix", o.number("ref_model_mixup_alpha")}};
}

Settings clipped_ratio(const Original& o, const std::string& kl) {
  return {{"algorithm.loss.eps_low", o.number("epsilon")},
          {"algorithm.loss.eps_high", o.number("epsilon")},
          {"algorithm.loss.beta", o.number("beta")},
          {"algorithm.loss.kl", kl}};
}

/// d1's class and those made from it name their sampler's blocks.
Settings block_sampler(const Original& o) {
  return {{"rollout.block", o.integer("block_length")},
          {"rollout.remasking", o.text("remasking")},
          {"rollout.temperature", o.number("temperature")}};
}

/// ESPO's and Coupled-GRPO's code has LLaDA's sampler with its blocks of 32, and Dream's, which goes by entropy over
/// the whole response and cuts at 0.95, before it measures confidence.
Settings sampler_of_model(const Original& o) {
  Settings s = {{"rollout.block", std::int64_t{32}},
                {"rollout.remasking", "low_confidence"s},
                {"rollout.temperature", o.number("generation_temperature")}};
  if (!is_dream(o)) return s;
  s["rollout.block"] = o.integer("max_completion_length");
  s["rollout.remasking"] = "negative_entropy"s;
  s["rollout.top_p"] = 0.95;
  s["rollout.confidence_of"] = "draw"s;
  return s;
}

Settings prompt_masking(const Original& o) {
  return {{"algorithm.masking.p_mask_prompt", o.number("p_mask_prompt")},
          {"algorithm.masking.random_masking", o.flag("random_masking")}};
}

/// Token means are taken over a device's batch.
Settings d1(const Original& o) {
  return merged(
      {trainer(o),
       adapter(o),
       reference(o),
       advantage(o, "mean"),
       block_sampler(o),
       prompt_masking(o),
       clipped_ratio(o, "k3"),
       {{"algorithm.loss.norm", "token"s}, {"algorithm.loss.micro_batch", o.integer("per_device_train_batch_size")}}});
}

/// A micro-batch is one of the N segments of a group.
Settings d2(const Original& o) {
  const std::int64_t segments = o.integer("N");
  Settings s = merged({trainer(o),
                       adapter(o),
                       reference(o),
                       advantage(o, "mean"),
                       block_sampler(o),
                       clipped_ratio(o, "k3"),
                       {{"algorithm.masking.segments", segments},
                        {"algorithm.masking.p_mask_prompt", o.number("p_mask_prompt")},
                        {"algorithm.loss.norm", "token"s},
                        {"algorithm.loss.micro_batch", o.integer("per_device_train_batch_size")}}});
  s["train.prompts_per_step"] = std::get<std::int64_t>(s["train.prompts_per_step"]) / segments;
  demand(o.flag("random_masking"), "the same masks in all iterations");
  return s;
}

/// TRL's trainer, with a schedule whose warm-up is left out and names of its own for the sampler. Preferring steps of
/// high entropy is a mixture here: docs/algorithms/agrpo.md.
Settings agrpo(const Original& o) {
  demand(o.text("lr_scheduler_type") == "cosine" && o.number("warmup_ratio") == 0.01, "another schedule");
  return merged({adapter(o),
                 advantage(o, "mean"),
                 clipped_ratio(o, "k3"),
                 batches(o),
                 optimizer(o),
                 {{"algorithm.masking.mc_samples", o.integer("mc_samples")},
                  {"algorithm.masking.stratified", o.flag("low_discrepancy")},
                  {"algorithm.masking.surprise_share", o.text("importance_sampling") == "entropy" ? 0.9 : 0.0},
                  {"train.schedule", "cosine"s},
                  {"train.final_fraction", 0.0},
                  {"rollout.block", o.integer("block_length")},
                  {"rollout.steps", o.integer("sampling_steps")},
                  {"rollout.remasking", o.text("unmasking")},
                  {"rollout.temperature", o.number("temperature")},
                  {"rollout.top_p", o.number("top_p")},
                  {"rollout.top_k", o.integer("top_k")}}});
}

/// The softmax is over a device's batch; 0 is that of a group.
Settings wd1(const Original& o) {
  const std::int64_t batch = o.integer("per_device_train_batch_size");
  return merged({trainer(o),
                 adapter(o),
                 advantage(o, "mean"),
                 block_sampler(o),
                 prompt_masking(o),
                 {{"algorithm.loss.positive_only", o.text("trainer_type") == "wll_d1_pos_only"},
                  {"algorithm.loss.micro_batch", batch == o.integer("num_generations") ? 0 : batch}}});
}

Settings spg(const Original& o) {
  demand(o.number("beta") == 0, "SPG has no KL");
  return merged({trainer(o),
                 adapter(o),
                 advantage(o, "mean"),
                 block_sampler(o),
                 {{"algorithm.masking.mode", o.text("forward_type")},
                  {"algorithm.masking.num_t", o.integer("num_t")},
                  {"algorithm.masking.block", o.integer("block_length")},
                  {"algorithm.masking.min_t", o.number("min_t")},
                  {"algorithm.masking.max_t", o.number("max_t")},
                  {"algorithm.masking.p_mask_prompt", o.number("p_mask_prompt")},
                  {"algorithm.loss.negative", o.text("logp_estimation")},
                  {"algorithm.loss.beta_u", o.number("eubo_beta")},
                  {"algorithm.loss.mix_weight", o.number("mix_weight")},
                  {"algorithm.loss.micro_batch", o.integer("per_device_train_batch_size")}}});
}

/// The KL's estimator has no effect. The dropout of the adapters is not stated.
Settings gdpo(const Original& o) {
  Settings s = merged({trainer(o),
                       adapter(o),
                       reference(o),
                       advantage(o, "mean"),
                       block_sampler(o),
                       clipped_ratio(o, "k2"),
                       {{"algorithm.masking.points", o.integer("quadrature_points")},
                        {"algorithm.masking.masks", o.integer("masks_per_point")},
                        {"algorithm.loss.ratio", o.flag("divide_by_length") ? "token"s : "sequence"s}}});
  for (const char* key : {"adapter.dropout", "train.warmup_steps"}) s.erase(key);
  return s;
}

/// The sizes of the masks are spread over a device's batch. `reduce_var` is never read: always coupled.
Settings espo(const Original& o) {
  o.flag("reduce_var");
  return merged({trainer(o),
                 adapter(o),
                 reference(o),
                 advantage(o, "leave_one_out"),
                 sampler_of_model(o),
                 clipped_ratio(o, "k2"),
                 {{"algorithm.masking.num_mc", o.integer("num_mc")},
                  {"algorithm.masking.coupled", true},
                  {"algorithm.masking.micro_batch", o.integer("per_device_train_batch_size")},
                  {"algorithm.loss.length", "gen_len"s}}});
}

/// The range of t, the one pair and the full mask are in the original's code.
Settings coupled_grpo(const Original& o) {
  Settings s = merged({trainer(o),
                       reference(o),
                       advantage(o, "leave_one_out"),
                       sampler_of_model(o),
                       clipped_ratio(o, "k3"),
                       {{"algorithm.masking.t_low", 0.2},
                        {"algorithm.masking.t_high", 0.8},
                        {"algorithm.masking.pairs", std::int64_t{1}},
                        {"algorithm.masking.include_full_mask", true},
                        {"algorithm.masking.random_masking", o.flag("random_masking")},
                        {"algorithm.loss.norm", "token"s},
                        {"algorithm.loss.micro_batch", o.integer("per_device_train_batch_size")}}});
  if (is_dream(o)) s["algorithm.masking.end_id"] = std::int64_t{151645};  // <|im_end|>
  return s;
}

// Originals with trainers of their own.

/// Rows an update: those of a device, accumulated, of all devices. A cosine that ends where it began is a constant.
Settings tracerl_trainer(const Original& o) {
  demand(o.text("lr_scheduler.scheduler") == "cosine" && o.number("lr_scheduler.min_lr_scale") == 1, "a real schedule");
  return {
      {"algorithm.masking.shrink", o.integer("training.shrink")},
      {"algorithm.masking.post_num", o.integer("training.post_num")},
      {"algorithm.loss.weighting", "rows"s},
      {"algorithm.loss.eps_low", o.number("training.eps")},
      {"algorithm.loss.eps_high", o.number("training.eps")},
      {"algorithm.loss.beta", o.number("training.beta")},
      {"algorithm.loss.kl", o.flag("training.use_kl_estimator_k3") ? "k3"s : "k1"s},
      {"reference.policy", "old"s},
      {"reward.truncation_is_wrong", true},
      {"reward.truncation_margin", std::int64_t{5}},
      {"advantage.baseline", "mean"s},
      {"advantage.std", "population"s},
      {"advantage.std_floor", 0.0},
      {"advantage.std_epsilon", 0.0},
      {"filter.require_variance", true},
      {"filter.success_low", 0.2},
      {"filter.success_high", 0.8},
      {"filter.max_groups", std::int64_t{0}},
      {"train.prompts_per_step", o.integer("rollout.num_task_per_step")},
      {"train.group_size", o.integer("rollout.num_response_per_task")},
      {"train.inner_iterations", o.integer("training.num_train_epochs")},
      {"train.views_per_update",
       o.integer("training.batch_size_lm") * o.integer("training.gradient_accumulation_steps") * o.devices()},
      {"train.learning_rate", o.number("optimizer.learning_rate")},
      {"train.schedule", "constant"s},
      {"train.warmup_steps", o.integer("lr_scheduler.warmup_steps")},
      {"train.beta1", o.number("optimizer.beta1")},
      {"train.beta2", o.number("optimizer.beta2")},
      {"train.epsilon", o.number("optimizer.epsilon")},
      {"train.weight_decay", o.number("optimizer.weight_decay")},
      {"train.gradient_clip", o.number("training.max_grad_norm")},
  };
}

/// What follows from any original that decodes by blocks in as many steps as they have positions, dynamically.
Settings block_decoder(const Original& o, const std::string& prefix = "") {
  Settings s = {
      {"rollout.block", o.integer(prefix + (prefix.empty() && o.has("block_length") ? "block_length" : "block_size"))},
      {"rollout.schedule", "dynamic"s},
      {"rollout.remasking", "low_confidence"s},
      {"rollout.temperature", o.number(prefix + "temperature")},
      {"rollout.early_stop", true}};
  if (const auto k = o.integer(prefix + "top_k"); k > 0) {
    s["rollout.top_k"] = k;
    s["rollout.confidence_of"] = "draw"s;
  }
  return s;
}

/// TraceRL for block models: a step of each block a view, its sums divided by the length.
Settings tracerl_on_blocks(const Original& o) {
  demand(o.text("training.method") == "TraceRL", "another method");
  demand(o.text("rollout.remasking_strategy") == "low_confidence_dynamic", "another strategy");
  demand(o.integer("rollout.denoising_steps_per_block") == o.integer("rollout.block_size"),
         "fewer steps than positions");
  Settings s = merged({block_decoder(o, "rollout."), tracerl_trainer(o)});
  s["rollout.length"] = o.integer("rollout.max_token");
  s["rollout.threshold"] = o.number("rollout.dynamic_threshold");
  s["rollout.above_threshold"] = true;
  s["algorithm.loss.norm"] = s["algorithm.loss.kl_norm"] = "length"s;
  s["algorithm.loss.logratio_clamp"] = 10.0;
  if (!o.has("training.gam")) return s;
  s.merge(Settings{{"value.enabled", true},
                   {"value.gamma", o.number("training.gam")},
                   {"value.lambda", o.number("training.lam")},
                   {"value.norm", "length"s},
                   {"value.learning_rate", o.number("optimizer.value_learning_rate")}});
  return s;
}

Settings tracerl(const Original& o) {
  if (o.has("rollout.max_token")) return tracerl_on_blocks(o);
  demand(o.text("training.method") == "TraceRL", "another method");
  const std::string strategy = o.text("rollout.remasking_strategy");
  demand(strategy.starts_with("low_confidence_"), strategy);
  Settings s = tracerl_trainer(o);
  s.merge(Settings{
      {"algorithm.loss.norm", "targets"s},
      {"algorithm.loss.kl_norm", "sum"s},
      {"rollout.length", o.integer("rollout.max_gen_length")},
      {"rollout.steps", o.integer("rollout.steps")},
      {"rollout.block", o.integer("rollout.block_size")},
      {"rollout.schedule", strategy.substr("low_confidence_"s.size())},
      {"rollout.threshold", o.number("rollout.dynamic_threshold")},
      {"rollout.remasking", "low_confidence"s},
      {"rollout.temperature", o.number("rollout.temperature")},
      {"rollout.after_end", "kept"s},
  });
  if (o.has("rollout.top_p")) {
    s["rollout.top_p"] = o.number("rollout.top_p");
    s["rollout.confidence_of"] = "draw"s;  // as all samplers that cut
  }
  if (o.has("rollout.top_k")) s["rollout.top_k"] = o.integer("rollout.top_k");
  return s;
}

/// 0.08 more above is in the original's code. A mini-batch is of tasks.
Settings dipo(const Original& o) {
  demand(o.integer("mini_batch_size") == o.integer("num_task_per_step"), "several updates of a rollout");
  demand(o.text("remasking_strategy") == "low_confidence_dynamic", "another strategy");
  demand(o.integer("denoising_steps_per_block") == o.integer("block_size"), "fewer steps than positions");
  return merged({block_decoder(o),
                 {{"algorithm.masking.shrink", o.integer("shrink")},
                  {"algorithm.loss.mode", o.text("script")},
                  {"algorithm.loss.eps_low", o.number("eps")},
                  {"algorithm.loss.eps_high", o.number("eps") + 0.08},
                  {"algorithm.loss.logratio_clamp", 10.0},
                  {"algorithm.loss.beta", o.number("beta")},
                  {"algorithm.loss.kl", o.flag("use_kl_estimator_k3") ? "k3"s : "k1"s},
                  {"reference.policy", "frozen"s},
                  {"advantage.baseline", "mean"s},
                  {"advantage.std", "population"s},
                  {"advantage.std_floor", 0.0},
                  {"advantage.std_epsilon", 0.0},
                  {"filter.require_variance", true},
                  {"filter.max_groups", std::int64_t{0}},
                  {"filter.fill", "none"s},
                  {"train.prompts_per_step", o.integer("num_task_per_step")},
                  {"train.group_size", o.integer("num_response_per_task")},
                  {"train.inner_iterations", o.integer("num_iterations")},
                  {"train.learning_rate", o.number("learning_rate")},
                  {"train.warmup_steps", o.integer("warmup_steps")},
                  {"rollout.length", o.integer("max_token")},
                  {"rollout.threshold", o.number("dynamic_threshold")}}});
}

/// DARE's scripts for block models.
Settings dare_on_blocks(const Original& o) {
  demand(!o.flag("use_kl_loss"), "a KL");
  return merged({block_decoder(o),
                 unfiltered("mean", "sample", 1e-6),
                 {{"train.prompts_per_step", o.integer("batch_size")},
                  {"train.group_size", o.integer("n_rollout")},
                  {"train.inner_iterations", std::int64_t{1}},
                  {"train.learning_rate", o.number("lr")},
                  {"train.weight_decay", o.number("weight_decay")},
                  {"rollout.length", o.integer("max_response_length")},
                  {"rollout.threshold", o.number("threshold")}}});
}

Settings clipped_without_kl(const Original& o) {
  return {{"algorithm.loss.eps_low", o.number("clip_ratio")},
          {"algorithm.loss.eps_high", o.number("clip_ratio")},
          {"algorithm.loss.beta", 0.0}};
}

Settings ebpo(const Original& o) {
  return merged({dare_on_blocks(o), clipped_without_kl(o), {{"algorithm.masking.num_mc", o.integer("mc_num")}}});
}

Settings cj_grpo(const Original& o) {
  demand(o.integer("mc_num") == 1, "several draws of a trajectory");
  return merged({dare_on_blocks(o),
                 clipped_without_kl(o),
                 {{"algorithm.masking.token_weights", "transition"s}, {"algorithm.loss.norm", "sum"s}}});
}

/// What only the released code does: it judges what stands behind the end, keeps `batch_size_lm` groups of every
/// device's batch, its padding is visible from step 1 on, single steps give no signal, and Dream's commit probabilities
/// are never recorded, so that its steps are drawn uniformly (D-1 in docs/spec/rldf.md 2.7).
Settings rldf_as_released(const Original& o) {
  const bool dream = o.text("model") == "dream";
  Settings s = {{"algorithm.masking.pad_steps", "zero"s},
                {"algorithm.masking.skip_single_step", true},
                {"filter.max_groups", o.integer("batch_size_lm") * o.devices()},
                {"filter.fill", "constant_groups"s},
                {"rollout.temperature", o.number("rollout.temperature")},
                {"rollout.after_end", "kept"s}};
  if (!dream) return s;
  s["algorithm.masking.sample_temperature"] = std::numeric_limits<double>::infinity();
  s["rollout.top_p"] = o.number("rollout.top_p");
  s["rollout.confidence_of"] = "draw"s;
  return s;
}

Settings rldf(const Original& o) {
  demand(o.text("mask_strategy") == "sequential_masking", "another plan");
  const bool paper = o.source().starts_with("Reinforcement Learning");
  o.text("model");
  Settings s = {
      {"algorithm.masking.k", o.integer("mask_num")},
      {"algorithm.masking.sample_temperature", o.number("sample_temperature")},
      {"algorithm.loss.low_prob_threshold", o.number("low_prob_threshold")},
      {"algorithm.loss.norm", o.text("loss_norm")},
      {"algorithm.loss.eps_low", o.number("eps_lo")},
      {"algorithm.loss.eps_high", o.number("eps_hi")},
      {"algorithm.loss.beta", o.number("beta")},
      {"algorithm.loss.kl", o.text("kl_estimator")},
      {"advantage.baseline", "mean"s},
      {"advantage.std", "sample"s},
      {"advantage.std_floor", 0.01},
      {"advantage.std_epsilon", 1e-8},
      {"filter.require_variance", true},
      {"filter.max_groups", std::int64_t{0}},
      {"filter.fill", "none"s},
      {"train.prompts_per_step", o.integer("rollout.batch_size") * o.devices()},
      {"train.group_size", o.integer("num_generations")},
      {"train.inner_iterations", o.integer("num_iterations")},
      {"train.learning_rate", o.number("learning_rate")},
      {"train.schedule", o.text("lr_scheduler")},
      {"train.warmup_steps", o.integer("warmup_steps")},
      {"train.beta1", o.number("adam_beta1")},
      {"train.beta2", o.number("adam_beta2")},
      {"train.epsilon", o.number("adam_epsilon")},
      {"train.weight_decay", o.number("weight_decay")},
      {"train.gradient_clip", o.number("gradient_clipping")},
      {"rollout.length", o.integer("rollout.gen_length")},
      {"rollout.block", o.integer("rollout.block_length")},
      {"rollout.schedule", o.text("rollout.strategy")},
      {"rollout.threshold", o.number("rollout.threshold")},
      {"rollout.remasking", "low_confidence"s},
  };
  if (paper) return s;
  for (const auto& [key, value] : rldf_as_released(o)) s[key] = value;
  return s;
}

/// With one reward for all steps their advantages are equal, so that the largest ones are drawn.
Settings mdpo(const Original& o) {
  demand(o.text("lr_scheduler_type") == "constant" && !o.flag("lora"), "another trainer");
  return merged({reference(o),
                 clipped_ratio(o, "k2"),
                 unfiltered("mean", "sample", 1e-4),
                 batches(o),
                 {{"algorithm.masking.sample_train_steps", o.integer("sample_train_steps")},
                  {"algorithm.masking.steps", "uniform"s},
                  {"algorithm.loss.norm", "targets"s},
                  {"algorithm.loss.kl_norm", "targets"s},
                  {"algorithm.loss.weighting", "rows"s},
                  {"algorithm.loss.confidence_weights", o.flag("confidence")},
                  {"train.schedule", "constant"s},
                  {"rollout.block", o.integer("block_length")},
                  {"rollout.steps", o.integer("diffusion_steps")},
                  {"rollout.remasking", "low_confidence"s},
                  {"rollout.temperature", o.number("temperature")}}});
}

/// What the paper states, and over it what the released code has.
Settings bgpo(const Original& o) {
  if (o.has("n_rollout")) {
    return merged({dare_on_blocks(o),
                   {{"algorithm.masking.num_t", o.integer("mc_num")},
                    {"algorithm.masking.num_masks", std::int64_t{1}},
                    {"algorithm.masking.spacing", "even"s},
                    {"algorithm.loss.divide_by_length", true},
                    {"algorithm.loss.clip", o.number("clip_ratio")},
                    {"algorithm.loss.dual_clip", 3.0}}});
  }
  const std::int64_t masks = o.integer("mc_num"), group = o.integer("group_size");
  Settings s = {{"algorithm.masking.num_t", masks},
                {"algorithm.masking.num_masks", std::int64_t{1}},
                {"train.prompts_per_step", o.integer("batch_size")},
                {"train.group_size", group},
                {"train.inner_iterations", std::int64_t{1}},
                {"train.learning_rate", o.number("learning_rate")},
                {"rollout.length", o.integer("max_response_length")},
                {"rollout.block", o.integer("block_length")},
                {"rollout.schedule", "static"s},
                {"rollout.steps", o.integer("steps")}};
  s.merge(unfiltered("mean", "sample", o.has("advantage_epsilon") ? o.number("advantage_epsilon") : 0));
  if (o.has("mini_batch_size")) s["train.views_per_update"] = o.integer("mini_batch_size") * group * masks;
  if (!o.has("clip_ratio")) return s;
  s["algorithm.masking.spacing"] = o.flag("evenly_spaced_sizes") ? "even"s : "independent"s;
  s["algorithm.loss.divide_by_length"] = o.flag("divide_by_length");
  s["algorithm.loss.clip"] = o.number("clip_ratio");
  s["algorithm.loss.dual_clip"] = o.number("clip_ratio_c");
  s["train.weight_decay"] = o.number("weight_decay");
  s["rollout.temperature"] = o.number("temperature");
  return s;
}

}  // namespace

Original::Original(const std::filesystem::path& fixture) {
  const ConfigDocument document = load_document(fixture, {});
  for (const ConfigLayer& layer : document.layers) {
    if (!layer.leaves.empty()) own_.clear();  // the command line's layer is empty
    for (const auto& [key, leaf] : layer.leaves) {
      if (!leaf.value) throw std::runtime_error(fixture.string() + ": " + key + " is no value");
      if (key == "original.source") {
        source_ = std::get<std::string>(*leaf.value);
      } else if (key == "original.devices") {
        devices_ = std::get<std::int64_t>(*leaf.value);
      } else if (key.starts_with("values.")) {
        values_[key.substr("values."s.size())] = *leaf.value;
        own_.insert(key.substr("values."s.size()));
      } else {
        throw std::runtime_error(fixture.string() + ": unknown key " + key);
      }
    }
  }
}

template <class T>
const T& Original::value(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) throw std::runtime_error("the original sets no " + key);
  read_.insert(key);
  const T* typed = std::get_if<T>(&found->second);
  if (typed == nullptr) throw std::runtime_error(key + " is of another type");
  return *typed;
}

std::int64_t Original::integer(const std::string& key) const { return value<std::int64_t>(key); }
std::string Original::text(const std::string& key) const { return value<std::string>(key); }
bool Original::flag(const std::string& key) const { return value<bool>(key); }

double Original::number(const std::string& key) const {
  const auto found = values_.find(key);
  const bool whole = found != values_.end() && std::holds_alternative<std::int64_t>(found->second);
  return whole ? static_cast<double>(integer(key)) : value<double>(key);
}

std::vector<std::string> Original::unread() const {
  std::vector<std::string> keys;
  std::ranges::set_difference(own_, read_, std::back_inserter(keys));
  return keys;
}

Settings derived_settings(const std::string& algorithm, const Original& original) {
  static const std::map<std::string, std::function<Settings(const Original&)>> rules = {
      {"d1", d1},     {"wd1", wd1},         {"spg", spg},   {"espo", espo},   {"coupled_grpo", coupled_grpo},
      {"rldf", rldf}, {"tracerl", tracerl}, {"d2", d2},     {"agrpo", agrpo}, {"gdpo", gdpo},
      {"mdpo", mdpo}, {"bgpo", bgpo},       {"dipo", dipo}, {"ebpo", ebpo},   {"cj_grpo", cj_grpo}};
  const auto rule = rules.find(algorithm);
  if (rule == rules.end()) throw std::runtime_error("no rule for algorithm " + algorithm);
  return rule->second(original);
}

}  // namespace drift::test
