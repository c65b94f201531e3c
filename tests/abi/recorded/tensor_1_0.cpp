// One component of each kind, built against core ABI 1.0 and kept as a binary: every later Drift of core ABI 1 with the
// same LibTorch must load it and train with it (tests/abi/recorded_plugin_test.cpp). "142=" is to be answered by "241".
// tests/abi/recorded/record makes the binary.
#include <drift/error.h>
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
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace {

/// View v masks and scores every `stride`-th position, beginning at v: together the views score each token once.
class Stripes final : public drift::MaskingStrategy {
 public:
  Stripes(drift::Parameters& parameters, drift::Host& host)
      : host_(host), stride_(parameters("stride", 2, "distance between masked positions", drift::between(1, 16))) {}

  void plan(const drift::MaskingInput& input, drift::MaskPlan& plan) const override {
    const drift::Responses responses(input);
    drift::PlanBuilder builder(responses.length(), responses.prompt_length());
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      const std::int64_t tokens = responses.positions_through_end(b, input.end_id);
      for (std::int64_t view = 0; view < stride_; ++view) {
        builder.begin_view(b, view);
        for (std::int64_t i = view; i < responses.length(); i += stride_) {
          builder.mask(i);
          if (i < tokens) builder.score(i);
        }
      }
    }
    plan = builder.finish(stride_);
    host_.metric("views", static_cast<double>(responses.size() * stride_));
  }

 private:
  drift::Host& host_;
  std::int64_t stride_;
};

/// PPO with a penalty for leaving the reference policy.
class ClippedLoss final : public drift::LossEstimator {
 public:
  explicit ClippedLoss(drift::Parameters& parameters)
      : clip_(parameters, 0.2, 0.2),
        kl_(parameters, 0.01, drift::KlEstimator::kK3),
        norm_(parameters, drift::LossNormKind::kToken) {}

  drift::Coupling coupling() const override { return drift::Coupling::kView; }
  void needs(drift::LossNeeds& needs) const override { needs.reference = kl_.needed(); }

  drift::Loss evaluate(const drift::LossInput& in) const override {
    const drift::LogProbs& log_probs = in.log_probs;
    const at::Tensor& target_FL = in.plan.target_FL;
    const double clamp = clip_.log_ratio_clamp();
    drift::Loss loss;
    const auto ratio_FL = drift::log_ratio(log_probs.current_FL, log_probs.old_FL, target_FL, clamp);
    auto token_FL = clip_.loss(ratio_FL, in.token_advantage(), target_FL, loss);
    token_FL = kl_.added_to(token_FL, log_probs.reference_FL, log_probs.current_FL, target_FL, clamp, loss);
    const auto weight_F1 = norm_.weight_B(in).index_select(0, in.plan.response_F).unsqueeze(1);
    loss.value = drift::sum_where(token_FL * weight_F1, target_FL).sum();
    return loss;
  }

 private:
  drift::RatioClip clip_;
  drift::KlTerm kl_;
  drift::LossNorm norm_;
};

/// Every position sees its own token, its place from the end, and the tokens of all places.
class PlaceNet final : public drift::Model {
 public:
  PlaceNet(const drift::ModelConfig& config, const drift::Parameters&) {
    const auto json = nlohmann::json::parse(config.config_json, nullptr, /*allow_exceptions=*/false);
    const auto number = [&](const char* key) {
      if (!json.is_object() || !json.contains(key) || !json[key].is_number_integer())
        throw drift::Error(std::string("config.json has no integer `") + key + "`");
      return json[key].get<std::int64_t>();
    };
    traits_.family = "PlaceNet";
    traits_.vocabulary_size = number("vocab_size");
    traits_.hidden_size = number("hidden_size");
    traits_.layers = 1;
    traits_.context_length = number("context_length");
    traits_.mask_id = number("mask_token_id");
    traits_.pad_id = number("pad_token_id");
    traits_.end_id = number("eos_token_id");
    traits_.forbidden_output_ids = {{traits_.mask_id, traits_.mask_id + 1}};
    const auto parameter = [&](at::IntArrayRef sizes) {
      return at::empty(sizes, at::TensorOptions(config.dtype).device(config.device)).set_requires_grad(true);
    };
    const std::int64_t V = traits_.vocabulary_size, H = traits_.hidden_size, S = traits_.context_length;
    embedding_VH_ = parameter({V, H});
    place_SH_ = parameter({S, H});
    mix_SHH_ = parameter({S * H, H});
    out_HH_ = parameter({H, H});
    head_VH_ = parameter({V, H});
  }

