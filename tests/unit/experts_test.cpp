// Experts against a loop over tokens in plain arithmetic, and their gradients against finite differences.

#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/nn/experts.h>

#include <ATen/ops/mv.h>
#include <ATen/ops/silu.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift::nn::experts_test {
namespace {

constexpr std::int64_t kTokens = 9, kHidden = 6, kWidth = 5, kExperts = 8;

at::Tensor numbers(at::IntArrayRef sizes, double phase) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return ((at::arange(count, at::kDouble) * 1.7 + phase).sin() * 0.7).view(sizes);
}

Experts some_experts(at::TensorOptions options = at::kDouble) {
  Experts made;
  const auto parameter = [&](at::IntArrayRef sizes, double phase) {
    return numbers(sizes, phase).to(options).set_requires_grad(true);
  };
  made.router_EH = parameter({kExperts, kHidden}, 0.3);
  made.router_bias_E = numbers({kExperts}, 5.1).to(options);
  for (std::int64_t e = 0; e < kExperts; ++e) {
    auto& expert = made.experts.emplace_back();
    const auto phase = static_cast<double>(e);
    expert.gate.weight = parameter({kWidth, kHidden}, phase + 0.1);
    expert.up.weight = parameter({kWidth, kHidden}, phase + 0.2);
    expert.down.weight = parameter({kHidden, kWidth}, phase + 0.4);
  }
  return made;
}

at::Tensor some_tokens(at::TensorOptions options = at::kDouble) {
  return numbers({kTokens, kHidden}, 2.2).to(options).set_requires_grad(true);
}

std::vector<at::Tensor> parameters(const Experts& experts) {
  std::vector<at::Tensor> found{experts.router_EH};
  for (const auto& one : experts.experts) found.insert(found.end(), {one.gate.weight, one.up.weight, one.down.weight});
  return found;
}

const ExpertChoice kOfGroups{kExperts, 3, 4, 2, true, 2.5}, kOfAll{kExperts, 2}, kOfOne{kExperts, 1, 1, 1, true};

/// One token's experts and weights, from its scores, by sorting.
std::map<std::int64_t, double> naive_choice(const std::vector<double>& logits, const std::vector<double>& bias,
                                            const ExpertChoice& choice) {
  std::vector<double> score(logits.size());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  for (std::size_t e = 0; e < score.size(); ++e)
    score[e] = choice.sigmoid ? 1 / (1 + std::exp(-logits[e])) : std::exp(logits[e]) / sum;
  const std::size_t size = score.size() / static_cast<std::size_t>(choice.groups);
  std::vector<std::pair<double, std::size_t>> groups;
  for (std::size_t g = 0; g * size < score.size(); ++g) {
    std::vector<double> own;
    for (std::size_t e = g * size; e < (g + 1) * size; ++e) own.push_back(score[e] + bias[e]);
    std::ranges::sort(own, std::greater());
    groups.emplace_back(own[0] + own[1], g);
  }
  std::ranges::sort(groups, std::greater());
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::int64_t g = 0; g < choice.groups_kept; ++g) {
    const std::size_t first = groups[static_cast<std::size_t>(g)].second * size;
    for (std::size_t e = first; e < first + size; ++e) ranked.emplace_back(score[e] + bias[e], e);
  }
  std::ranges::sort(ranked, std::greater());
  std::map<std::int64_t, double> weights;
  double chosen = 0;
  for (std::int64_t k = 0; k < choice.per_token; ++k) chosen += score[ranked[static_cast<std::size_t>(k)].second];
  for (std::int64_t k = 0; k < choice.per_token; ++k) {
    const std::size_t e = ranked[static_cast<std::size_t>(k)].second;
    const bool is_alone = choice.per_token == 1 && choice.sigmoid;
    weights[static_cast<std::int64_t>(e)] = choice.scale * score[e] / (is_alone ? 1 : chosen);
  }
  return weights;
}

