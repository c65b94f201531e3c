// A component of each kind that works, and does wrong what its parameter `fault` names: what anyone can do by mistake.

#include <drift/error.h>
#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace drift;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int deeper(const volatile int* above) {
  const volatile int here[1024] = {*above};
  return here[0] == 0 ? 0 : deeper(here) + here[1];
}

/// What code of any kind can do wrong.
void misbehave(const std::string& fault) {
  if (fault == "error") throw Error("the disk is slow", "buy another");
  if (fault == "standard") throw std::out_of_range("index 7");
  if (fault == "number") throw 7;
  if (fault == "no text") throw std::runtime_error("");
  if (fault == "libtorch") at::mm(at::ones({2, 3}), at::ones({2, 3}));
  if (fault == "segv") std::raise(SIGSEGV);
  if (fault == "wild") *reinterpret_cast<volatile int*>(std::uintptr_t{8}) = 1;
  if (fault == "abort") std::abort();
  if (fault == "divide") std::raise(SIGFPE);
  if (fault == "overflow") {
    const volatile int top = 1;
    deeper(&top);
  }
  if (fault == "thread") std::thread([] { throw std::runtime_error("in a thread of its own"); }).join();
  if (fault == "exit") std::exit(0);
  // Until somebody makes the file `enough`.
  struct stat ignored {};
  while (fault == "hang" && ::stat("enough", &ignored) != 0) ::usleep(1000);
}

class Faulty {
 public:
  explicit Faulty(Parameters& parameters) : fault_(parameters("fault", "none", "what goes wrong")) {
    if (fault_ == "constructor") throw 7;
    // Of several ranks perhaps one only.
    const char *const faulty = std::getenv("DRIFT_FAULTY_RANK"), *const rank = std::getenv("OMPI_COMM_WORLD_RANK");
    if (faulty != nullptr && rank != nullptr && std::string(faulty) != rank) fault_ = "none";
  }
  bool is(const char* fault) const { return fault_ == fault; }
  void misbehave() const { ::misbehave(fault_); }

 private:
  std::string fault_;
};

class FaultyTask final : public Task, Faulty {
 public:
  explicit FaultyTask(Parameters& parameters) : Faulty(parameters) {}
  void training_item(std::int64_t index, const RandomStream&, TaskItem& item) const override {
    misbehave();
    item.id = is("no id") ? "" : std::to_string(index);
    item.prompt = is("no prompt") ? "" : is("bytes") ? "\xff" : "12";
    item.demonstration = "3412";
  }
  std::int64_t held_out_size() const override { return is("negative size") ? -1 : 1; }
  void held_out_item(std::int64_t, TaskItem& item) const override {
    item.id = "held out";
    item.prompt = "34";
  }
};

class FaultyReward final : public Reward, Faulty {
 public:
  explicit FaultyReward(Parameters& parameters) : Faulty(parameters) {}
  void score(const RewardRequest& request, RewardResult& result) const override {
    misbehave();
    int sum = 0;
    for (const char byte : request.response) sum = (sum * 31 + static_cast<unsigned char>(byte)) % 997;
    result.value = is("equal") ? 0 : sum / 997.0;
    result.solved = !is("none_solved") && !is("equal");
    result.reason = is("bytes") ? "cut\xe2\x80" : "of its bytes";
    if (is("solved_once")) result.solved = calls_++ == 0;
    if (is("nan")) result.value = kNan;
    if (is("large")) result.value = 2;
    if (is("status")) result.status = static_cast<RewardStatus>(77);
  }

 private:
  mutable std::atomic<int> calls_ = 0;
};

