// Components that each break one rule of `drift plugin check`, under the name of what they do wrong; `good` breaks
// none.

#include "rule_breaker.h"
#include "rule_breaking_model.h"

#include <drift/answers.h>
#include <drift/error.h>
#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace drift;
using test::Breaker;
using test::BreakingModel;

class BreakingLoss final : public LossEstimator, Breaker {
 public:
  BreakingLoss(const std::string& what, const Parameters& params) : Breaker(what), width_(params.get<double>("width")) {
    if (is("throws at an edge") && width_ == 0) throw std::out_of_range("width");
    if (is("good") && width_ == 0) throw Error("a width of 0 is not for this loss");
  }
  Coupling coupling() const override { return is("depends on the order") ? Coupling::kBatch : Coupling::kView; }
  void needs(LossNeeds& needs) const override { needs.reference = needs.entropy = is("detaches"); }
  Loss evaluate(const LossInput& in) const override {
    misbehave();
    const auto& current_FL = in.log_probs.current_FL;
    if (is("needs what it did not ask for")) return in.token_mean(current_FL - in.log_probs.reference_FL);
    if (is("multiplies what does not fit")) return in.token_mean(current_FL * in.advantage_B);
    if (is("has a gradient of 0")) return in.token_mean(0 * current_FL);
    if (is("adds a constant for every response")) {
      Loss loss = in.token_mean(-in.token_advantage() * current_FL);
      loss.value = loss.value + in.advantage_B.sum();
      return loss;
    }
    if (is("overflows")) return in.token_mean(-in.token_advantage() * (current_FL - in.log_probs.old_FL).exp());
    if (is("has no finite gradient")) return in.token_mean((current_FL - current_FL).sqrt());
    if (is("fails without targets")) in.plan.target_FL.nonzero().select(0, 0);
    if (is("divides by what it sees")) {
      Loss loss = in.token_mean(current_FL);
      loss.value = loss.value * in.totals.targets / in.plan.target_FL.sum().clamp_min(1);
      return loss;
    }
    if (is("depends on the order"))
      return in.token_mean(current_FL * at::arange(current_FL.size(0), current_FL.options()).unsqueeze(1));
    if (is("loses digits")) return in.token_mean(-in.token_advantage() * ((current_FL + 1e4) - 1e4));
    if (is("divides by an edge")) return in.token_mean(current_FL / width_);
    if (is("loses a gradient")) {
      const at::NoGradGuard no_gradient;
      ratio_FL_ = current_FL.exp();
    }
    if (is("loses a gradient")) return in.token_mean(ratio_FL_ * current_FL);
    if (is("detaches")) return in.token_mean(current_FL.detach().exp() * current_FL + in.log_probs.entropy_FL);
    if (is("writes")) in.advantage_B.neg_();
    return in.token_mean(-in.token_advantage() * current_FL * static_cast<double>(1 + count()));
  }

 private:
  double width_;
  mutable at::Tensor ratio_FL_;
};

class BreakingMasking final : public MaskingStrategy, Breaker {
 public:
  explicit BreakingMasking(const std::string& what) : Breaker(what) {}
  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    misbehave();
    const Responses responses(input);
    PlanBuilder builder(responses.length(), responses.prompt_length());
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      const bool* const valid = responses[b].valid;
      const std::int64_t tokens = std::count(valid, valid + responses.length(), true);
      if (is("divides by the length") && tokens == 0) throw std::domain_error("no tokens");
      if (tokens == 0) continue;
      builder.begin_view(b, 0);
      for (std::int64_t i = 0; i < responses.length(); ++i) {
        if (input.random.uniform({input.step, responses[b].number, i, count()}) < 0.5) builder.mask(i);
        if (valid[i]) builder.score(i);
      }
    }
    plan = builder.finish(1);
    if (is("gives no terms")) plan.terms = 0;
  }
};

/// Four tokens, all at once.
class BreakingRollout final : public Rollout, public RolloutCostEstimate, Breaker {
 public:
  explicit BreakingRollout(const std::string& what) : Breaker(what) {}
  std::int64_t response_length() const override { return kLength; }
  void generate(const RolloutInput& input, Trajectories& made) const override {
    misbehave();
    if (is("throws when cancelled") && input.cancelled != nullptr) throw std::runtime_error("cancelled");
    const auto& tokens_BP = input.prompts.tokens_BP;
    const std::int64_t responses = tokens_BP.size(0), prompt = tokens_BP.size(1), all = prompt + kLength;
    if (is("looks at the second token")) tokens_BP.select(1, 1);
    ForwardInput forward;
    const auto masked_BL = at::full({responses, kLength}, input.policy->traits().mask_id, at::kLong);
    forward.tokens_BS = at::cat({tokens_BP, masked_BL}, 1);
    if (!is("attends to padding"))
      forward.key_mask_BS = at::cat({input.prompts.mask_BP, at::ones({responses, kLength}, at::kBool)}, 1);
    const auto row_B1 = at::arange(responses, at::kLong).unsqueeze(1);
    const auto position_1L = at::arange(kLength, at::kLong).unsqueeze(0);
    forward.rows_N = (row_B1 * all + prompt + position_1L).flatten();
    const auto draw_M = at::arange(responses * kLength, at::kLong);
    auto response_B1 = row_B1 + (is("forgets the first response") ? 0 : input.first_response);
    if (is("ignores its random stream")) response_B1 = at::zeros_like(row_B1);
    const auto uniform_M =
        uniform(input.random, input.step, response_B1.expand({-1, kLength}).flatten(),
                position_1L.expand({responses, -1}).flatten(), at::full({responses * kLength}, count(), at::kLong));
    if (is("reads float32")) input.policy->logits(forward, {}).const_data_ptr<float>();
    SamplingOptions options;
    options.temperature = 1;
    options.forbidden_ids = input.policy->traits().forbidden_output_ids;
    const auto sampled = input.policy->sample(forward, {}, draw_M, uniform_M, options);
    made.prompts = input.prompts;
    made.tokens_BL = sampled.token_M.view({responses, kLength});
    made.valid_BL = made.tokens_BL != input.policy->traits().pad_id;
    made.step_BL = at::zeros({responses, kLength}, at::kInt);
    made.commit_logprob_BL = sampled.logprob_M.view({responses, kLength});
    made.forwards_B = at::ones({responses}, at::kLong);
    if (is("makes too few")) made.tokens_BL = made.tokens_BL.narrow(1, 0, 1);
  }
  void estimate_cost(const Model&, std::int64_t, std::int64_t, bool, RolloutCost& cost) const override {
    cost.least_forwards = cost.most_forwards = is("estimates too much") ? 2 : 1;
  }

