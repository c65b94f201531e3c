// Components that each break one rule of `drift plugin check`, under the name of what they do wrong; `good` breaks
// none.

#include <drift/answers.h>
#include <drift/cached_forward.h>
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
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace drift;

/// What a component does wrong, whatever its kind.
class Breaker {
 public:
  explicit Breaker(std::string what) : what_(std::move(what)) {}
  bool is(const char* what) const { return what_ == what; }
  /// In every call: changes that a call cannot see.
  void misbehave() const {
    if (is("leaks memory")) kept().push_back(std::make_unique<char[]>(100));
    if (is("leaks files")) [[maybe_unused]]
      const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (is("draws from rand")) std::rand();
    if (is("draws from LibTorch")) at::rand({2});
  }
  /// 0, 1, …, for what keeps count where it should not.
  std::int64_t count() const { return is("counts its calls") ? calls_++ : 0; }
  /// `value`, or another thread's.
  std::int64_t shared(std::int64_t value) const {
    if (!is("shares its scratch")) return value;
    const_cast<volatile std::int64_t&>(scratch_) = value;
    ::usleep(200);
    return const_cast<volatile std::int64_t&>(scratch_);
  }

 private:
  static std::vector<std::unique_ptr<char[]>>& kept() {
    static std::vector<std::unique_ptr<char[]>> all;
    return all;
  }
  std::string what_;
  mutable std::int64_t calls_ = 0, scratch_ = 0;
};