/// Four random digits; the model is asked once.
class FaultyRollout final : public Rollout, Faulty {
 public:
  explicit FaultyRollout(Parameters& parameters) : Faulty(parameters) {}
  std::int64_t response_length() const override { return is("length") ? 0 : kLength; }
  void generate(const RolloutInput& input, Trajectories& made) const override {
    misbehave();
    const std::int64_t responses = input.prompts.tokens_BP.size(0);
    ForwardInput forward;
    forward.tokens_BS = input.prompts.tokens_BP;
    forward.rows_N = at::ones({1}, at::kLong);
    input.policy->logits(forward, {});
    made.prompts = input.prompts;
    made.tokens_BL = at::empty({responses, kLength}, at::kLong);
    for (std::int64_t b = 0; b < responses; ++b) {
      for (std::int64_t i = 0; i < kLength; ++i)
        made.tokens_BL[b][i] = 6 + input.random.below(8, {input.step, input.first_response + b, i, 0});
    }
    made.valid_BL = at::ones({responses, kLength}, at::kBool);
    made.step_BL = at::zeros({responses, kLength}, at::kInt);
    made.commit_logprob_BL = at::full({responses, kLength}, -1, at::kFloat);
    made.forwards_B = at::ones({responses}, at::kLong);
    spoil(input, made);
  }

 private:
  void spoil(const RolloutInput& input, Trajectories& made) const {
    if (is("nothing")) made = {};
    if (is("one row")) made.tokens_BL = made.tokens_BL.narrow(0, 0, 1);
    if (is("twice as long")) made.tokens_BL = at::cat({made.tokens_BL, made.tokens_BL}, 1);
    if (is("token type")) made.tokens_BL = made.tokens_BL.to(at::kInt);
    if (is("large id")) made.tokens_BL[1][2] = 1'000'000;
    if (is("mask token")) made.tokens_BL[0][3] = input.policy->traits().mask_id;
    if (is("valid")) made.valid_BL[0][0] = false;
    if (is("step")) made.step_BL[0][1] = 5;
    if (is("logprob")) made.commit_logprob_BL[0][1] = kNan;
    if (is("positive")) made.commit_logprob_BL[0][1] = 0.5;
    if (is("prompts")) made.prompts.tokens_BP = made.prompts.tokens_BP + 1;
    if (is("writes")) input.prompts.tokens_BP.add_(1);
    if (is("strided")) made.tokens_BL = made.tokens_BL.t().contiguous().t();
  }
  static constexpr std::int64_t kLength = 4;
};

class FaultyMasking final : public MaskingStrategy, Faulty {
 public:
  explicit FaultyMasking(Parameters& parameters) : Faulty(parameters) {}
  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    misbehave();
    const Responses responses(input);
    PlanBuilder builder(responses.length(), responses.prompt_length());
    if (is("early")) builder.mask(0);
    if (is("no response")) responses[responses.size()];
    if (is("random")) input.random.below(0, {});
    if (is("step")) input.random.uniform({-1, 0, 0, 0});
    for (std::int64_t b = 0; b < responses.size() && !is("no_views"); ++b) {
      builder.begin_view(b, 0);
      for (std::int64_t i = 0; i < responses.length(); ++i) {
        builder.mask(i);
        if (!is("unscored")) builder.score(i);
      }
      if (is("position")) builder.score(responses.length());
      if (is("weigh")) builder.weigh(kNan);
    }
    plan = builder.finish(1);
    if (is("weight")) plan.weight_F = at::full_like(plan.response_F, kNan, at::kFloat);
    if (is("mask type")) plan.masked_FL = plan.masked_FL.to(at::kFloat);
    if (is("sample")) plan.response_F = plan.response_F + 1;
    if (is("writes")) input.trajectories->tokens_BL.fill_(7);
    if (is("pokes")) const_cast<std::int64_t*>(responses[0].tokens)[0] = 7;
  }
};

class FaultyLoss final : public LossEstimator, Faulty {
 public:
  explicit FaultyLoss(Parameters& parameters) : Faulty(parameters) {}
  Coupling coupling() const override { return is("coupling") ? static_cast<Coupling>(9) : Coupling::kView; }
  Loss evaluate(const LossInput& in) const override {
    misbehave();
    if (is("advantage")) in.advantage_B.neg_();
    if (is("old")) in.log_probs.old_FL.zero_();
    if (is("pokes")) in.advantage_B.data_ptr<float>()[0] = 5;
    const auto& current_FL = in.log_probs.current_FL;
    if (is("target")) in.plan.target_FL.fill_(false);
    if (is("detached")) return in.token_mean(-in.token_advantage() * (current_FL.detach() - 1) + 1);
    if (is("zero")) return in.token_mean(0 * current_FL);
    if (is("elsewhere")) return in.token_mean(at::ones_like(current_FL).set_requires_grad(true));
    if (is("gradient")) return in.token_mean((current_FL - current_FL).sqrt());
    Loss loss = in.token_mean(-in.token_advantage() * current_FL);
    loss.add_ratio(is("metric name") ? "../x" : "reward", at::ones({}), at::ones({}));
    if (is("nothing")) loss.value = at::Tensor();
    if (is("vector")) loss.value = loss.value.expand({2});
    if (is("integer")) loss.value = at::ones({}, at::kLong);
    if (is("nan")) loss.value = loss.value * kNan;
    if (is("no metric")) loss.metrics.push_back({"mine", {}, {}});
    return loss;
  }
};

