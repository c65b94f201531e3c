#include "tests/support/kernel_comparisons.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/interface/commit_operators.h>
#include <core/interface/sampling_kernels.h>
#include <core/kernels/adamw.h>
#include <core/kernels/cuda/library.h>
#include <core/kernels/cuda/transformer_ops.h>
#include <core/kernels/linear_log_softmax.h>
#include <core/kernels/nf4.h>
#include <core/kernels/transformer_ops.h>
#include <core/nn/dropout.h>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift::test {
namespace {

using Tensors = std::vector<at::Tensor>;
using Function = std::function<at::Tensor(const Tensors&)>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr auto kTypes = {at::kFloat, at::kBFloat16};

/// With `shift`, memory that begins one element behind a multiple of 16 bytes.
at::Tensor leaf(at::IntArrayRef shape, at::ScalarType type, bool shift, at::Device device) {
  const auto values = at::randn(shape);
  auto place = at::empty({values.numel() + 1}, values.options().dtype(type).device(device));
  place = place.narrow(0, shift ? 1 : 0, values.numel()).view(shape);
  place.copy_(values);
  return place.set_requires_grad(true);
}

/// Of the inputs' type on their device against the reference in the same type on the CPU.
void compare(const Function& kernel, const Function& reference, const Tensors& inputs, bool same_bits) {
  Tensors here;
  for (const auto& input : inputs) here.push_back(input.detach().cpu().set_requires_grad(true));
  const auto value = kernel(inputs), expected = reference(here);
  ASSERT_EQ(value.sizes(), expected.sizes());
  ASSERT_EQ(value.scalar_type(), expected.scalar_type());
  const bool narrow = value.scalar_type() == at::kBFloat16;
  // A sum of another order may fall on the other side of a rounding boundary: one unit of bfloat16.
  const double unit = narrow ? 1.0 / 128 : 1e-5;
  if (same_bits) {
    EXPECT_TRUE(at::equal(value.cpu(), expected));
  } else {
    EXPECT_TRUE(at::allclose(value.cpu(), expected, unit, 1e-5));
  }
  // Attention's backward may return heads last in memory.
  auto weight = at::randn(expected.sizes());
  if (expected.dim() == 4) weight = weight.transpose(1, 2).contiguous().transpose(1, 2);
  const auto got = torch::autograd::grad({(value * weight.to(value.options())).sum()}, inputs);
  Tensors wide;  // references round at more places
  for (const auto& input : here) wide.push_back(input.detach().to(at::kFloat).set_requires_grad(true));
  const auto exact = reference(wide);
  const auto want = torch::autograd::grad({(exact * weight.to(value.scalar_type()).to(at::kFloat)).sum()}, wide);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(got[i].scalar_type(), inputs[i].scalar_type());
    const auto difference = (got[i].cpu().to(at::kFloat) - want[i]).norm().item<double>();
    EXPECT_LE(difference, (narrow ? 0.01 : 1e-5) * want[i].norm().item<double>() + 1e-6) << "gradient of input " << i;
  }
}

std::string describe(at::ScalarType type, at::IntArrayRef shape) {
  std::string text = type == at::kFloat ? "float32" : "bfloat16";
  for (const auto size : shape) text += " " + std::to_string(size);
  return text;
}

}  // namespace

void compare_norms(const KernelMachine& machine) {
  const std::vector<std::vector<std::int64_t>> shapes{{1, 1},   {33, 7},   {1, 64},   {5, 192},
                                                      {300, 8}, {3, 1001}, {2, 4096}, {0, 8}};
  for (const auto type : kTypes) {
    for (const auto& shape : shapes) {
      for (const bool shift : {false, true}) {
        SCOPED_TRACE(describe(type, shape));
        const Tensors inputs{leaf(shape, type, shift, machine.device), leaf({shape[1]}, type, false, machine.device)};
        for (const auto order : {kernels::NormWeight::kAfterRounding, kernels::NormWeight::kBeforeRounding}) {
          const bool weight_first = order == kernels::NormWeight::kBeforeRounding;
          compare(
              [&](const auto& in) {
                return kernels::cuda::rms_norm(machine.kernels, in[0], in[1], 1e-5, weight_first);
              },
              [&](const auto& in) { return kernels::rms_norm_reference(in[0], in[1], 1e-5, order); }, inputs, false);
        }
      }
    }
  }
}

