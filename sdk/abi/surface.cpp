// Everything that the public headers promise, reachable from one function, so that its debug information can be
// recorded and compared: sdk/abi/record, tests/abi/recorded_abi_test.cpp. Never part of libdrift.
#include <drift/abi.h>
#include <drift/answers.h>
#include <drift/cached_forward.h>
#include <drift/commits.h>
#include <drift/component.h>
#include <drift/error.h>
#include <drift/host.h>
#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/mask_plan.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/nearest.h>
#include <drift/parallel.h>
#include <drift/params.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>
#include <drift/policy.h>
#include <drift/pure.h>
#include <drift/random.h>
#include <drift/registry.h>
#include <drift/reserved.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/sampling.h>
#include <drift/task.h>
#include <drift/trajectories.h>

namespace drift {

DRIFT_API void components(Component&, Model&, Rollout&, MaskingStrategy&, LossEstimator&, Reward&, Task&,
                          ComponentKind) {}

DRIFT_API void capabilities(CachedForward&, KeyValueCache&, BlockAttention&, Adapters&, RolloutCostEstimate&,
                            TrainingList&) {}

DRIFT_API void host(Host&, Policy&, ComponentContext&, LogLevel) {}

DRIFT_API void values(ModelTraits&, ChatFormat&, ModelConfig&, CacheWindow&, ForwardCache&, NamedTensor&, ForwardInput&,
                      RolloutInput&, RolloutCost&, Prompts&, Trajectories&, MaskingInput&, MaskPlan&, LossInput&,
                      LogProbs&, BatchTotals&, Loss&, LossMetric&, LossNeeds&, RewardRequest&, RewardResult&, TaskItem&,
                      SamplingOptions&, SampledTokens&, CommitRule&, Response&, MarkedAnswer&) {}

DRIFT_API void helpers(Responses&, PlanBuilder&, RatioClip&, KlTerm&, LossNorm&) {}

DRIFT_API void enumerations(PredictionRow, BlockOrigin, FirstOfBlock, PlanRefresh, Coupling, RewardStatus, Confidence,
                            KlEstimator, CommitBy) {}

DRIFT_API void declarations(Parameters&, Parameter&, AllowedValues&, Parameter::Value&, Registry&, ComponentEntry&,
                            ComponentFactory, ComponentDeclaration&, ReadDeclaration, Algorithm&, AlgorithmPreset&) {}

DRIFT_API void boundary(DriftPluginDescriptor&, DriftPluginEntry&, DriftPluginTier, DriftSanitizer, Error&,
                        RandomStream&, RandomPoint&) {}

DRIFT_API void plain_arrays(DriftHost&, DriftParam&, DriftLossInput&, DriftLossResult&, DriftLoss&, DriftMaskingInput&,
                            DriftView&, DriftPlanResult&, DriftMaskingStrategy&, DriftItem&, DriftTask&,
                            DriftRewardRequest&, DriftVerdict&, DriftReward&, DriftComponent&, DriftRegistry&,
                            DriftPureDescriptor&, DriftPureEntry&) {}

}  // namespace drift