class BreakingLoss final : public LossEstimator, Breaker {
 public:
  BreakingLoss(const std::string& what, const Params& params) : Breaker(what), width_(params.get<double>("width")) {
    if (is("throws at an edge") && width_ == 0) throw std::out_of_range("width");
    if (is("good") && width_ == 0) throw Error("a width of 0 is not for this loss");
  }
  Coupling coupling() const override { return is("depends on the order") ? Coupling::kBatch : Coupling::kView; }
  void needs(LossNeeds& needs) const override { needs.reference = needs.entropy = is("detaches"); }
  Loss evaluate(const LossInput& in) const override {
    misbehave();
    const auto& current_FL = in.log_probs.current_FL;
    if (is("needs what it did not ask for")) return in.token_mean(current_FL - in.log_probs.reference_FL);
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
    if (is("gives no forwards")) plan.forwards = 0;
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
    const auto response_B1 = row_B1 + (is("forgets the first response") ? 0 : input.first_response);
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

class OneLayerCache final : public KeyValueCache {
 public:
  OneLayerCache(std::int64_t rows, std::int64_t positions) : state_BSH(at::zeros({rows, positions, 8})) {}
  std::int64_t rows() const override { return state_BSH.size(0); }
  std::int64_t positions() const override { return state_BSH.size(1); }
  std::int64_t bytes() const override { return static_cast<std::int64_t>(state_BSH.nbytes()); }
  std::unique_ptr<KeyValueCache> select(const at::Tensor& row_R) const override {
    auto made = std::make_unique<OneLayerCache>(row_R.size(0), positions());
    made->state_BSH = state_BSH.index_select(0, row_R);
    return made;
  }
  std::unique_ptr<KeyValueCache> branch(const at::Tensor& row_R, std::int64_t, std::int64_t) const override {
    return select(row_R);
  }
  at::Tensor state_BSH;
};

struct Adapter {
  at::Tensor a_RI, b_OR;
};

/// turn(mix(tanh(embedding + mean of the embeddings)))
class BreakingModel final : public Model, public CachedForward, public Adapters, Breaker {
 public:
  BreakingModel(const std::string& what, const ModelConfig& config) : Breaker(what), config_(config) {
    std::erase_if(config_.adapter_json, [](char c) { return c == ' ' || c == '\n'; });
    traits_.family = "breaking";
    traits_.vocabulary_size = 23;
    traits_.hidden_size = 8;
    traits_.layers = 1;
    traits_.context_length = 64;
    traits_.mask_id = 1;
    traits_.pad_id = traits_.end_id = 0;
    traits_.forbidden_output_ids = {{1, 2}};
    if (is("is too large for meta") && config.device.is_meta()) throw std::bad_alloc();
    const auto options = at::TensorOptions(config.dtype).device(config.device);
    const bool adapts = !config.adapter_json.empty();
    const bool trains = !adapts || is("trains the weights beside the adapters");
    for (at::Tensor* tensor : {&embedding_VH_, &head_VH_, &unused_VH_})
      *tensor = at::zeros({23, 8}, options).set_requires_grad(trains);
    for (std::size_t m = 0; m < modules_.size(); ++m) {
      modules_[m] = at::zeros({8, 8}, options).set_requires_grad(trains);
      if (!adapts || (!names(kModules[m]) && !is("adapts other modules"))) continue;
      adapters_[m] = {at::zeros({2, 8}, options).set_requires_grad(true),
                      at::zeros({8, is("makes a wide adapter") ? 3 : 2}, options).set_requires_grad(true)};
    }
    drops_ = config_.adapter_json.find("\"lora_dropout\":0.5") != std::string::npos;
    if (drops_ && is("refuses dropout")) throw Error("it has no dropout");
  }
  const ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return config_.device; }
  at::ScalarType dtype() const override { return config_.dtype; }
  at::Tensor forward(const ForwardInput& input) const override {
    misbehave();
    auto x_BSH = at::embedding(embedding_VH_, input.tokens_BS);
    if (is("loses a gradient")) {
      const at::NoGradGuard no_gradient;
      lost_BSH_ = x_BSH.clone();
    }
    auto mean_BSH = is("loses a gradient") ? lost_BSH_ : x_BSH;
    if (input.key_mask_BS.defined() && !is("attends to padding")) {
      const auto kept_BS1 = input.key_mask_BS.to(x_BSH.scalar_type()).unsqueeze(2);
      mean_BSH = (mean_BSH * kept_BS1).sum(1, true) / kept_BS1.sum(1, true);
    } else {
      mean_BSH = mean_BSH.mean(1, true);
    }
    if (is("mixes the rows")) mean_BSH = mean_BSH.mean(0, true);
    x_BSH = at::tanh(x_BSH + mean_BSH * static_cast<double>(1 + count()));
    if (is("shares its scratch")) x_BSH = x_BSH * static_cast<double>(shared(calls_++ % 7)) + 0;
    if (is("recomputes something else") && input.recompute_blocks) x_BSH = x_BSH * 2;
    if (is("is coarse in bfloat16") && config_.dtype == at::kBFloat16) x_BSH = x_BSH.round();
    const auto x = turned(x_BSH, input).reshape({-1, 8});
    if (is("sorts the rows") && input.rows_N.defined()) return x.index_select(0, std::get<0>(input.rows_N.sort()));
    return input.rows_N.defined() ? x.index_select(0, input.rows_N) : x;
  }
  at::Tensor lm_head_VH() const override { return head_VH_; }
  std::vector<NamedTensor> parameters() const override {
    std::vector<NamedTensor> all = {{"embedding", embedding_VH_}, {"head", head_VH_}};
    for (std::size_t m = 0; m < modules_.size(); ++m)
      all.push_back({std::string(kModules[m]) + ".weight", modules_[m]});
    if (!is("forgets to name its adapters")) {
      for (const NamedTensor& adapter : adapter_parameters()) all.push_back(adapter);
    }
    if (is("leaves a parameter unused")) all.push_back({"unused", unused_VH_});
    return all;
  }
  void initialize(const RandomStream& random) override {
    const at::NoGradGuard no_gradient;
    for (const NamedTensor& parameter : parameters()) {
      auto tensor = parameter.tensor;
      for (std::int64_t i = 0; i < tensor.numel(); ++i)
        tensor.view({-1})[i] = 2 * random.child(parameter.name).uniform({0, 0, i, 0}) - 1;
    }
  }
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override { return sequence * 8 * 32; }
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override {
    return std::make_unique<OneLayerCache>(rows, positions);
  }
  at::Tensor forward_window(const ForwardInput& input, const CacheWindow& window, KeyValueCache& cache) const override {
    auto& state_BSH = static_cast<OneLayerCache&>(cache).state_BSH;
    const auto x_BWH = at::embedding(embedding_VH_, input.tokens_BS);
    const auto place_BW = window.begin_B.unsqueeze(1) + at::arange(input.tokens_BS.size(1), at::kLong);
    if (is("forgets its cache")) state_BSH = at::zeros_like(state_BSH);
    state_BSH = state_BSH.scatter(1, place_BW.unsqueeze(2).expand({-1, -1, 8}), x_BWH);
    return turned(at::tanh(x_BWH + state_BSH.mean(1, true)), input).reshape({-1, 8});
  }
  std::vector<NamedTensor> adapter_parameters() const override {
    std::vector<NamedTensor> all;
    for (std::size_t m = 0; m < modules_.size(); ++m) {
      if (!adapters_[m].a_RI.defined()) continue;
      all.push_back({std::string(kModules[m]) + ".lora_A.weight", adapters_[m].a_RI});
      all.push_back({std::string(kModules[m]) + ".lora_B.weight", adapters_[m].b_OR});
    }
    return all;
  }

 private:
  static constexpr std::array<const char*, 2> kModules = {"mix", "turn"};

  bool names(const std::string& module) const {
    const std::string& json = config_.adapter_json;
    return json.find("\"target_modules\":[]") != std::string::npos ||
           json.find('"' + module + '"') != std::string::npos;
  }

  at::Tensor turned(at::Tensor x_BSH, const ForwardInput& input) const {
    for (std::size_t m = 0; m < modules_.size(); ++m) {
      const auto y_BSH = at::matmul(x_BSH, modules_[m].t());
      const auto& [a_RI, b_OR] = adapters_[m];
      if (!a_RI.defined()) {
        x_BSH = y_BSH;
        continue;
      }
      auto seen_BSH = x_BSH;
      if (drops_ && input.dropout_key_B.defined() && !is("leaves nothing out")) {
        // A function of the key alone, which is enough here.
        const auto from_B = is("draws its dropout") ? input.dropout_key_B + ++calls_ : input.dropout_key_B;
        seen_BSH = seen_BSH * from_B.remainder(7).view({-1, 1, 1});
      }
      auto added_BSH = at::matmul(at::matmul(seen_BSH, a_RI.t()), b_OR.t()) * (is("forgets alpha") ? 1.0 : 3.0);
      if (input.adapted_B.defined() && !is("always adapts"))
        added_BSH = added_BSH * input.adapted_B.to(x_BSH.scalar_type()).view({-1, 1, 1});
      x_BSH = y_BSH + added_BSH;
    }
    return x_BSH;
  }

  ModelConfig config_;
  std::array<at::Tensor, 2> modules_;
  std::array<Adapter, 2> adapters_;
  bool drops_ = false;
  ModelTraits traits_;
  at::Tensor embedding_VH_, head_VH_, unused_VH_;
  mutable at::Tensor lost_BSH_;
  mutable std::int64_t calls_ = 0;
};

/// Whether the response holds the reference.
class BreakingReward final : public Reward, Breaker {
 public:
  explicit BreakingReward(const std::string& what) : Breaker(what) {
    if (is("needs a machine")) throw Error("there is no such machine", "buy one");
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

template <class T>
void add(Registry& registry, const ParamSpecs& specs, const std::vector<const char*>& names) {
  for (const char* name : names) {
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
                    {"good", "throws at an edge", "divides by an edge", "needs what it did not ask for",
                     "has no finite gradient", "writes", "fails without targets", "overflows", "loses a gradient",
                     "detaches", "divides by what it sees", "depends on the order", "counts its calls",
                     "draws from rand", "draws from LibTorch", "loses digits", "leaks memory", "leaks files"});
  add<BreakingMasking>(registry, {},
                       {"good", "gives no forwards", "divides by the length", "counts its calls", "draws from rand",
                        "draws from LibTorch", "leaks memory"});
  add<BreakingRollout>(registry, {},
                       {"good", "makes too few", "looks at the second token", "counts its calls",
                        "forgets the first response", "attends to padding", "draws from rand", "draws from LibTorch",
                        "reads float32", "throws when cancelled", "estimates too much", "leaks memory"});
  add<BreakingModel>(registry, {},
                     {"good",
                      "sorts the rows",
                      "is too large for meta",
                      "counts its calls",
                      "mixes the rows",
                      "attends to padding",
                      "leaves a parameter unused",
                      "loses a gradient",
                      "recomputes something else",
                      "is coarse in bfloat16",
                      "forgets its cache",
                      "trains the weights beside the adapters",
                      "adapts other modules",
                      "makes a wide adapter",
                      "forgets to name its adapters",
                      "forgets alpha",
                      "always adapts",
                      "leaves nothing out",
                      "draws its dropout",
                      "refuses dropout",
                      "shares its scratch",
                      "draws from rand",
                      "draws from LibTorch",
                      "leaks memory"});
  add<BreakingReward>(registry, {},
                      {"good", "needs a machine", "reads no reference", "fails on an empty text", "gives too much",
                       "writes two lines", "copies the response", "counts its calls", "shares its scratch",
                       "draws from rand", "draws from LibTorch", "leaks memory"});
  add<BreakingTask>(registry, {},
                    {"good", "names no item", "trains on held-out items", "repeats an id", "counts its calls",
                     "keeps others", "shares its scratch", "draws from rand", "draws from LibTorch", "leaks memory"});
}