void compare_rotations(const KernelMachine& machine) {
  struct Shape {
    std::int64_t batch, sequence, heads, dimension;
  };
  for (const auto type : kTypes) {
    for (const auto table_type : {at::kFloat, type}) {
      for (const auto& [batch, sequence, heads, dimension] :
           {Shape{4, 5, 3, 8}, {1, 7, 2, 64}, {1, 1, 1, 2}, {2, 3, 2, 6}, {2, 3, 4, 128}, {0, 2, 2, 4}}) {
        SCOPED_TRACE(describe(type, {batch, sequence, heads, dimension}));
        const auto angle = at::randn({sequence, dimension / 2});
        const auto cosine = angle.cos().to(table_type), sine = angle.sin().to(table_type);
        const auto x = leaf({batch * sequence, heads * dimension}, type, batch == 1, machine.device);
        compare(
            [&](const auto& in) {
              return kernels::cuda::rotate_heads(machine.kernels, in[0], cosine.to(machine.device),
                                                 sine.to(machine.device), heads, /*heads_last=*/batch == 2);
            },
            [&](const auto& in) {
              // Of wide inputs, the exact rotation by these angles.
              const auto of_table = in[0].scalar_type() == at::kFloat ? at::kFloat : table_type;
              return kernels::rotate_heads_reference(in[0], cosine.to(of_table), sine.to(of_table), heads);
            },
            {x}, /*same_bits=*/true);
      }
    }
  }
}

void compare_gates(const KernelMachine& machine) {
  const std::vector<std::vector<std::int64_t>> shapes{{1, 1}, {17, 50}, {1, 3}, {40, 257}, {0, 4}};
  for (const auto type : kTypes) {
    for (const auto& shape : shapes) {
      for (const bool shift : {false, true}) {
        SCOPED_TRACE(describe(type, shape));
        const Tensors inputs{leaf(shape, type, shift, machine.device), leaf(shape, type, false, machine.device)};
        compare([&](const auto& in) { return kernels::cuda::swiglu(machine.kernels, in[0], in[1]); },
                [](const auto& in) { return kernels::swiglu_reference(in[0], in[1]); }, inputs, false);
      }
    }
  }
}

