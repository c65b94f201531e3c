// Sizes and offsets of core ABI 1, asserted while libdrift is compiled: a change to a public
// structure fails here before any test runs. What grows at its end has no size here. A minor version that turns a
// reserved slot into a field adds its line, and changes no other (docs/plugin_abi.md). The order of virtual functions
// is compared by recorded_abi_test.

#include <drift/abi.h>
#include <drift/answers.h>
#include <drift/cached_forward.h>
#include <drift/commits.h>
#include <drift/error.h>
#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/policy.h>
#include <drift/registry.h>
#include <drift/reward.h>
#include <drift/rollout.h>

#include <cstddef>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // as GCC and clang lay out classes without virtual functions

#define SIZE(TYPE, BYTES) static_assert(sizeof(TYPE) == (BYTES), #TYPE " has another size than in ABI 1.0")
#define AT(TYPE, FIELD, BYTES) \
  static_assert(offsetof(TYPE, FIELD) == (BYTES), #TYPE "::" #FIELD " has moved since ABI 1.0")

namespace drift {

SIZE(BatchTotals, 96);
AT(BatchTotals, responses, 0);
AT(BatchTotals, group_size, 8);
AT(BatchTotals, forwards, 16);
AT(BatchTotals, targets, 24);
AT(BatchTotals, optimizer_steps, 32);
AT(BatchTotals, views, 40);

SIZE(Bundle, 344);
AT(Bundle, name, 0);
AT(Bundle, doc, 32);
AT(Bundle, paper, 64);
AT(Bundle, masking, 96);
AT(Bundle, loss, 128);
AT(Bundle, presets, 160);
AT(Bundle, plugin, 184);

SIZE(BundlePreset, 160);
AT(BundlePreset, name, 0);
AT(BundlePreset, origin, 32);
AT(BundlePreset, text, 64);

SIZE(CacheWindow, 88);
AT(CacheWindow, begin_B, 0);
AT(CacheWindow, attended_B, 8);
AT(CacheWindow, key_mask_BS, 16);

SIZE(ChatFormat, 344);
AT(ChatFormat, name, 0);
AT(ChatFormat, opening, 32);
AT(ChatFormat, turn_begin, 64);
AT(ChatFormat, turn_end, 96);
AT(ChatFormat, reply_begin, 128);
AT(ChatFormat, default_system, 160);
AT(ChatFormat, trims_text, 192);

SIZE(CommitRule, 80);
AT(CommitRule, by, 0);
AT(CommitRule, threshold, 8);
AT(CommitRule, factor, 16);
AT(CommitRule, count_R, 24);

SIZE(ComponentContext, 64);
AT(ComponentContext, params, 0);
AT(ComponentContext, host, 8);
AT(ComponentContext, model_config, 16);

SIZE(ComponentDeclaration, 184);
AT(ComponentDeclaration, doc, 0);
AT(ComponentDeclaration, params, 32);

AT(ComponentEntry, kind, 0);
AT(ComponentEntry, name, 8);
AT(ComponentEntry, doc, 40);
AT(ComponentEntry, params, 72);
AT(ComponentEntry, create, 96);
AT(ComponentEntry, plugin, 128);
AT(ComponentEntry, declaration, 160);

AT(DriftPluginDescriptor, magic, 0);
AT(DriftPluginDescriptor, struct_size, 16);
AT(DriftPluginDescriptor, abi_major, 20);
AT(DriftPluginDescriptor, abi_minor, 24);
AT(DriftPluginDescriptor, tier, 28);
AT(DriftPluginDescriptor, cxx_abi_version, 32);
AT(DriftPluginDescriptor, cxx11_abi, 36);
AT(DriftPluginDescriptor, standard_library_debug, 40);
AT(DriftPluginDescriptor, sanitizers, 44);
AT(DriftPluginDescriptor, standard_library, 48);
AT(DriftPluginDescriptor, libtorch_version, 64);
AT(DriftPluginDescriptor, platform, 96);
AT(DriftPluginDescriptor, compiler, 128);
AT(DriftPluginDescriptor, name, 160);
AT(DriftPluginDescriptor, version, 224);
AT(DriftPluginDescriptor, licence, 256);

AT(DriftPluginEntry, struct_size, 0);
AT(DriftPluginEntry, descriptor, 8);
AT(DriftPluginEntry, register_components, 16);

SIZE(Error, 48);

SIZE(ForwardCache, 16);
AT(ForwardCache, cache, 0);
AT(ForwardCache, window, 8);

SIZE(ForwardInput, 136);
AT(ForwardInput, tokens_BS, 0);
AT(ForwardInput, key_mask_BS, 8);
AT(ForwardInput, rows_N, 16);
AT(ForwardInput, recompute_blocks, 24);
AT(ForwardInput, positions_BS, 32);
AT(ForwardInput, block_BS, 40);
AT(ForwardInput, adapted_B, 48);
AT(ForwardInput, dropout_key_B, 56);

SIZE(KlTerm, 16);

SIZE(LogProbs, 88);
AT(LogProbs, current_FL, 0);
AT(LogProbs, old_FL, 8);
AT(LogProbs, reference_FL, 16);
AT(LogProbs, entropy_FL, 24);
AT(LogProbs, reference_entropy_FL, 32);

SIZE(Loss, 56);
AT(Loss, value, 0);
AT(Loss, metrics, 8);

SIZE(LossInput, 464);
AT(LossInput, plan, 0);
AT(LossInput, log_probs, 152);
AT(LossInput, advantage_B, 240);
AT(LossInput, valid_BL, 248);
AT(LossInput, totals, 256);
AT(LossInput, scored_B, 352);
AT(LossInput, advantage_BL, 360);
AT(LossInput, value_BL, 368);
AT(LossInput, return_BL, 376);

SIZE(LossMetric, 48);
AT(LossMetric, name, 0);
AT(LossMetric, sum, 32);
AT(LossMetric, count, 40);

SIZE(LossNeeds, 40);
AT(LossNeeds, old, 0);
AT(LossNeeds, reference, 1);
AT(LossNeeds, entropy, 2);

SIZE(LossNorm, 16);

SIZE(MarkedAnswer, 32);
AT(MarkedAnswer, opened, 0);
AT(MarkedAnswer, closed, 1);
AT(MarkedAnswer, content, 8);

SIZE(MaskPlan, 152);
AT(MaskPlan, response_F, 0);
AT(MaskPlan, forward_F, 8);
AT(MaskPlan, masked_FL, 16);
AT(MaskPlan, target_FL, 24);
AT(MaskPlan, committed_FL, 32);
AT(MaskPlan, weight_F, 40);
AT(MaskPlan, prompt_masked_FP, 48);
AT(MaskPlan, forwards, 56);
AT(MaskPlan, attended_FL, 64);

SIZE(MaskingInput, 120);
AT(MaskingInput, trajectories, 0);
AT(MaskingInput, random, 8);
AT(MaskingInput, step, 16);
AT(MaskingInput, response_number_B, 24);
AT(MaskingInput, inner_iteration, 32);
AT(MaskingInput, end_id, 40);
AT(MaskingInput, pad_id, 48);
AT(MaskingInput, end_ids_E, 56);

SIZE(ModelConfig, 232);
AT(ModelConfig, config_json, 0);
AT(ModelConfig, dtype, 32);
AT(ModelConfig, device, 33);
AT(ModelConfig, adapter_json, 40);
AT(ModelConfig, quantization, 72);
AT(ModelConfig, generation_config_json, 104);

SIZE(ModelTraits, 336);
AT(ModelTraits, family, 0);
AT(ModelTraits, vocabulary_size, 32);
AT(ModelTraits, hidden_size, 40);
AT(ModelTraits, layers, 48);
AT(ModelTraits, context_length, 56);
AT(ModelTraits, mask_id, 64);
AT(ModelTraits, pad_id, 72);
AT(ModelTraits, end_id, 80);
AT(ModelTraits, prediction_row, 88);
AT(ModelTraits, forbidden_output_ids, 96);
AT(ModelTraits, chat_formats, 120);
AT(ModelTraits, further_end_ids, 272);

SIZE(NamedTensor, 40);
AT(NamedTensor, name, 0);
AT(NamedTensor, tensor, 32);

SIZE(ParamRange, 64);
AT(ParamRange, minimum, 0);
AT(ParamRange, maximum, 8);
AT(ParamRange, minimum_excluded, 16);
AT(ParamRange, maximum_excluded, 17);
AT(ParamRange, allow_infinite, 18);
AT(ParamRange, choices, 24);

SIZE(ParamSpec, 256);
AT(ParamSpec, name, 0);
AT(ParamSpec, default_value, 32);
AT(ParamSpec, doc, 72);
AT(ParamSpec, range, 104);
AT(ParamSpec, is_path, 168);

SIZE(Parameters, 16);

SIZE(Params, 48);

SIZE(PlanBuilder, 8);

SIZE(Prompts, 40);
AT(Prompts, tokens_BP, 0);
AT(Prompts, mask_BP, 8);
AT(Prompts, group_B, 16);

SIZE(RandomPoint, 32);
AT(RandomPoint, step, 0);
AT(RandomPoint, response, 8);
AT(RandomPoint, position, 16);
AT(RandomPoint, draw, 24);

SIZE(RandomStream, 8);

SIZE(RatioClip, 16);

SIZE(Response, 40);
AT(Response, number, 0);
AT(Response, tokens, 8);
AT(Response, valid, 16);
AT(Response, step, 24);
AT(Response, commit_logprob, 32);

SIZE(Responses, 16);

SIZE(RewardRequest, 96);
AT(RewardRequest, response, 0);
AT(RewardRequest, item, 16);
AT(RewardRequest, truncated, 24);

SIZE(RewardResult, 144);
AT(RewardResult, value, 0);
AT(RewardResult, solved, 8);
AT(RewardResult, status, 12);
AT(RewardResult, reason, 16);

SIZE(RolloutCost, 72);
AT(RolloutCost, least_forwards, 0);
AT(RolloutCost, most_forwards, 8);
AT(RolloutCost, bytes, 16);

SIZE(RolloutInput, 144);
AT(RolloutInput, policy, 0);
AT(RolloutInput, prompts, 8);
AT(RolloutInput, random, 48);
AT(RolloutInput, step, 56);
AT(RolloutInput, first_response, 64);
AT(RolloutInput, cancelled, 72);

SIZE(SampledTokens, 56);
AT(SampledTokens, token_M, 0);
AT(SampledTokens, logprob_M, 8);
AT(SampledTokens, confidence_M, 16);

SIZE(SamplingOptions, 104);
AT(SamplingOptions, temperature, 0);
AT(SamplingOptions, confidence, 8);
AT(SamplingOptions, forbidden_ids, 16);
AT(SamplingOptions, top_k, 56);
AT(SamplingOptions, top_p, 64);
AT(SamplingOptions, confidence_of, 72);

SIZE(TaskItem, 320);
AT(TaskItem, id, 0);
AT(TaskItem, prompt, 32);
AT(TaskItem, reference, 64);
AT(TaskItem, demonstration, 96);
AT(TaskItem, response_prefix, 128);
AT(TaskItem, earlier_turns, 160);

SIZE(Trajectories, 184);
AT(Trajectories, prompts, 0);
AT(Trajectories, tokens_BL, 40);
AT(Trajectories, valid_BL, 48);
AT(Trajectories, step_BL, 56);
AT(Trajectories, commit_logprob_BL, 64);
AT(Trajectories, forwards_B, 72);
AT(Trajectories, attended_BK, 80);
AT(Trajectories, computed_begin_BK, 88);
AT(Trajectories, computed_end_BK, 96);

// Without data of their own: what plugins derive from.
SIZE(Adapters, 8);
SIZE(BlockAttention, 8);
SIZE(CachedForward, 8);
SIZE(Component, 8);
SIZE(Host, 8);
SIZE(KeyValueCache, 8);
SIZE(LossEstimator, 8);
SIZE(MaskingStrategy, 8);
SIZE(Model, 8);
SIZE(Policy, 8);
SIZE(Reward, 8);
SIZE(Rollout, 8);
SIZE(RolloutCostEstimate, 8);
SIZE(ScoredRows, 8);
SIZE(Task, 8);
SIZE(TrainingList, 8);

}  // namespace drift

#undef SIZE
#undef AT
#pragma GCC diagnostic pop
