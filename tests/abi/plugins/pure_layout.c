// Where each field of drift/pure.h lies, in C. A later version adds fields at the end of a structure; none of these
// lines changes, and new ones are added for the new fields. pure_layout.cpp compiles the same as C++.
#include <drift/pure.h>

#ifdef __cplusplus
#define HOLDS(CONDITION) static_assert(CONDITION, #CONDITION)
#else
#define HOLDS(CONDITION) _Static_assert(CONDITION, #CONDITION)
#endif
#define AT(STRUCTURE, FIELD, OFFSET) HOLDS(offsetof(STRUCTURE, FIELD) == OFFSET)

AT(DriftText, data, 0);
AT(DriftText, size, 8);
HOLDS(sizeof(DriftText) == 16);

AT(DriftStream, key, 0);
HOLDS(sizeof(DriftStream) == 8);

AT(DriftPoint, step, 0);
AT(DriftPoint, response, 8);
AT(DriftPoint, position, 16);
AT(DriftPoint, draw, 24);
HOLDS(sizeof(DriftPoint) == 32);

AT(DriftHost, size, 0);
AT(DriftHost, error, 8);
AT(DriftHost, log, 16);
AT(DriftHost, warn_once, 24);
AT(DriftHost, metric, 32);
AT(DriftHost, stream, 40);
AT(DriftHost, seeded_stream, 48);
AT(DriftHost, child, 56);
AT(DriftHost, bits, 64);
AT(DriftHost, uniform, 72);
AT(DriftHost, below, 80);
AT(DriftHost, loss_metric, 88);
AT(DriftHost, add_view, 96);
AT(DriftHost, give_verdict, 104);
AT(DriftHost, give_item, 112);
HOLDS(sizeof(DriftHost) == 120);

AT(DriftValue, type, 0);
AT(DriftValue, truth, 4);
AT(DriftValue, integer, 8);
AT(DriftValue, number, 16);
AT(DriftValue, string, 24);
AT(DriftValue, strings, 40);
AT(DriftValue, integers, 48);
AT(DriftValue, numbers, 56);
AT(DriftValue, count, 64);
HOLDS(sizeof(DriftValue) == 72);

AT(DriftParam, size, 0);
AT(DriftParam, name, 8);
AT(DriftParam, doc, 24);
AT(DriftParam, default_value, 40);
AT(DriftParam, flags, 112);
AT(DriftParam, reserved, 116);
AT(DriftParam, minimum, 120);
AT(DriftParam, maximum, 128);
AT(DriftParam, choices, 136);
AT(DriftParam, choice_count, 144);
HOLDS(sizeof(DriftParam) == 152);

AT(DriftLossInput, size, 0);
AT(DriftLossInput, views, 8);
AT(DriftLossInput, length, 16);
AT(DriftLossInput, responses, 24);
AT(DriftLossInput, current_FL, 32);
AT(DriftLossInput, old_FL, 40);
AT(DriftLossInput, reference_FL, 48);
AT(DriftLossInput, entropy_FL, 56);
AT(DriftLossInput, reference_entropy_FL, 64);
AT(DriftLossInput, response_F, 72);
AT(DriftLossInput, forward_F, 80);
AT(DriftLossInput, masked_FL, 88);
AT(DriftLossInput, target_FL, 96);
AT(DriftLossInput, committed_FL, 104);
AT(DriftLossInput, attended_FL, 112);
AT(DriftLossInput, weight_F, 120);
AT(DriftLossInput, prompt_masked_FP, 128);
AT(DriftLossInput, prompt_length, 136);
AT(DriftLossInput, advantage_B, 144);
AT(DriftLossInput, advantage_BL, 152);
AT(DriftLossInput, valid_BL, 160);
AT(DriftLossInput, scored_B, 168);
AT(DriftLossInput, value_BL, 176);
AT(DriftLossInput, return_BL, 184);
AT(DriftLossInput, total_responses, 192);
AT(DriftLossInput, group_size, 200);
AT(DriftLossInput, forwards, 208);
AT(DriftLossInput, total_targets, 216);
AT(DriftLossInput, optimizer_steps, 224);
AT(DriftLossInput, total_views, 232);
HOLDS(sizeof(DriftLossInput) == 240);