namespace {

struct HeadResult {
  kernels::TokenScores scores, alone;
  at::Tensor hidden_NH, weight_VH;
};

HeadResult run_head(const kernels::cuda::KernelTable* kernels, const at::Tensor& hidden, const at::Tensor& weight,
                    const kernels::TokenTargets& targets, const at::Tensor& slope_E,
                    const at::Tensor& entropy_slope_E) {
  kernels::LinearLogSoftmax head(weight, kernels);
  HeadResult result;
  const bool entropy = entropy_slope_E.defined();
  result.alone = head.score(hidden, targets, entropy);
  result.scores = head.forward(hidden, targets, entropy);
  result.weight_VH = at::full(weight.sizes(), std::nan(""), slope_E.options());
  result.hidden_NH = head.backward(slope_E, entropy_slope_E, result.weight_VH, /*overwrite=*/true);
  return result;
}

kernels::TokenTargets head_targets(std::int64_t rows, std::int64_t vocabulary) {
  const std::int64_t middle = vocabulary / 2, last = vocabulary - 1;
  if (rows < 4) return {at::zeros({1}, at::kLong), at::full({1}, last, at::kLong)};
  return {at::tensor({0L, 2L, 2L, 2L, rows - 1, rows - 1}, at::kLong),
          at::tensor({middle, middle, last, middle, 0L, last}, at::kLong)};
}

void compare_heads_of(const KernelMachine& machine, at::ScalarType type, std::int64_t rows, std::int64_t hidden_size,
                      std::int64_t vocabulary, bool with_entropy) {
  const auto hidden = at::randn({rows, hidden_size}).to(type), weight = at::randn({vocabulary, hidden_size}).to(type);
  const auto targets = head_targets(rows, vocabulary);
  const auto slope_E = at::randn(targets.row_E.sizes());
  const auto entropy_slope_E = with_entropy ? at::randn(targets.row_E.sizes()) : at::Tensor();
  const auto there = [&](const at::Tensor& tensor) { return tensor.defined() ? tensor.to(machine.device) : tensor; };
  const auto want = run_head(nullptr, hidden, weight, targets, slope_E, entropy_slope_E);
  const auto got = run_head(&machine.kernels, there(hidden), there(weight),
                            {there(targets.row_E), there(targets.token_E)}, there(slope_E), there(entropy_slope_E));
  const double tolerance = type == at::kFloat ? 1e-4 : machine.logit_tolerance;
  const auto near = [&](const at::Tensor& a, const at::Tensor& b) {
    return !b.defined() || at::allclose(a.cpu(), b, tolerance, tolerance);
  };
  EXPECT_TRUE(near(got.scores.logprob_E, want.scores.logprob_E));
  EXPECT_TRUE(near(got.scores.entropy_E, want.scores.entropy_E));
  EXPECT_TRUE(near(got.alone.logprob_E, want.scores.logprob_E));
  EXPECT_TRUE(near(got.alone.entropy_E, want.scores.entropy_E));
  const auto distance = [](const at::Tensor& a, const at::Tensor& b) {
    return ((a.cpu().to(at::kFloat) - b.to(at::kFloat)).norm() / (b.to(at::kFloat).norm() + 1e-6)).item<double>();
  };
  const double largest = type == at::kFloat ? 1e-4 : 1.0 / 32;
  EXPECT_LT(distance(got.hidden_NH, want.hidden_NH), largest);
  EXPECT_LT(distance(got.weight_VH, want.weight_VH), largest);
}

/// ln sum e^x of the rows, in two tiles.
at::Tensor log_totals(const KernelMachine& machine, const at::Tensor& logits_NV) {
  const std::int64_t rows = logits_NV.size(0), vocabulary = logits_NV.size(1), cut = vocabulary / 3;
  const auto single = logits_NV.options().dtype(at::kFloat);
  const auto largest = at::full({rows}, -kInfinity, single), total = at::zeros({rows}, single);
  const auto no_target = at::zeros({0}, single.dtype(at::kLong));
  for (const auto& [first, columns] : {std::pair{std::int64_t{0}, cut}, {cut, vocabulary - cut}}) {
    const auto tile = logits_NV.narrow(1, first, columns);
    kernels::cuda::check(machine.kernels, machine.kernels.logit_sums(
                                              {kernels::cuda::element_of(tile), tile.const_data_ptr(), vocabulary, rows,
                                               first, columns, largest.data_ptr<float>(), total.data_ptr<float>(),
                                               nullptr, no_target.const_data_ptr<std::int64_t>(),
                                               no_target.const_data_ptr<std::int64_t>(), 0, nullptr},
                                              kernels::cuda::stream_of(tile)));
  }
  return (total.log() + largest).cpu();
}

}  // namespace

void compare_head(const KernelMachine& machine) {
  struct Sizes {
    std::int64_t rows, hidden, vocabulary;
  };
  for (const auto type : kTypes) {
    for (const auto& [rows, hidden, vocabulary] :
         {Sizes{1, 3, 1}, {1, 1, 2}, {5, 7, 11}, {4, 16, 257}, {9, 8, 4099}, {6, 5, 4096}}) {
      for (const bool with_entropy : {false, true}) {
        SCOPED_TRACE(describe(type, {rows, hidden, vocabulary}) + (with_entropy ? ", entropy" : ""));
        compare_heads_of(machine, type, rows, hidden, vocabulary, with_entropy);
      }
    }
    auto logits = at::randn({3, 301}).to(type);
    logits.select(0, 1).narrow(0, 1, 290).fill_(-kInfinity);
    EXPECT_TRUE(at::allclose(log_totals(machine, logits.to(machine.device)), at::logsumexp(logits.to(at::kFloat), {-1}),
                             1e-5, 1e-5));
    logits.select(0, 2).select(0, 200).fill_(std::nan(""));
    const auto totals = log_totals(machine, logits.to(machine.device));
    EXPECT_TRUE(totals[1].isfinite().item<bool>());
    EXPECT_TRUE(totals[2].isnan().item<bool>());
  }
}