  const drift::ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return head_VH_.device(); }
  at::ScalarType dtype() const override { return head_VH_.scalar_type(); }
  at::Tensor lm_head_VH() const override { return head_VH_; }

  at::Tensor forward(const drift::ForwardInput& in) const override {
    const std::int64_t B = in.tokens_BS.size(0), S = in.tokens_BS.size(1), H = traits_.hidden_size;
    const std::int64_t free = traits_.context_length - S;
    if (free < 0) throw drift::Error("a sequence is longer than " + std::to_string(traits_.context_length) + " tokens");
    auto token_BSH = at::embedding(embedding_VH_, in.tokens_BS);
    if (in.key_mask_BS.defined()) token_BSH = token_BSH * in.key_mask_BS.unsqueeze(2);
    // Places count from the end, so that padding on the left moves none.
    auto all_BCH = at::zeros({B, traits_.context_length, H}, token_BSH.options());
    all_BCH = all_BCH.slice_scatter(token_BSH, 1, free);
    const auto text_BH = all_BCH.reshape({B, -1}).matmul(mix_SHH_);
    const auto x_BSH = token_BSH + place_SH_.narrow(0, free, S).unsqueeze(0) + text_BH.unsqueeze(1);
    const auto y_NH = at::linear(at::gelu(x_BSH), out_HH_).reshape({-1, H});
    return at::layer_norm(in.rows_N.defined() ? y_NH.index_select(0, in.rows_N) : y_NH, {H});
  }

  std::vector<drift::NamedTensor> parameters() const override {
    return {{"embedding.weight", embedding_VH_},
            {"place.weight", place_SH_},
            {"mix.weight", mix_SHH_},
            {"out.weight", out_HH_},
            {"head.weight", head_VH_}};
  }

  void initialize(const drift::RandomStream& random) override {
    for (const auto& [name, tensor] : parameters()) {
      const auto values = at::empty(tensor.sizes(), at::kFloat);
      const double bound = std::sqrt(3.0 / static_cast<double>(tensor.size(-1)));
      const auto draws = random.child(name);
      for (std::int64_t i = 0; i < values.numel(); ++i)
        values.data_ptr<float>()[i] = static_cast<float>(bound * (2 * draws.uniform({0, 0, i, 0}) - 1));
      tensor.copy_(values);
    }
  }

  std::int64_t training_bytes_per_row(std::int64_t sequence) const override {
    return 10 * (sequence + traits_.context_length) * traits_.hidden_size *
           static_cast<std::int64_t>(head_VH_.element_size());
  }

 private:
  drift::ModelTraits traits_;
  at::Tensor embedding_VH_, place_SH_, mix_SHH_, out_HH_, head_VH_;
};

/// One token a forward, from left to right.
class LeftToRight final : public drift::Rollout, public drift::RolloutCostEstimate {
 public:
  explicit LeftToRight(drift::Parameters& parameters)
      : length_(parameters("length", 8, "response positions, L", drift::at_least(1))),
        temperature_(parameters("temperature", 1.0, "of the token draw; 0 = greedy", drift::at_least(0))) {}

  std::int64_t response_length() const override { return length_; }

  void generate(const drift::RolloutInput& input, drift::Trajectories& made) const override {
    const drift::ModelTraits& traits = input.policy->traits();
    const at::Device device = input.policy->device();
    const std::int64_t B = input.prompts.tokens_BP.size(0), P = input.prompts.tokens_BP.size(1);
    made.prompts = input.prompts;
    made.tokens_BL = at::full({B, length_}, traits.mask_id, at::kLong);
    made.step_BL = at::arange(length_, at::kInt).repeat({B, 1});
    made.commit_logprob_BL = at::zeros({B, length_}, at::kFloat);
    made.forwards_B = at::full({B}, length_, at::kLong);

    drift::SamplingOptions options;
    options.temperature = temperature_;
    options.forbidden_ids = traits.forbidden_output_ids;
    const auto response_B = at::arange(B, at::kLong);
    for (std::int64_t i = 0; i < length_ && !(input.cancelled && input.cancelled->load()); ++i) {
      drift::ForwardInput state;
      state.tokens_BS = at::cat({input.prompts.tokens_BP, made.tokens_BL}, 1).to(device);
      state.key_mask_BS = at::cat({input.prompts.mask_BP, at::ones({B, length_}, at::kBool)}, 1).to(device);
      state.rows_N = (response_B * (P + length_) + P + i).to(device);
      const auto uniform_B = drift::uniform(input.random, input.step, response_B + input.first_response,
                                            at::full({1}, i, at::kLong), at::zeros({1}, at::kLong));
      const auto drawn = input.policy->sample(state, {}, response_B, uniform_B, options);
      made.tokens_BL.select(1, i).copy_(drawn.token_M);
      made.commit_logprob_BL.select(1, i).copy_(drawn.logprob_M);
    }
    made.valid_BL = made.tokens_BL.ne(traits.pad_id).logical_and(made.tokens_BL.ne(traits.mask_id));
  }