std::vector<double> values(const at::Tensor& tensor) {
  const auto flat = tensor.detach().to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

at::Tensor naive(const at::Tensor& x_MH, const Experts& experts, const ExpertChoice& choice) {
  auto out_MH = at::zeros_like(x_MH).detach();
  for (std::int64_t m = 0; m < x_MH.size(0); ++m) {
    const auto x = x_MH[m].detach();
    const auto logits = values(at::mv(experts.router_EH.detach(), x));
    const auto bias =
        experts.router_bias_E.defined() ? values(experts.router_bias_E) : std::vector<double>(logits.size());
    for (const auto& [e, weight] : naive_choice(logits, bias, choice)) {
      const auto& own = experts.experts[static_cast<std::size_t>(e)];
      const auto gated = at::silu(at::mv(own.gate.weight.detach(), x)) * at::mv(own.up.weight.detach(), x);
      out_MH[m] += weight * at::mv(own.down.weight.detach(), gated);
    }
  }
  return out_MH;
}

TEST(Experts, AreTheLoopOverTokens) {
  auto experts = some_experts();
  for (const auto& choice : {kOfGroups, kOfAll, kOfOne}) {
    const auto x_MH = some_tokens();
    const auto expected = naive(x_MH, experts, choice);
    EXPECT_TRUE(at::allclose(mixed_experts(x_MH, experts, choice, {}), expected, 1e-12, 1e-12)) << choice.per_token;
    for (std::int64_t m = 0; m < kTokens; ++m) {
      const auto alone = mixed_experts(x_MH.narrow(0, m, 1), experts, choice, {});
      EXPECT_TRUE(at::allclose(alone, expected.narrow(0, m, 1), 1e-12, 1e-12)) << m;
    }
  }
  EXPECT_EQ(mixed_experts(some_tokens().narrow(0, 0, 0), experts, kOfGroups, {}).size(0), 0);
}

TEST(Experts, AreChosenWithTheBiasAndWeighedWithoutIt) {
  auto experts = some_experts();
  const auto x_MH = some_tokens();
  experts.router_bias_E = at::full({kExperts}, -3.0, at::kDouble);
  experts.router_bias_E[4] = experts.router_bias_E[5] = experts.router_bias_E[7] = 3.0;
  const auto [expert_MK, weight_MK] = choose_experts(x_MH, experts, kOfGroups);
  EXPECT_TRUE(std::get<0>(expert_MK.sort(-1)).equal(at::tensor({4, 5, 7}, at::kLong).expand({kTokens, 3})));
  EXPECT_TRUE(at::allclose(weight_MK.sum(-1), at::full({kTokens}, 2.5, at::kDouble)));
  EXPECT_TRUE(weight_MK.gt(0).all().item<bool>());
}

TEST(Experts, HaveGradientsOfFiniteDifferences) {
  for (const auto& choice : {kOfGroups, kOfAll}) {
    auto experts = some_experts();
    if (&choice != &kOfGroups) experts.router_bias_E = at::Tensor();
    const auto x_MH = some_tokens();
    auto leaves = parameters(experts);
    leaves.push_back(x_MH);
    const auto incoming = numbers({kTokens, kHidden}, 8.0);
    const auto value = [&] { return (mixed_experts(x_MH, experts, choice, {}) * incoming).sum(); };
    const auto gradients = torch::autograd::grad({value()}, leaves, {}, std::nullopt, false, /*allow_unused=*/true);
    const at::NoGradGuard no_gradient;
    for (std::size_t p = 0; p < leaves.size(); ++p) {
      auto flat = leaves[p].view({-1});
      for (std::int64_t i = 0; i < flat.numel(); i += 3) {
        constexpr double kStep = 1e-6;
        const double before = flat[i].item<double>();
        flat[i] = before + kStep;
        const double above = value().item<double>();
        flat[i] = before - kStep;
        const double below = value().item<double>();
        flat[i] = before;
        const double slope = (above - below) / (2 * kStep);
        const double found = gradients[p].defined() ? gradients[p].view({-1})[i].item<double>() : 0;
        EXPECT_NEAR(found, slope, 1e-7 * (1 + std::abs(slope))) << p << ", " << i;
      }
    }
  }
}

// Adapters and what is left out belong to tokens, whichever expert they come to.
TEST(Experts, GiveEachTokenItsOwnAdapters) {
  auto experts = some_experts();
  const at::NoGradGuard no_gradient;
  const auto x_MH = some_tokens();
  const auto plain = mixed_experts(x_MH, experts, kOfGroups, {});
  for (auto& expert : experts.experts)
    expert.up.adapter = {numbers({2, kHidden}, 0.7), numbers({kWidth, 2}, 0.9), 1.5, 0.25, 77};
  const auto keys_M = at::arange(kTokens, at::kLong) * 1000003;
  const auto all = mixed_experts(x_MH, experts, kOfGroups, {.dropout_key_M = keys_M});
  EXPECT_FALSE(at::allclose(all, plain));
  auto some_M1 = at::zeros({kTokens, 1}, at::kDouble);
  some_M1.narrow(0, 2, 3).fill_(1);
  const auto mixed = mixed_experts(x_MH, experts, kOfGroups, {.adapted_M1 = some_M1, .dropout_key_M = keys_M});
  EXPECT_TRUE(at::allclose(mixed, at::where(some_M1 > 0, all, plain), 1e-12, 1e-12));
  for (std::int64_t m = 0; m < kTokens; ++m) {
    const AdapterUse own{.dropout_key_M = keys_M.narrow(0, m, 1)};
    EXPECT_TRUE(at::allclose(mixed_experts(x_MH.narrow(0, m, 1), experts, kOfGroups, own), all.narrow(0, m, 1)));
  }
}

// The choice is made in float32 from what the numbers are after rounding, so that it is the same as there.
TEST(Experts, OfBfloat16AreThoseOfFloat32UpToRounding) {
  const auto narrow = some_experts(at::kBFloat16);
  auto wide = narrow;
  wide.router_EH = wide.router_EH.to(at::kFloat);
  wide.router_bias_E = wide.router_bias_E.to(at::kFloat);
  for (auto& expert : wide.experts) {
    for (auto* one : {&expert.gate, &expert.up, &expert.down}) one->weight = one->weight.to(at::kFloat);
  }
  const auto x_MH = some_tokens(at::kBFloat16);
  const auto chosen = choose_experts(x_MH, narrow, kOfGroups),
             expected = choose_experts(x_MH.to(at::kFloat), wide, kOfGroups);
  EXPECT_EQ(chosen.weight_MK.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(chosen.expert_MK, expected.expert_MK));
  EXPECT_TRUE(at::allclose(chosen.weight_MK, expected.weight_MK));
  const auto out = mixed_experts(x_MH, narrow, kOfGroups, {});
  EXPECT_EQ(out.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::allclose(out.to(at::kFloat), mixed_experts(x_MH.to(at::kFloat), wide, kOfGroups, {}), 2e-2, 2e-2));
  const auto gradients = torch::autograd::grad({out}, {x_MH, narrow.router_EH}, {at::ones_like(out)});
  EXPECT_EQ(gradients[1].scalar_type(), at::kBFloat16);
}

}  // namespace
}  // namespace drift::nn::experts_test