namespace {

SampledTokens drawn_by_kernels(const KernelMachine& machine, const at::Tensor& logits, const at::Tensor& row_M,
                               const at::Tensor& uniform_M, const SamplingOptions& options) {
  const auto there = sample_with_kernels(machine.kernels, logits.to(machine.device), row_M, uniform_M, options);
  return {there.token_M.cpu(), there.logprob_M.cpu(), there.confidence_M.cpu(), {}};
}

void compare_draws_of(const KernelMachine& machine, const at::Tensor& logits, const SamplingOptions& options) {
  const auto row_M = at::arange(machine.draws, at::kLong).remainder(logits.size(0));
  const auto uniform_M = uniforms(machine.draws);
  const auto want = sample_tokens(logits, row_M, uniform_M, options);
  const auto got = drawn_by_kernels(machine, logits, row_M, uniform_M, options);
  // A draw on the edge between two ids may fall the other way.
  const auto same_M = got.token_M == want.token_M;
  EXPECT_GE(same_M.sum().item<std::int64_t>(), machine.draws - machine.draws / 1000);
  const auto near = [&](const at::Tensor& a, const at::Tensor& b) {
    return at::allclose(a.masked_select(same_M), b.masked_select(same_M), 1e-4, 1e-5);
  };
  EXPECT_TRUE(near(got.logprob_M, want.logprob_M));
  EXPECT_TRUE(near(got.confidence_M, want.confidence_M));
}

struct Cut {
  std::int64_t top_k;
  double top_p;
  ConfidenceOf confidence_of;
};

const Cut kCuts[] = {{0, 0, ConfidenceOf::kLogits},  {0, 1, ConfidenceOf::kDraw},    {0, 0.83, ConfidenceOf::kDraw},
                     {5, 0, ConfidenceOf::kLogits},  {5, 0.7, ConfidenceOf::kDraw},  {1, 0, ConfidenceOf::kDraw},
                     {0, 1e-9, ConfidenceOf::kDraw}, {3, 0.9, ConfidenceOf::kLogits}};

/// Some ids, or none of a small vocabulary.
std::vector<std::pair<std::int64_t, std::int64_t>> forbidden_of(std::int64_t vocabulary) {
  if (vocabulary < 5) return {};
  return {{vocabulary - 2, vocabulary + 7}, {0, 2}, {vocabulary / 2, vocabulary / 2 + vocabulary / 4}, {1, 3}};
}

/// Logits of which many are equal.
at::Tensor tied(at::IntArrayRef shape) { return at::randint(-3, 3, shape, at::kFloat) / 2; }

/// Rows with a logit that is not finite: where the CPU gives a number, the kernel gives it too.
void compare_draws_of_infinities(const KernelMachine& machine) {
  auto logits = at::randn({4, 300});
  logits.select(0, 0).narrow(0, 3, 290).fill_(-kInfinity);
  logits.select(0, 1).select(0, 77).fill_(std::nan(""));
  logits.select(0, 2).select(0, 290).fill_(kInfinity);
  logits.select(0, 3).narrow(0, 10, 290).fill_(-kInfinity);  // all that may be drawn
  const auto row_M = at::arange(4, at::kLong);
  for (const double temperature : {0.0, 1.0}) {
    const SamplingOptions options{temperature, Confidence::kProbability, {{0, 10}}};
    const auto want = sample_tokens(logits, row_M, uniforms(4), options);
    const auto got = drawn_by_kernels(machine, logits, row_M, uniforms(4), options);
    EXPECT_TRUE(at::allclose(got.logprob_M, want.logprob_M, 1e-4, 1e-5, /*equal_nan=*/true)) << temperature;
    EXPECT_TRUE(at::equal(got.token_M[0], want.token_M[0])) << temperature;
    EXPECT_TRUE(((got.token_M >= 10) & (got.token_M < 300)).all().item<bool>()) << temperature;
  }
}

}  // namespace

void compare_draws(const KernelMachine& machine) {
  const std::int64_t vocabularies[] = {1, 2, 7, 255, 256, 257, 700};
  std::size_t setting = 0;
  for (const double temperature : {0.0, 0.7, 1.0, 1e-40}) {
    for (const auto confidence : {Confidence::kProbability, Confidence::kMargin, Confidence::kNegativeEntropy}) {
      for (const auto& [top_k, top_p, confidence_of] : kCuts) {
        const std::int64_t vocabulary = vocabularies[++setting % std::size(vocabularies)];
        const auto type = setting % 2 == 0 ? at::kFloat : at::kBFloat16;
        SCOPED_TRACE("temperature " + std::to_string(temperature) + ", confidence " +
                     std::to_string(static_cast<int>(confidence)) + ", top_k " + std::to_string(top_k) + ", top_p " +
                     std::to_string(top_p) + ", vocabulary " + std::to_string(vocabulary));
        SamplingOptions options{temperature, confidence, forbidden_of(vocabulary)};
        options.top_k = top_k;
        options.top_p = top_p;
        options.confidence_of = confidence_of;
        const auto logits = setting % 3 == 0 ? tied({4, vocabulary}) : 2 * at::randn({4, vocabulary});
        compare_draws_of(machine, logits.to(type), options);
      }
    }
  }
  compare_draws_of_infinities(machine);
}