AT(DriftLossResult, size, 0);
AT(DriftLossResult, value, 8);
AT(DriftLossResult, current_gradient_FL, 16);
AT(DriftLossResult, entropy_gradient_FL, 24);
HOLDS(sizeof(DriftLossResult) == 32);

AT(DriftLoss, size, 0);
AT(DriftLoss, coupling, 8);
AT(DriftLoss, needs, 16);
AT(DriftLoss, evaluate, 24);
HOLDS(sizeof(DriftLoss) == 32);

AT(DriftMaskingInput, size, 0);
AT(DriftMaskingInput, responses, 8);
AT(DriftMaskingInput, length, 16);
AT(DriftMaskingInput, prompt_length, 24);
AT(DriftMaskingInput, step, 32);
AT(DriftMaskingInput, inner_iteration, 40);
AT(DriftMaskingInput, end_id, 48);
AT(DriftMaskingInput, pad_id, 56);
AT(DriftMaskingInput, random, 64);
AT(DriftMaskingInput, number_B, 72);
AT(DriftMaskingInput, tokens_BL, 80);
AT(DriftMaskingInput, valid_BL, 88);
AT(DriftMaskingInput, step_BL, 96);
AT(DriftMaskingInput, commit_logprob_BL, 104);
AT(DriftMaskingInput, forwards_B, 112);
AT(DriftMaskingInput, prompt_tokens_BP, 120);
AT(DriftMaskingInput, prompt_mask_BP, 128);
AT(DriftMaskingInput, group_B, 136);
AT(DriftMaskingInput, recorded_forwards, 144);
AT(DriftMaskingInput, attended_BK, 152);
AT(DriftMaskingInput, computed_begin_BK, 160);
AT(DriftMaskingInput, computed_end_BK, 168);
HOLDS(sizeof(DriftMaskingInput) == 176);

AT(DriftView, size, 0);
AT(DriftView, response, 8);
AT(DriftView, forward, 16);
AT(DriftView, masked_L, 24);
AT(DriftView, target_L, 32);
AT(DriftView, committed_L, 40);
AT(DriftView, attended_L, 48);
AT(DriftView, prompt_masked_P, 56);
AT(DriftView, weight, 64);
HOLDS(sizeof(DriftView) == 72);

AT(DriftPlanResult, size, 0);
AT(DriftPlanResult, forwards, 8);
HOLDS(sizeof(DriftPlanResult) == 16);

AT(DriftMaskingStrategy, size, 0);
AT(DriftMaskingStrategy, refresh, 8);
AT(DriftMaskingStrategy, plan, 16);
HOLDS(sizeof(DriftMaskingStrategy) == 24);

AT(DriftItem, size, 0);
AT(DriftItem, id, 8);
AT(DriftItem, prompt, 24);
AT(DriftItem, reference, 40);
AT(DriftItem, demonstration, 56);
AT(DriftItem, response_prefix, 72);
HOLDS(sizeof(DriftItem) == 88);

AT(DriftTask, size, 0);
AT(DriftTask, training_item, 8);
AT(DriftTask, held_out_size, 16);
AT(DriftTask, held_out_item, 24);
HOLDS(sizeof(DriftTask) == 32);

AT(DriftRewardRequest, size, 0);
AT(DriftRewardRequest, response, 8);
AT(DriftRewardRequest, item, 24);
AT(DriftRewardRequest, truncated, 32);
AT(DriftRewardRequest, reserved, 36);
HOLDS(sizeof(DriftRewardRequest) == 40);

AT(DriftVerdict, size, 0);
AT(DriftVerdict, value, 8);
AT(DriftVerdict, solved, 16);
AT(DriftVerdict, status, 20);
AT(DriftVerdict, reason, 24);
HOLDS(sizeof(DriftVerdict) == 40);

