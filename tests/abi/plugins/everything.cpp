// One component of each kind, and a model with three capabilities. Compiled by interface_test against today's headers
// and against older ones, in which structures have fewer fields: OLDER says which these are.
#include <drift/cached_forward.h>
#include <drift/host.h>
#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

#include <string>

namespace {

using namespace drift;

template <class T>
concept HasReturns = requires(T input) {
  input.return_BL;
};
template <class T>
concept HasAttended = requires(T plan) {
  plan.attended_FL;
};
template <class T>
concept HasAdapted = requires(T input) {
  input.adapted_B;
};
template <class T>
concept HasReferenceEntropy = requires(T log_probs) {
  log_probs.reference_entropy_FL;
};
template <class T>
concept HasComputedEnd = requires(T trajectories) {
  trajectories.computed_end_BK;
};
template <class T>
concept HasThreads = requires(T& host) {
  host.threads();
};
template <class T>
concept HasMakeCache = requires(T& policy) {
  policy.make_cache(1, 1);
};
static_assert(HasReturns<LossInput> != OLDER && HasAttended<MaskPlan> != OLDER && HasAdapted<ForwardInput> != OLDER &&
              HasReferenceEntropy<LogProbs> != OLDER && HasComputedEnd<Trajectories> != OLDER &&
              HasThreads<Host> != OLDER && HasMakeCache<Policy> != OLDER);

/// Every hidden state is the embedding of its token and the mean of the row's. Adapters add to it.
class TinyModel final : public Model, public CachedForward, public BlockAttention, public Adapters {
 public:
  TinyModel(const ModelConfig& config, const Params&) {
    const auto options = at::TensorOptions(config.dtype).device(config.device);
    for (auto* tensor : {&embedding_VH_, &head_VH_}) *tensor = at::zeros({8, 4}, options).set_requires_grad(true);
    adapter_H_ = at::zeros({4}, options);
    traits_ = {.family = "tiny", .vocabulary_size = 8, .hidden_size = 4, .layers = 1, .context_length = 64};
    traits_.mask_id = 1;
    traits_.pad_id = traits_.end_id = 0;
    traits_.forbidden_output_ids = {{1, 2}};
  }
  const ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return head_VH_.device(); }
  at::ScalarType dtype() const override { return head_VH_.scalar_type(); }
  at::Tensor forward(const ForwardInput& input) const override {
    const auto x = at::embedding(embedding_VH_, input.tokens_BS);
    const auto hidden = (x + x.mean(1, /*keepdim=*/true) + adapter_H_).reshape({-1, 4});
    return input.rows_N.defined() ? hidden.index_select(0, input.rows_N) : hidden;
  }
  at::Tensor lm_head_VH() const override { return head_VH_; }
  std::vector<NamedTensor> parameters() const override {
    return {{"embedding", embedding_VH_}, {"head", head_VH_}, {"adapter", adapter_H_}};
  }
  void initialize(const RandomStream& random) override {
    const at::NoGradGuard no_gradient;
    for (const auto& [name, tensor] : parameters()) {
      for (std::int64_t i = 0; i < tensor.numel(); ++i) {
        tensor.view({-1})[i].fill_(random.child(name).uniform({0, 0, i, 0}) - 0.5);
      }
    }
  }
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override { return sequence * 64; }

  std::unique_ptr<KeyValueCache> make_cache(std::int64_t, std::int64_t) const override { return nullptr; }
  at::Tensor forward_window(const ForwardInput& input, const CacheWindow&, KeyValueCache&) const override {
    return forward(input);
  }
  std::vector<NamedTensor> adapter_parameters() const override { return {{"adapter", adapter_H_}}; }

 private:
  ModelTraits traits_;
  at::Tensor embedding_VH_, head_VH_, adapter_H_;
};