void compare_uniforms(const KernelMachine& machine) {
  const RandomStream random(7, "rollout");
  const auto sample = at::arange(300, at::kLong), position = (sample * 7919).remainder(1 << 20),
             draw = at::full_like(sample, 4294967295);
  const auto got = uniform_with_kernels(machine.kernels, random, 12, sample.to(machine.device),
                                        position.to(machine.device), draw.to(machine.device));
  EXPECT_TRUE(at::equal(got.cpu(), uniform(random, 12, sample, position, draw)));
}

void compare_commits(const KernelMachine& machine) {
  for (const std::int64_t positions : {1, 5, 32, 100, 300}) {
    auto score = at::randint(0, 40, {6, positions}, at::kFloat) / 40;  // many equal
    score.select(0, 0).fill_(-kInfinity);
    score.select(0, 1).narrow(0, 0, positions / 2).fill_(-kInfinity);
    score.select(0, 2).fill_(0.99f);
    std::vector<CommitRule> rules(6);
    rules[0].threshold = 0.9;
    rules[1].threshold = 2;
    rules[2].by = rules[3].by = rules[4].by = CommitBy::kFactor;
    rules[2].factor = 1;
    rules[3].factor = 8;
    rules[5].by = CommitBy::kCount;
    rules[5].count_R = at::arange(6, at::kLong);
    for (std::size_t r = 0; r < rules.size(); ++r) {
      SCOPED_TRACE(std::to_string(positions) + " positions, rule " + std::to_string(r));
      auto failed = at::zeros({}, at::kBool), failed_there = failed.to(machine.device, at::kBool, false, /*copy=*/true);
      const auto want = choose_commits_with_operators(score, rules[r], failed);
      if (rules[r].count_R.defined()) rules[r].count_R = rules[r].count_R.to(machine.device);
      const auto got = choose_commits_with_kernels(machine.kernels, score.to(machine.device), rules[r], failed_there);
      EXPECT_TRUE(at::equal(got.cpu(), want));
      EXPECT_FALSE(failed_there.item<bool>());
    }
    score.select(0, 3).select(0, positions - 1).fill_(std::nan(""));
    auto failed = at::zeros({}, score.options().dtype(at::kBool).device(machine.device));
    choose_commits_with_kernels(machine.kernels, score.to(machine.device), rules[0], failed);
    EXPECT_TRUE(failed.item<bool>());
  }
}

namespace {

kernels::AdamWTensors moved_tensors(std::int64_t size, at::ScalarType moments, bool rounded) {
  const auto weight = at::randn({size}), moment = at::zeros({size}).to(moments);
  return {weight, moment, moment.clone(), at::Tensor(), rounded ? weight.to(at::kBFloat16) : at::Tensor()};
}

kernels::AdamWTensors copied(const kernels::AdamWTensors& tensors, at::Device device) {
  const auto copy = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(device, tensor.scalar_type(), false, /*copy=*/true) : tensor;
  };
  return {copy(tensors.weight), copy(tensors.first),   copy(tensors.second),
          at::Tensor(),         copy(tensors.rounded), tensors.begin};
}

}  // namespace