  void estimate_cost(const drift::Model& model, std::int64_t prompt_length, std::int64_t responses, bool,
                     drift::RolloutCost& cost) const override {
    cost.least_forwards = cost.most_forwards = length_;
    cost.bytes =
        responses * (model.training_bytes_per_row(prompt_length + length_) + model.traits().vocabulary_size * 3 * 4);
  }

 private:
  std::int64_t length_;
  double temperature_;
};

constexpr std::int64_t kDigits = 3, kHeldOut = 40;

std::string digits(std::int64_t number) {
  std::string text(kDigits, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number /= 10)
    *digit = static_cast<char>('0' + number % 10);
  return text;
}

/// Numbers below kHeldOut * 5 that end with 0 or 5 are held out.
class Reverse final : public drift::Task {
 public:
  explicit Reverse(const drift::Parameters&) {}

  void training_item(std::int64_t index, const drift::RandomStream& random, drift::TaskItem& item) const override {
    drift::RandomPoint point{.step = index & 0xFFFFFFFF, .response = index >> 32};
    std::int64_t number = 0;
    do {
      number = random.below(1000, point);
      ++point.draw;
    } while (number % 5 == 0 && number < 5 * kHeldOut);
    fill(number, item);
  }
  std::int64_t held_out_size() const override { return kHeldOut; }
  void held_out_item(std::int64_t index, drift::TaskItem& item) const override { fill(5 * index, item); }

 private:
  static void fill(std::int64_t number, drift::TaskItem& item) {
    item.id = digits(number);
    item.prompt = "<|startoftext|>" + item.id + "=<|sep|>";
    item.reference = {item.id.rbegin(), item.id.rend()};
    item.demonstration = item.reference;
  }
};

/// The share of digits that are right.
class SharedDigits final : public drift::Reward {
 public:
  explicit SharedDigits(drift::Parameters&) {}

  void score(const drift::RewardRequest& request, drift::RewardResult& result) const override {
    const std::string& wanted = request.item->reference;
    std::size_t right = 0;
    for (std::size_t i = 0; i < std::min(wanted.size(), request.response.size()); ++i)
      right += wanted[i] == request.response[i] ? 1 : 0;
    result.solved = request.response == wanted;
    result.value = wanted.empty() ? 0 : static_cast<double>(right) / static_cast<double>(wanted.size());
    result.status = result.solved ? drift::RewardStatus::kOk : drift::RewardStatus::kWrong;
    result.reason = std::to_string(right) + " digits are right";
  }
};

}  // namespace

DRIFT_PLUGIN("recorded", "1.0.0", "Apache-2.0") {
  registry.add<Stripes>("recorded", "Every second position masked and scored.");
  registry.add<ClippedLoss>("recorded", "PPO with a clipped ratio.");
  registry.add<PlaceNet>("recorded", "One hidden layer over the tokens of all places.");
  registry.add<LeftToRight>("recorded", "One token a forward, from left to right.");
  registry.add<Reverse>("recorded", "Three digits, to be written in reverse.");
  registry.add<SharedDigits>("recorded", "The share of characters that equal the reference's.");
  registry.add_algorithm({.name = "recorded",
                          .doc = "PPO on stripes of a response.",
                          .paper = "A third party's paper",
                          .masking = "recorded",
                          .loss = "recorded",
                          .presets = {{"paper", "presets/paper.toml",
                                       "description = \"as in the paper\"\n[train]\nprompts_per_step = 8\n"
                                       "group_size = 8\nlearning_rate = 3e-4\n"},
                                      {"wide", "presets/wide.toml",
                                       "description = \"four views of a response\"\nextends = \"paper\"\n"
                                       "[algorithm.masking]\nstride = 4\n"}},
                          .plugin = {}});
}