class FaultyModel final : public Model, Faulty {
 public:
  FaultyModel(const ModelConfig& config, const Parameters& params, Parameters&& parameters)
      : Faulty(parameters), config_(config) {
    (void)params;
    traits_.family = "faulty";
    traits_.vocabulary_size = 23;
    traits_.hidden_size = is("hidden size") ? 9 : 8;
    traits_.layers = 1;
    traits_.context_length = 64;
    traits_.mask_id = is("mask id") ? 23 : 1;
    traits_.pad_id = traits_.end_id = 0;
    if (!is("allows mask")) traits_.forbidden_output_ids = {{1, is("forbids all") ? 23 : 2}};
    if (is("forbids all")) traits_.forbidden_output_ids.emplace_back(0, 1);
    const auto options = at::TensorOptions(is("double") ? at::kDouble : config.dtype).device(config.device);
    embedding_VH_ = at::zeros({23, 8}, options).set_requires_grad(!is("frozen"));
    head_VH_ = at::zeros({23, 8}, options).set_requires_grad(!is("frozen"));
    if (is("computed")) head_VH_ = head_VH_ * 1;
  }
  FaultyModel(const ModelConfig& config, const Parameters& params) : FaultyModel(config, params, Parameters(params)) {}

  const ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return config_.device; }
  at::ScalarType dtype() const override { return embedding_VH_.scalar_type(); }
  at::Tensor forward(const ForwardInput& input) const override {
    misbehave();
    if (is("writes")) input.tokens_BS.fill_(2);
    auto x = at::tanh(at::embedding(embedding_VH_, input.tokens_BS)).reshape({-1, 8});
    if (is("nan")) x = x * kNan;
    if (is("states type")) x = x.to(at::kDouble);
    return input.rows_N.defined() && !is("all rows") ? x.index_select(0, input.rows_N) : x;
  }
  at::Tensor lm_head_VH() const override { return head_VH_; }
  std::vector<NamedTensor> parameters() const override {
    if (is("copies")) return {{"embedding", embedding_VH_.clone().detach()}, {"head", head_VH_}};
    return {{"embedding", embedding_VH_}, {is("names") ? "embedding" : "head", head_VH_}};
  }
  void initialize(const RandomStream& random) override {
    const at::NoGradGuard no_gradient;
    for (const NamedTensor& parameter : parameters()) {
      auto tensor = parameter.tensor;
      for (std::int64_t i = 0; i < tensor.numel(); ++i)
        tensor.view({-1})[i] = 2 * random.child(parameter.name).uniform({0, 0, i, 0}) - 1;
      if (is("half filled")) return;
    }
  }
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override { return sequence * 8 * 32; }

 private:
  ModelConfig config_;
  ModelTraits traits_;
  at::Tensor embedding_VH_, head_VH_;
};

}  // namespace

DRIFT_PLUGIN("faulty", "1.0.0", "Apache-2.0") {
  if (const char* fault = std::getenv("DRIFT_FAULTY_REGISTRATION")) misbehave(fault);
  registry.add<FaultyTask>("faulty", "Two digits, to be followed by four.");
  registry.add<FaultyReward>("faulty", "Differs between any two texts.");
  registry.add<FaultyRollout>("faulty", "Four random tokens.");
  registry.add<FaultyMasking>("faulty", "Everything masked.");
  registry.add<FaultyLoss>("faulty", "REINFORCE.");
  registry.add<FaultyModel>("faulty", "An embedding and a head.", {{"fault", "none", "what goes wrong"}});
}
