#include "tests/support/device_comparisons.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include "tests/support/alone.h"
#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/tiny_model.h"
#include "tests/support/updates.h"

#include <core/boundary/model_policy.h>
#include <core/interface/sampling_operators.h>
#include <core/kernels/linear_log_softmax.h>
#include <core/update/policy_gradient.h>
#include <core/update/update_batch.h>

#include <drift/cached_forward.h>
#include <drift/rollout.h>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift::test {
namespace {

constexpr std::int64_t kResponses = 8, kGroup = 4, kPrompt = 5, kLength = 8, kTokens = 200, kPaddedTokens = 130;

/// The checkpoints that cases of log-probabilities use, each once.
std::vector<GoldenBackboneCase> backbones() {
  std::vector<GoldenBackboneCase> found;
  for (const GoldenBackboneCase& golden : golden_backbone_cases("logp")) {
    const auto same = [&](const GoldenBackboneCase& other) { return other.family == golden.family; };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back(golden);
  }
  return found;
}

double distance(const at::Tensor& got, const at::Tensor& want) {
  const auto wide = want.to(at::kDouble);
  return ((got.cpu().to(at::kDouble) - wide).norm() / (wide.norm() + 1e-12)).item<double>();
}

/// Squares, so that positions within a unit of the coupling depend on each other.
class SquaredLoss final : public LossEstimator {
 public:
  SquaredLoss(Coupling coupling, bool with_entropy) : coupling_(coupling), with_entropy_(with_entropy) {}
  Coupling coupling() const override { return coupling_; }
  void needs(LossNeeds& needs) const override { needs.entropy = with_entropy_; }

  Loss evaluate(const LossInput& input) const override {
    auto term_FL = input.advantage_F1() * (input.log_probs.current_FL - input.log_probs.old_FL).exp();
    if (with_entropy_) term_FL = term_FL + 0.3 * input.log_probs.entropy_FL;
    const auto sum_F = at::where(input.plan.target_FL, term_FL, at::zeros({}, term_FL.options())).sum(1);
    Loss loss;
    if (coupling_ == Coupling::kView) {
      loss.value = sum_F.square().sum();
    } else if (coupling_ == Coupling::kResponse) {
      const auto sum_B = at::zeros({input.totals.responses}, sum_F.options());
      loss.value = sum_B.index_add(0, input.plan.response_F, sum_F).square().sum();
    } else {
      loss.value = sum_F.sum().square();
    }
    loss.add_mean("term", term_FL, input.plan.target_FL);
    return loss;
  }

 private:
  Coupling coupling_;
  bool with_entropy_;
};

/// What one update of one backbone is computed from: the same on every device.
struct Update {
  explicit Update(const Model& model)
      : trajectories(make_trajectories(kResponses, kGroup, kPrompt, kLength, kTokens, 2)),
        plan(views_of_steps(trajectories, 3)) {
    trajectories.prompts.mask_BP = trajectories.prompts.mask_BP.clone();
    trajectories.prompts.mask_BP.narrow(0, 0, kGroup).narrow(1, 0, 2).fill_(false);  // two groups, one padded
    batch = update_batch(trajectories, at::arange(kResponses, at::kDouble) - 3.5, plan, kGroup);
    batch.old_policy = score_views(alone, model, trajectories, plan, all_views(plan), false);
  }
  Update(const Update&) = delete;