void compare_adamw(const KernelMachine& machine) {
  for (const auto moments : kTypes) {
    for (const bool rounded : {false, true}) {
      SCOPED_TRACE(describe(moments, {}) + " moments" + (rounded ? ", rounded weights" : ""));
      std::vector<kernels::AdamWTensors> here, there;
      for (std::int64_t t = 0; t < 70; ++t) {
        const std::int64_t sizes[] = {t == 5 ? 0 : 1, 3, 257, t == 8 ? 8191 : 40, t == 14 ? 8193 : 7};
        here.push_back(moved_tensors(sizes[t % 5], moments, rounded));
        here.back().begin = t % 3 * 0x60000001;  // a rank's share of a larger tensor
        there.push_back(copied(here.back(), machine.device));
      }
      for (std::int64_t update = 1; update <= 3; ++update) {
        kernels::AdamWStep step{1e-2, 0.9, 0.99, 1e-8, 0.1};
        step.update = update;
        step.gradient_scale = update == 2 ? 0.3 : 1;
        std::vector<std::uint64_t> keys;
        for (std::size_t t = 0; t < here.size(); ++t) {
          here[t].gradient = at::randn(here[t].weight.sizes());
          if (update == 3 && t == 66) here[t].gradient.fill_(1e30f);  // its square is not finite
          there[t].gradient = here[t].gradient.to(machine.device, at::kFloat, false, /*copy=*/true);
          keys.push_back(step.rounding_key = 0x123456789ABCDEF0u * (t + 1) + static_cast<std::uint64_t>(update));
          EXPECT_TRUE(kernels::adamw(here[t], step));
        }
        EXPECT_EQ(kernels::adamw_on_device(machine.kernels, there, step, keys), std::nullopt);
      }
      for (std::size_t t = 0; t < here.size(); ++t) {
        EXPECT_TRUE(at::allclose(there[t].weight.cpu(), here[t].weight, 1e-6, 1e-7)) << t;
        EXPECT_TRUE(at::equal(there[t].first.cpu(), here[t].first)) << t;
        EXPECT_TRUE(at::equal(there[t].second.cpu(), here[t].second)) << t;
        EXPECT_TRUE(!rounded || at::equal(there[t].rounded.cpu(), there[t].weight.cpu().to(at::kBFloat16))) << t;
      }
      const std::vector<kernels::AdamWTensors> empty{there[5]};
      EXPECT_EQ(kernels::adamw_on_device(machine.kernels, empty, {1e-2, 0.9, 0.99, 1e-8, 0.1}, {0}), std::nullopt);
      there[64].gradient.fill_(std::nan(""));
      EXPECT_EQ(kernels::adamw_on_device(machine.kernels, there, {1e-2, 0.9, 0.99, 1e-8, 0.1},
                                         std::vector<std::uint64_t>(there.size())),
                std::size_t{64});
    }
  }
}

void compare_widening(const KernelMachine& machine) {
  for (const auto type : kTypes) {
    for (const std::int64_t count : {1, 2, 63, 64, 200, 4096, 3 * 64 * 256 + 72}) {
      for (const bool is_double : {false, true}) {
        for (const bool shift : {false, true}) {
          SCOPED_TRACE(describe(type, {count}) + (is_double ? ", double" : "") + (shift ? ", shifted" : ""));
          bool finite = false;
          const auto packed = kernels::nf4_pack((at::randn({count}) * 0.02).to(type), is_double, finite);
          const auto expected = at::empty({count}, type);
          kernels::nf4_widen(packed, expected);
          const auto out = leaf({count}, type, shift, machine.device).detach();
          kernels::nf4_widen_on_device(machine.kernels, moved(packed, machine.device), out);
          EXPECT_TRUE(at::equal(out.cpu(), expected));
        }
      }
    }
  }
}

void compare_dropout(const KernelMachine& machine) {
  const std::vector<std::vector<std::int64_t>> shapes{{1, 1}, {3, 8}, {5, 129}, {2, 4096}, {40, 1001}, {0, 8}};
  for (const auto type : kTypes) {
    for (const auto& shape : shapes) {
      for (const double share : {0.05, 0.5, 0.9}) {
        for (const bool shift : {false, true}) {
          SCOPED_TRACE(describe(type, shape) + ", " + std::to_string(share) + (shift ? ", shifted" : ""));
          const auto x = leaf(shape, type, shift, machine.device).detach();
          if (x.numel() > 1) x.view({-1})[0] = kInfinity;
          const auto keys = nn::token_keys(at::arange(shape[0], at::kLong) * 123456789 - 5, 1);
          const std::uint64_t stream = 0x9123456789ABCDEF;
          const auto got = nn::dropped_on_device(machine.kernels, x, keys.to(machine.device), stream, share);
          EXPECT_TRUE(at::equal(got.cpu(), nn::dropped(x.cpu(), keys, stream, share)));
        }
      }
    }
  }
}

}  // namespace drift::test