 private:
  static constexpr std::int64_t kLength = 4;
};

/// Whether the response holds the reference.
class BreakingReward final : public Reward, Breaker {
 public:
  explicit BreakingReward(const std::string& what) : Breaker(what) {
    if (is("needs a machine")) throw Error("there is no such machine", "buy one");
    if (is("needs a file")) throw std::runtime_error("bad file");
  }
  void score(const RewardRequest& request, RewardResult& result) const override {
    misbehave();
    if (is("reads no reference")) throw Error("this is not a reference");
    if (is("fails on an empty text") && request.response.empty()) request.response.at(0);
    result.solved = request.response.find(request.item->reference) != std::string_view::npos;
    result.value = result.solved ? 1 : 0;
    if (is("gives too much")) result.value = 2;
    const auto size = static_cast<std::int64_t>(request.response.size());
    result.reason = std::to_string(shared(size) + count()) + (is("writes two lines") ? " bytes\nof text" : " bytes");
    if (is("copies the response")) result.reason = std::string(request.response);
  }
};

class BreakingTask final : public Task, public TrainingList, Breaker {
 public:
  explicit BreakingTask(const std::string& what) : Breaker(what) {}
  void training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const override {
    misbehave();
    fill(is("trains on held-out items") ? index % 3 : index + 3, item);
    item.demonstration = std::to_string(random.below(100, {index, 0, 0, 0}) + count() + shared(index));
  }
  std::int64_t held_out_size() const override { return 3; }
  void held_out_item(std::int64_t index, TaskItem& item) const override { fill(is("repeats an id") ? 0 : index, item); }
  std::int64_t training_size() const override { return listed_; }
  void listed_item(std::int64_t index, TaskItem& item) const override { fill(first_ + index, item); }
  void keep(const std::vector<std::int64_t>& indices) override {
    if (!is("keeps others")) first_ += indices.front();
    listed_ = static_cast<std::int64_t>(indices.size());
  }

 private:
  void fill(std::int64_t index, TaskItem& item) const {
    item.id = is("names no item") ? "" : "item " + std::to_string(index);
    item.prompt = std::to_string(index) + " + 1 = ";
    item.reference = std::to_string(index + 1);
  }
  std::int64_t first_ = 3, listed_ = 10;
};

/// Components under these names, with a comma between them, and under those that every kind is tried with.
template <class T>
void add(Registry& registry, const std::vector<Parameter>& specs, const std::string& names) {
  std::istringstream all("good,counts its calls,draws from rand,draws from LibTorch,leaks memory," + names);
  for (std::string name; std::getline(all, name, ',');) {
    registry.add(T::kKind, name, "What it says.", specs,
                 [name](const ComponentContext& context) -> std::unique_ptr<Component> {
                   if constexpr (T::kKind == ComponentKind::kModel) {
                     return std::make_unique<T>(name, *context.model_config);
                   } else if constexpr (T::kKind == ComponentKind::kLossEstimator) {
                     return std::make_unique<T>(name, *context.params);
                   } else {
                     return std::make_unique<T>(name);
                   }
                 });
  }
}

}  // namespace

DRIFT_PLUGIN("rule_breakers", "1.0.0", "Apache-2.0") {
  add<BreakingLoss>(registry, {{"width", 1.0, "of nothing", at_least(0)}},
                    "throws at an edge,divides by an edge,needs what it did not ask for,multiplies what does not fit,"
                    "has a gradient of 0,adds a constant for every response,has no finite gradient,writes,"
                    "fails without targets,overflows,loses a gradient,detaches,divides by what it sees,"
                    "depends on the order,loses digits,leaks files");
  add<BreakingMasking>(registry, {}, "gives no terms,divides by the length");
  add<BreakingRollout>(registry, {},
                       "makes too few,looks at the second token,forgets the first response,"
                       "ignores its random stream,attends to padding,reads float32,throws when cancelled,"
                       "estimates too much");
  add<BreakingModel>(registry, {},
                     "needs a width,sorts the rows,is too large for meta,mixes the rows,attends to padding,"
                     "leaves a parameter unused,loses a gradient,recomputes something else,is coarse in bfloat16,"
                     "forgets its cache,trains the weights beside the adapters,adapts other modules,"
                     "makes a wide adapter,forgets to name its adapters,forgets alpha,always adapts,"
                     "leaves nothing out,draws its dropout,refuses dropout,shares its scratch");
  add<BreakingReward>(registry, {},
                      "needs a machine,needs a file,reads no reference,fails on an empty text,gives too much,"
                      "writes two lines,copies the response,shares its scratch");
  add<BreakingTask>(registry, {},
                    "names no item,trains on held-out items,repeats an id,keeps others,shares its scratch");
}