  Trajectories trajectories;
  MaskPlan plan;
  UpdateBatch batch;
};

void expect_same(const PolicyGradient& got, const PolicyGradient& want, const Model& model) {
  EXPECT_NEAR(got.loss, want.loss, 1e-4 * std::abs(want.loss));
  EXPECT_NEAR(got.metrics.at("term").sum, want.metrics.at("term").sum, 1e-3 * std::abs(want.metrics.at("term").sum));
  EXPECT_EQ(got.metrics.at("term").count, want.metrics.at("term").count);
  EXPECT_TRUE(at::allclose(got.current_FL.cpu(), want.current_FL, 1e-4, 1e-4));
  ASSERT_EQ(got.gradients.size(), want.gradients.size());
  for (std::size_t p = 0; p < want.gradients.size(); ++p) {
    EXPECT_LT(distance(got.gradients[p], want.gradients[p]), 1e-3) << model.parameters()[p].name;
    EXPECT_GT(want.gradients[p].norm().item<double>(), 1e-7) << model.parameters()[p].name << ": nothing to compare";
  }
}

/// Two devices round in bfloat16 at different places. Each may be as far from the float32 gradient as the other.
void expect_as_near(const PolicyGradient& got, const PolicyGradient& other, const PolicyGradient& exact,
                    const Model& model) {
  EXPECT_EQ(got.current_FL.scalar_type(), at::kFloat);
  EXPECT_LT(distance(got.current_FL, exact.current_FL), 2 * distance(other.current_FL, exact.current_FL) + 1e-3);
  for (std::size_t p = 0; p < exact.gradients.size(); ++p) {
    EXPECT_EQ(got.gradients[p].scalar_type(), at::kFloat);
    EXPECT_LT(distance(got.gradients[p], exact.gradients[p]),
              2 * distance(other.gradients[p], exact.gradients[p]) + 5e-3)
        << model.parameters()[p].name;
  }
}

struct HeadResult {
  kernels::TokenScores scores;
  at::Tensor hidden_NH, weight_VH;
};

HeadResult run_head(const at::Tensor& hidden_NH, const at::Tensor& weight_VH, const kernels::TokenTargets& targets,
                    const at::Tensor& logprob_gradient_E, const at::Tensor& entropy_gradient_E, at::Device device) {
  kernels::LinearLogSoftmax head(weight_VH.to(device));
  const kernels::TokenTargets there{targets.row_E.to(device), targets.token_E.to(device)};
  const auto scores = head.forward(hidden_NH.to(device), there, /*want_entropy=*/true);
  const auto weight_gradient = at::full(weight_VH.sizes(), std::nan(""), scores.logprob_E.options());
  const auto hidden_gradient =
      head.backward(logprob_gradient_E.to(device), entropy_gradient_E.to(device), weight_gradient,
                    /*overwrite=*/true);
  const auto alone = head.score(hidden_NH.to(device), there, /*want_entropy=*/true);
  EXPECT_LT(distance(alone.logprob_E, scores.logprob_E.cpu()), 1e-2);
  EXPECT_LT(distance(alone.entropy_E, scores.entropy_E.cpu()), 1e-2);
  return {scores, hidden_gradient, weight_gradient};
}

struct RolloutSettings {
  const char* name;
  std::map<std::string, Parameter::Value> values;
};

std::string describe(const RolloutSettings& settings) {
  std::string text = settings.name;
  for (const auto& [key, value] : settings.values) text += " " + key + "=" + to_toml(value);
  return text;
}

std::vector<RolloutSettings> rollouts() {
  std::vector<RolloutSettings> all;
  const std::vector<std::pair<const char*, const char*>> kinds{
      {"low_confidence", "none"}, {"margin", "prefix"}, {"negative_entropy", "dual"}, {"random", "none"}};
  for (const auto& [remasking, cache] : kinds) {
    all.push_back(
        {"block", {{"block", std::int64_t{8}}, {"threshold", 0.3}, {"remasking", remasking}, {"cache", cache}}});
  }
  for (const auto* order : {"maskgit_plus", "topk_margin", "entropy", "origin"}) {
    all.push_back({"diffusion", {{"steps", std::int64_t{6}}, {"order", order}, {"top_p", 0.9}, {"guidance", 0.5}}});
  }
  for (RolloutSettings& settings : all) settings.values.insert({{"length", std::int64_t{16}}, {"temperature", 0.8}});
  return all;
}

Trajectories generate(const Model& model, const RolloutSettings& settings) {
  const auto rollout = create<Rollout>(settings.name, settings.name, settings.values);
  RolloutInput input;
  const ModelPolicy policy(model);
  input.policy = &policy;
  input.prompts = make_trajectories(16, kGroup, kPrompt, kLength, kTokens, 0).prompts;
  input.random = RandomStream(11, "rollout");
  input.step = 3;
  Trajectories made;
  const at::NoGradGuard no_gradient;
  rollout->generate(input, made);
  return made;
}

}  // namespace