/// Four tokens from left to right.
class LeftToRight final : public Rollout, public RolloutCostEstimate {
 public:
  explicit LeftToRight(const Params&) {}
  std::int64_t response_length() const override { return 4; }
  void generate(const RolloutInput& input, Trajectories& made) const override {
    const std::int64_t rows = input.prompts.tokens_BP.size(0), prompt = input.prompts.tokens_BP.size(1);
    made.prompts = input.prompts;
    made.tokens_BL = at::full({rows, 4}, input.policy->traits().mask_id, at::kLong);
    made.step_BL = at::arange(4, at::kInt).expand({rows, 4}).contiguous();
    made.commit_logprob_BL = at::zeros({rows, 4}, at::kFloat);
    made.forwards_B = at::full({rows}, 4, at::kLong);
    const auto all_B = at::arange(rows, at::kLong);
    SamplingOptions options;
    options.temperature = 1;
    options.forbidden_ids = input.policy->traits().forbidden_output_ids;
    for (std::int64_t i = 0; i < 4; ++i) {
      ForwardInput forward;
      forward.tokens_BS = at::cat({input.prompts.tokens_BP, made.tokens_BL}, 1);
      forward.rows_N = all_B * (prompt + 4) + prompt + i;
      const auto point = at::full({rows}, i, at::kLong);
      const auto uniform_B = uniform(input.random, input.step, all_B + input.first_response, point, point);
      const auto sampled = input.policy->sample(forward, {}, all_B, uniform_B, options);
      made.tokens_BL.select(1, i).copy_(sampled.token_M);
      made.commit_logprob_BL.select(1, i).copy_(sampled.logprob_M);
    }
    made.valid_BL = made.tokens_BL != input.policy->traits().pad_id;
  }
  void estimate_cost(const Model&, std::int64_t, std::int64_t, bool, RolloutCost& cost) const override {
    cost.least_forwards = cost.most_forwards = 4;
  }
};

class OneMask final : public MaskingStrategy {
 public:
  OneMask(const Params&, Host& host) : host_(host) {}
  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Responses responses(input);
    PlanBuilder builder(responses.length(), responses.prompt_length());
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      builder.begin_view(b, 0);
      for (std::int64_t i = 0; i < responses.length(); ++i) {
        builder.mask(i);
        if (responses[b].valid[i]) builder.score(i);
      }
    }
    plan = builder.finish(1);
    host_.metric("views", static_cast<double>(responses.size()), 1);
  }

 private:
  Host& host_;
};

class ClippedLoss final : public LossEstimator {
 public:
  explicit ClippedLoss(Parameters& parameters)
      : clip_(parameters, 0.2, 0.2), kl_(parameters, 0.1, KlEstimator::kK3), norm_(parameters, LossNormKind::kToken) {}
  Coupling coupling() const override { return Coupling::kView; }
  void needs(LossNeeds& needs) const override { needs.entropy = true; }
  Loss evaluate(const LossInput& in) const override {
    const auto ratio_FL =
        log_ratio(in.log_probs.current_FL, in.log_probs.old_FL, in.plan.target_FL, clip_.log_ratio_clamp());
    Loss loss;
    const auto token_FL =
        clip_.loss(ratio_FL, in.token_advantage(), in.plan.target_FL, loss) - 0.01 * in.log_probs.entropy_FL;
    const auto weight_F1 = norm_.weight_B(in).index_select(0, in.plan.response_F).unsqueeze(1);
    loss.value = sum_where(token_FL * weight_F1, in.plan.target_FL).sum();
    return loss;
  }

 private:
  RatioClip clip_;
  KlTerm kl_;
  LossNorm norm_;
};

class IsReference final : public Reward {
 public:
  explicit IsReference(const Params&) {}
  void score(const RewardRequest& request, RewardResult& result) const override {
    result.solved = request.response == request.item->reference;
    result.value = result.solved ? 1 : 0;
    result.status = result.solved ? RewardStatus::kOk : RewardStatus::kWrong;
  }
};

class Numbers final : public Task, public TrainingList {
 public:
  explicit Numbers(const Params&) {}
  void training_item(std::int64_t index, const RandomStream&, TaskItem& item) const override {
    listed_item(index % size_, item);
  }
  std::int64_t held_out_size() const override { return 1; }
  void held_out_item(std::int64_t, TaskItem& item) const override { item.id = "held out"; }
  std::int64_t training_size() const override { return size_; }
  void listed_item(std::int64_t index, TaskItem& item) const override { item.id = std::to_string(index); }
  void keep(const std::vector<std::int64_t>& indices) override { size_ = static_cast<std::int64_t>(indices.size()); }

 private:
  std::int64_t size_ = 3;
};

}  // namespace

DRIFT_PLUGIN("everything", "1.0.0", "Apache-2.0") {
  registry.add<TinyModel>("tiny", "A model with three capabilities.");
  registry.add<LeftToRight>("left_to_right", "Four tokens.");
  registry.add<OneMask>("one_mask", "All tokens masked, once.");
  registry.add<ClippedLoss>("clipped", "A clipped ratio.");
  registry.add<IsReference>("is_reference", "The answer, letter by letter.");
  registry.add<Numbers>("numbers", "Three items.");
  for (const std::string name : {"found_first", "found_second"}) {  // as a bridge to another language would
    registry.add(ComponentKind::kReward, name, "A name found at run time.", {},
                 [name](const ComponentContext& context) -> std::unique_ptr<Component> {
                   context.host->log(LogLevel::kInfo, "made as " + name);
                   return std::make_unique<IsReference>(*context.params);
                 });
  }
}