AT(DriftReward, size, 0);
AT(DriftReward, score, 8);
HOLDS(sizeof(DriftReward) == 16);

AT(DriftComponent, size, 0);
AT(DriftComponent, name, 8);
AT(DriftComponent, doc, 24);
AT(DriftComponent, params, 40);
AT(DriftComponent, param_count, 48);
AT(DriftComponent, data, 56);
AT(DriftComponent, create, 64);
AT(DriftComponent, destroy, 72);
AT(DriftComponent, loss, 80);
AT(DriftComponent, masking_strategy, 88);
AT(DriftComponent, reward, 96);
AT(DriftComponent, task, 104);
HOLDS(sizeof(DriftComponent) == 112);

AT(DriftRegistry, size, 0);
AT(DriftRegistry, error, 8);
AT(DriftRegistry, add, 16);
HOLDS(sizeof(DriftRegistry) == 24);

AT(DriftPureDescriptor, magic, 0);
AT(DriftPureDescriptor, struct_size, 16);
AT(DriftPureDescriptor, abi_major, 20);
AT(DriftPureDescriptor, abi_minor, 24);
AT(DriftPureDescriptor, tier, 28);
AT(DriftPureDescriptor, name, 32);
AT(DriftPureDescriptor, version, 96);
AT(DriftPureDescriptor, licence, 128);
AT(DriftPureDescriptor, compiler, 192);
HOLDS(sizeof(DriftPureDescriptor) == 224);

AT(DriftPureEntry, struct_size, 0);
AT(DriftPureEntry, reserved, 4);
AT(DriftPureEntry, descriptor, 8);
AT(DriftPureEntry, register_components, 16);
HOLDS(sizeof(DriftPureEntry) == 24);

// The values of constants.
HOLDS(DRIFT_OK == 0);
HOLDS(DRIFT_FAILED == 1);
HOLDS(DRIFT_LOG_INFO == 0);
HOLDS(DRIFT_LOG_WARNING == 1);
HOLDS(DRIFT_TRUTH == 1);
HOLDS(DRIFT_INTEGER == 2);
HOLDS(DRIFT_NUMBER == 3);
HOLDS(DRIFT_STRING == 4);
HOLDS(DRIFT_STRINGS == 5);
HOLDS(DRIFT_INTEGERS == 6);
HOLDS(DRIFT_NUMBERS == 7);
HOLDS(DRIFT_HAS_MINIMUM == 1);
HOLDS(DRIFT_HAS_MAXIMUM == 2);
HOLDS(DRIFT_MINIMUM_EXCLUDED == 4);
HOLDS(DRIFT_MAXIMUM_EXCLUDED == 8);
HOLDS(DRIFT_ALLOW_INFINITE == 16);
HOLDS(DRIFT_IS_PATH == 32);
HOLDS(DRIFT_COUPLING_VIEW == 0);
HOLDS(DRIFT_COUPLING_RESPONSE == 1);
HOLDS(DRIFT_COUPLING_BATCH == 2);
HOLDS(DRIFT_NEEDS_OLD == 1);
HOLDS(DRIFT_NEEDS_REFERENCE == 2);
HOLDS(DRIFT_NEEDS_ENTROPY == 4);
HOLDS(DRIFT_ONCE_PER_ROLLOUT == 0);
HOLDS(DRIFT_EACH_INNER_ITERATION == 1);
HOLDS(DRIFT_VERDICT_OK == 0);
HOLDS(DRIFT_VERDICT_NO_ANSWER == 1);
HOLDS(DRIFT_VERDICT_PARSE_ERROR == 2);
HOLDS(DRIFT_VERDICT_WRONG == 3);
HOLDS(DRIFT_VERDICT_TIMEOUT == 4);
HOLDS(DRIFT_VERDICT_CRASHED == 5);
HOLDS(DRIFT_VERDICT_RESOURCE == 6);
HOLDS(DRIFT_VERDICT_FORGED == 7);
HOLDS(DRIFT_VERDICT_INFRASTRUCTURE == 8);