void compare_policy_gradients(at::Device device) {
  for (const GoldenBackboneCase& golden : backbones()) {
    const auto open = [&](at::ScalarType type, at::Device where) {
      return open_checkpoint(golden.family, golden.checkpoint, type, where);
    };
    const auto exact = open(at::kFloat, at::kCPU), there = open(at::kFloat, device);
    const auto narrow = open(at::kBFloat16, at::kCPU), narrow_there = open(at::kBFloat16, device);
    const Update update(*exact);
    for (const auto coupling : {Coupling::kView, Coupling::kResponse, Coupling::kBatch}) {
      for (const bool with_entropy : {false, true}) {
        const SquaredLoss loss(coupling, with_entropy);
        const auto computed = [&](const Model& model, std::int64_t budget) {
          return policy_gradient(alone, model, loss, update.batch, budget);
        };
        for (const std::int64_t budget : {std::int64_t{1} << 30, std::int64_t{1}}) {
          SCOPED_TRACE(golden.family + ", coupling " + std::to_string(static_cast<int>(coupling)) +
                       (with_entropy ? ", entropy" : "") + (budget == 1 ? ", in parts" : ""));
          const auto want = computed(*exact, budget);
          expect_same(computed(*there, budget), want, *exact);
          expect_as_near(computed(*narrow_there, budget), computed(*narrow, budget), want, *exact);
        }
      }
    }
  }
}

void compare_heads(at::Device device) {
  const kernels::TokenTargets targets{at::tensor({0L, 2L, 2L, 2L, 8L, 8L}, at::kLong),
                                      at::tensor({7L, 7L, 4098L, 7L, 0L, 4098L}, at::kLong)};
  const auto gradient_E = at::randn({6}), entropy_gradient_E = at::randn({6});
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    SCOPED_TRACE(type == at::kFloat ? "float32" : "bfloat16");
    const auto hidden = at::randn({9, 16}).to(type), weight = at::randn({4099, 16}).to(type);
    const auto want = run_head(hidden, weight, targets, gradient_E, entropy_gradient_E, at::kCPU);
    const auto got = run_head(hidden, weight, targets, gradient_E, entropy_gradient_E, device);
    // Logits of up to 16 are rounded to 1/16 in bfloat16, and sums of another order may fall on the other side.
    const double tolerance = type == at::kFloat ? 1e-4 : 1.0 / 8;
    EXPECT_EQ(got.scores.logprob_E.scalar_type(), at::kFloat);
    EXPECT_TRUE(at::allclose(got.scores.logprob_E.cpu(), want.scores.logprob_E, tolerance, tolerance));
    EXPECT_TRUE(at::allclose(got.scores.entropy_E.cpu(), want.scores.entropy_E, tolerance, tolerance));
    const double largest = type == at::kFloat ? 1e-4 : 1.0 / 32;
    EXPECT_LT(distance(got.hidden_NH, want.hidden_NH), largest);
    EXPECT_LT(distance(got.weight_VH, want.weight_VH), largest);
  }
}

/// All draws of these rows, here and on the device.
void compare_draws(const at::Tensor& logits, const SamplingOptions& options, at::Device device) {
  constexpr std::int64_t kDraws = 2000;
  const auto row_M = at::arange(kDraws, at::kLong).remainder(logits.size(0));
  const auto want = sample_tokens(logits, row_M, uniforms(kDraws), options);
  const auto got = sample_with_operators(logits.to(device), row_M, uniforms(kDraws), options);
  const auto token_M = got.token_M.cpu();
  // A draw on the edge between two ids may fall the other way.
  const auto same_M = token_M == want.token_M;
  EXPECT_GE(same_M.sum().item<std::int64_t>(), kDraws - (options.temperature == 0 ? 0 : 2));
  const auto near = [&](const at::Tensor& a, const at::Tensor& b) {
    return at::allclose(a.cpu().masked_select(same_M), b.masked_select(same_M), 1e-4, 1e-5);
  };
  EXPECT_TRUE(near(got.logprob_M, want.logprob_M));
  EXPECT_TRUE(near(got.confidence_M, want.confidence_M));
}

void compare_sampling(at::Device device) {
  struct Cut {
    std::int64_t top_k;
    double top_p;
    ConfidenceOf confidence_of;
  };
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto logits = (2 * at::randn({6, 300})).to(type);
    for (const double temperature : {0.0, 0.7, 1.0}) {
      for (const auto confidence : {Confidence::kProbability, Confidence::kMargin, Confidence::kNegativeEntropy}) {
        for (const auto& [top_k, top_p, confidence_of] :
             {Cut{0, 0, ConfidenceOf::kLogits}, Cut{0, 1, ConfidenceOf::kDraw}, Cut{0, 0.83, ConfidenceOf::kDraw},
              Cut{20, 0, ConfidenceOf::kLogits}, Cut{20, 0.7, ConfidenceOf::kDraw}}) {
          SCOPED_TRACE("temperature " + std::to_string(temperature) + ", confidence " +
                       std::to_string(static_cast<int>(confidence)) + ", top_k " + std::to_string(top_k) + ", top_p " +
                       std::to_string(top_p));
          SamplingOptions options{temperature, confidence, {{0, 2}, {100, 120}, {299, 300}}};
          options.top_k = top_k;
          options.top_p = top_p;
          options.confidence_of = confidence_of;
          compare_draws(logits, options, device);
        }
      }
    }
  }
}

void compare_rollouts(at::Device device) {
  for (const GoldenBackboneCase& golden : backbones()) {
    const auto here = open_checkpoint(golden.family, golden.checkpoint);
    const auto there = open_checkpoint(golden.family, golden.checkpoint, at::kFloat, device);
    for (const RolloutSettings& settings : rollouts()) {
      SCOPED_TRACE(golden.family + ", " + describe(settings));
      const auto want = generate(*here, settings), got = generate(*there, settings);
      std::int64_t same = 0;
      for (std::int64_t b = 0; b < 16; ++b) {
        if (!at::equal(got.tokens_BL[b], want.tokens_BL[b]) || !at::equal(got.step_BL[b], want.step_BL[b])) continue;
        ++same;
        EXPECT_TRUE(at::allclose(got.commit_logprob_BL[b], want.commit_logprob_BL[b], 1e-4, 1e-4)) << b;
      }
      // A draw or an order on the edge may fall the other way, and what follows it then differs.
      EXPECT_GE(same, 15);
      EXPECT_FALSE(at::equal(want.tokens_BL[0], want.tokens_BL[1])) << "no randomness to compare";
    }
  }
}

namespace {

/// Six rows, of which runs have the same padding.
struct PaddedRows {
  static constexpr std::int64_t kRows = 6, kPositions = 20;

  ForwardInput on(at::Device device) const {
    ForwardInput input;
    input.tokens_BS = tokens_BS.to(device);
    input.key_mask_BS = key_mask_BS.to(device);
    input.padding_B = padding_B;
    return input;
  }

  /// For a model with blocks: the second half of a row is a noisy copy of its first half.
  ForwardInput copies_on(at::Device device) const {
    auto input = on(device);
    input.key_mask_BS = input.padding_B = at::Tensor();
    const auto place_BS = at::arange(kPositions, at::kLong).expand({kRows, kPositions});
    input.positions_BS = place_BS.remainder(kPositions / 2).to(device);
    input.block_BS = place_BS.remainder(kPositions / 2).floor_divide(4);
    input.copy_BS = place_BS.floor_divide(kPositions / 2);
    input.text_BS = key_mask_BS.to(at::kLong) - 1;
    return input;
  }

  const at::Tensor tokens_BS =
      (at::arange(kRows * kPositions, at::kLong) * 37 + 11).remainder(kPaddedTokens).view({kRows, kPositions});
  const at::Tensor padding_B = at::tensor({4, 4, 0, 7, 7, 7}, at::kLong);
  const at::Tensor key_mask_BS = at::arange(kPositions, at::kLong) >= padding_B.unsqueeze(1);
};

struct PaddedResult {
  at::Tensor hidden_NH;
  std::vector<at::Tensor> gradients;
};

/// Of the rows that are not padding.
PaddedResult run_padded(const Model& model, const PaddedRows& rows, bool recompute, bool copies) {
  auto input = copies ? rows.copies_on(model.device()) : rows.on(model.device());
  input.recompute_blocks = recompute;
  const auto all_NH = model.forward(input);
  EXPECT_TRUE(at::isfinite(all_NH).all().item<bool>());
  const auto hidden_NH = all_NH.index_select(0, rows.key_mask_BS.view({-1}).nonzero().squeeze(1).to(model.device()));
  const auto slope_NH = at::arange(hidden_NH.numel(), at::kFloat).sin().view_as(hidden_NH);
  std::vector<at::Tensor> parameters;
  for (const auto& parameter : model.parameters()) parameters.push_back(parameter.tensor);
  auto gradients = torch::autograd::grad({hidden_NH}, parameters, {slope_NH.to(model.device())}, std::nullopt, false,
                                         /*allow_unused=*/true);
  return {hidden_NH.detach(), gradients};
}

/// The states of a window of 6 in rows whose keys the whole rows gave before.
at::Tensor run_window(const Model& model, const PaddedRows& rows, const at::Tensor& begin_B,
                      const at::Tensor& attended_B) {
  const auto& cached = *capability<CachedForward>(model);
  const auto cache = cached.make_cache(PaddedRows::kRows, PaddedRows::kPositions);
  CacheWindow window;
  window.key_mask_BS = rows.key_mask_BS.to(model.device());
  window.begin_B = at::zeros({PaddedRows::kRows}, at::kLong);
  auto input = rows.on(model.device());
  input.key_mask_BS = at::Tensor();
  cached.forward_window(input, window, *cache);
  window.begin_B = begin_B;
  window.attended_B = attended_B;
  input.tokens_BS = rows.tokens_BS.narrow(1, 0, 6).to(model.device());
  return cached.forward_window(input, window, *cache).cpu();
}

}  // namespace

void compare_padded_rows(at::Device device) {
  const PaddedRows rows;
  auto all = backbones();
  all.push_back({.family = "sdar", .checkpoint = source_dir() / "tests/golden/block/ckpt/sdar_a"});
  for (const GoldenBackboneCase& golden : all) {
    SCOPED_TRACE(golden.family);
    const auto here = open_checkpoint(golden.family, golden.checkpoint);
    const auto there = open_checkpoint(golden.family, golden.checkpoint, at::kFloat, device);
    std::vector<std::pair<bool, bool>> forwards = {{false, false}, {true, false}};
    if (here->traits().block_size > 0) forwards.push_back({false, true});
    for (const auto& [recompute, copies] : forwards) {
      const auto want = run_padded(*here, rows, recompute, copies), got = run_padded(*there, rows, recompute, copies);
      EXPECT_TRUE(at::allclose(got.hidden_NH.cpu(), want.hidden_NH, 1e-4, 1e-4));
      for (std::size_t p = 0; p < want.gradients.size(); ++p) {
        if (!want.gradients[p].defined()) continue;
        EXPECT_LT(distance(got.gradients[p].to_dense(), want.gradients[p].to_dense()), 1e-4) << p;
      }
    }
    const auto same = [](std::int64_t place) { return at::full({PaddedRows::kRows}, place, at::kLong); };
    const auto own_begin_B = at::tensor({8, 10, 12, 14, 14, 9}, at::kLong),
               own_end_B = at::tensor({20, 16, 18, 20, 20, 15}, at::kLong);
    for (const auto& [begin_B, attended_B] :
         {std::pair{same(12), at::Tensor()}, {same(10), same(18)}, {same(8), own_end_B}, {own_begin_B, own_end_B}}) {
      const auto want = run_window(*here, rows, begin_B, attended_B);
      EXPECT_TRUE(at::allclose(run_window(*there, rows, begin_B, attended_B), want, 1e-4, 1e-4));
    }
  }
}

}  // namespace drift::test
