// Every fused kernel against its reference in plain tensor operations: values and gradients.

#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/kernels/product.h>
#include <core/kernels/transformer_ops.h>
#include <core/nn/attention.h>
#include <core/nn/transformer.h>

#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift::kernels_test {

using Function = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

at::Tensor leaf(at::IntArrayRef shape) { return at::randn(shape).set_requires_grad(true); }

std::vector<at::Tensor> gradients(const Function& function, const std::vector<at::Tensor>& inputs,
                                  const at::Tensor& weight) {
  return torch::autograd::grad({(function(inputs) * weight).sum()}, inputs);
}

void expect_same(const Function& fused, const Function& reference, const std::vector<at::Tensor>& inputs) {
  const auto value = fused(inputs), expected = reference(inputs);
  ASSERT_EQ(value.sizes(), expected.sizes());
  EXPECT_TRUE(at::allclose(value, expected, 1e-5, 1e-5));
  const auto weight = at::randn(value.sizes());
  const auto got = gradients(fused, inputs, weight), want = gradients(reference, inputs, weight);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(at::allclose(got[i], want[i], 1e-4, 1e-4)) << "gradient of input " << i;
}

/// A kernel, its reference, and inputs of every awkward shape for it.
struct Kernel {
  std::string name;
  Function fused, reference;
  std::vector<std::vector<std::vector<std::int64_t>>> shapes;  // [case][input]
};

nn::RotaryTable table(std::int64_t length, std::int64_t dimension) { return {length, dimension, 10000, at::kCPU}; }

Kernel rotation(std::int64_t sequence, std::int64_t heads, std::int64_t dimension, at::ScalarType table_type) {
  const auto angles = table(sequence, dimension);
  const auto cosine = angles.cosine_SD2.to(table_type), sine = angles.sine_SD2.to(table_type);
  const std::int64_t width = heads * dimension;
  return {"rotate_heads_" + std::to_string(dimension) + (table_type == at::kFloat ? "" : "_narrow_table"),
          [=](const auto& in) { return kernels::rotate_heads(in[0], cosine, sine, heads); },
          [=](const auto& in) { return kernels::rotate_heads_reference(in[0], cosine, sine, heads); },
          {{{4 * sequence, width}}, {{sequence, width}}, {{0, width}}}};
}

/// Kernels with inputs of the type `type`: where tables are read, both with wide and with narrow ones.
std::vector<Kernel> kernels_of(at::ScalarType type) {
  std::vector<Kernel> all = {
      {"rms_norm",
       [](const auto& in) { return kernels::rms_norm(in[0], in[1], 1e-5); },
       [](const auto& in) { return kernels::rms_norm_reference(in[0], in[1], 1e-5); },
       {{{33, 7}, {7}}, {{1, 64}, {64}}, {{70, 192}, {192}}, {{3, 1}, {1}}, {{0, 8}, {8}}}},
      {"rms_norm_weighted_before_rounding",
       [](const auto& in) { return kernels::rms_norm(in[0], in[1], 1e-5, kernels::NormWeight::kBeforeRounding); },
       [](const auto& in) {
         return kernels::rms_norm_reference(in[0], in[1], 1e-5, kernels::NormWeight::kBeforeRounding);
       },
       {{{33, 7}, {7}}, {{70, 192}, {192}}}},
      {"swiglu",
       [](const auto& in) { return kernels::swiglu(in[0], in[1]); },
       [](const auto& in) { return kernels::swiglu_reference(in[0], in[1]); },
       {{{17, 50}, {17, 50}}, {{1, 3}, {1, 3}}, {{300, 257}, {300, 257}}, {{0, 4}, {0, 4}}}},
      rotation(5, 3, 8, at::kFloat),
      rotation(7, 2, 64, at::kFloat),
      rotation(1, 1, 2, at::kFloat)};
  if (type == at::kBFloat16) {
    all.push_back(rotation(5, 3, 8, type));
    all.push_back(rotation(7, 2, 64, type));
  }
  return all;
}

/// Small integers and halves: sums of their squares are exact in float32, so that the order of adding, in which two
/// implementations differ, cannot matter.
at::Tensor short_numbers(at::IntArrayRef shape) { return at::randint(-16, 17, shape, at::kFloat) / 2; }

TEST(Kernels, EqualTheirReferencesInFloat32) {
  for (const Kernel& kernel : kernels_of(at::kFloat)) {
    for (const auto& shapes : kernel.shapes) {
      SCOPED_TRACE(kernel.name + " of " + std::to_string(shapes[0][0]) + " rows");
      std::vector<at::Tensor> inputs;
      for (const auto& shape : shapes) inputs.push_back(leaf(shape));
      expect_same(kernel.fused, kernel.reference, inputs);
    }
  }
}

TEST(Kernels, ForwardsInBfloat16EqualTheirReferencesBitForBit) {
  for (const Kernel& kernel : kernels_of(at::kBFloat16)) {
    for (const auto& shapes : kernel.shapes) {
      SCOPED_TRACE(kernel.name + " of " + std::to_string(shapes[0][0]) + " rows");
      std::vector<at::Tensor> inputs{short_numbers(shapes[0]).to(at::kBFloat16)};
      for (std::size_t i = 1; i < shapes.size(); ++i) inputs.push_back(at::randn(shapes[i]).to(at::kBFloat16));
      const auto value = kernel.fused(inputs), expected = kernel.reference(inputs);
      EXPECT_EQ(value.scalar_type(), at::kBFloat16);
      EXPECT_TRUE(at::equal(value, expected));
    }
  }
}

// Of random numbers a sum may differ in its last bit, and then one quotient in some ten thousand falls on the other
// side of a rounding boundary.
TEST(Kernels, ANormOfRandomBfloat16DiffersRarelyAndThenByOneUnit) {
  const auto x = at::randn({64, 1024}).to(at::kBFloat16), weight = at::randn({1024}).to(at::kBFloat16);
  const auto value = kernels::rms_norm(x, weight, 1e-5), expected = kernels::rms_norm_reference(x, weight, 1e-5);
  EXPECT_LT((value != expected).to(at::kFloat).mean().item<float>(), 1e-3);
  EXPECT_TRUE(at::allclose(value, expected, /*rtol=*/1.0 / 64, /*atol=*/0));
}

TEST(Kernels, GradientsInBfloat16AreThoseOfFloat32Rounded) {
  for (const Kernel& kernel : kernels_of(at::kBFloat16)) {
    for (const auto& shapes : kernel.shapes) {
      SCOPED_TRACE(kernel.name + " of " + std::to_string(shapes[0][0]) + " rows");
      std::vector<at::Tensor> narrow, wide;
      for (const auto& shape : shapes) {
        narrow.push_back(at::randn(shape).to(at::kBFloat16).set_requires_grad(true));
        wide.push_back(narrow.back().detach().to(at::kFloat).set_requires_grad(true));
      }
      const auto weight = at::randn(kernel.fused(narrow).sizes()).to(at::kBFloat16);
      const auto got = torch::autograd::grad({kernel.fused(narrow)}, narrow, {weight});
      const auto want = torch::autograd::grad({kernel.reference(wide)}, wide, {weight.to(at::kFloat)});
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i].scalar_type(), at::kBFloat16);
        // Half a unit for a result that is rounded once; products that are rounded too add one each.
        EXPECT_TRUE(at::allclose(got[i].to(at::kFloat), want[i], 1.0 / 128, 1.0 / 64)) << "gradient of input " << i;
      }
    }
  }
}

TEST(Kernels, InputsAndGradientsMayLieInAnyOrder) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const Kernel& kernel : kernels_of(type)) {
      SCOPED_TRACE(kernel.name);
      std::vector<at::Tensor> dense, scattered;
      for (const auto& shape : kernel.shapes[0]) {
        dense.push_back(at::randn(shape).to(type).set_requires_grad(true));
        const auto doubled = dense.back().detach().repeat_interleave(2, -1);
        scattered.push_back(doubled.slice(-1, 0, std::nullopt, 2).set_requires_grad(true));
        ASSERT_TRUE(shape.back() == 1 || !scattered.back().is_contiguous());
      }
      const auto value = kernel.fused(dense);
      EXPECT_TRUE(at::equal(kernel.fused(scattered), value));
      const auto gradient = at::randn(value.sizes()).to(type);
      const auto want = torch::autograd::grad({value}, dense, {gradient});
      for (const std::int64_t last : {value.dim() - 1, value.dim() - 2}) {  // dense or not in the last dimension
        const auto other_order = gradient.transpose(0, last).contiguous().transpose(0, last);
        const auto got = torch::autograd::grad({kernel.fused(scattered)}, scattered, {other_order});
        for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(at::equal(got[i], want[i])) << "input " << i;
      }
    }
  }
}

/// The gradients of `function` in random directions against central differences, in float64.
void expect_gradients_of_values(const Function& function, const std::vector<at::Tensor>& inputs) {
  const auto weight = at::randn(function(inputs).sizes(), at::kDouble);
  const auto value = [&](const std::vector<at::Tensor>& at) { return (function(at) * weight).sum(); };
  const auto got = torch::autograd::grad({value(inputs)}, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto direction = at::randn(inputs[i].sizes(), at::kDouble);
    auto ahead = inputs, behind = inputs;
    ahead[i] = inputs[i].detach() + 1e-6 * direction;
    behind[i] = inputs[i].detach() - 1e-6 * direction;
    const double slope = (value(ahead) - value(behind)).item<double>() / 2e-6;
    EXPECT_NEAR((got[i] * direction).sum().item<double>(), slope, 1e-6 * (1 + std::abs(slope))) << "input " << i;
    EXPECT_GT(std::abs(slope), 1e-6) << "input " << i << " does not matter";
  }
}

// The loops have no float64: there a kernel must fall back on code whose gradients are also right.
TEST(Kernels, ReferencesAndFallbacksHaveTheGradientsOfTheirValues) {
  for (const Kernel& kernel : kernels_of(at::kDouble)) {
    std::vector<at::Tensor> inputs;
    for (const auto& shape : kernel.shapes[0]) inputs.push_back(at::randn(shape, at::kDouble).set_requires_grad(true));
    for (const bool fused : {false, true}) {
      SCOPED_TRACE(kernel.name + (fused ? ", fused" : ", reference"));
      expect_gradients_of_values(fused ? kernel.fused : kernel.reference, inputs);
    }
  }
}

TEST(Kernels, GradientsDoNotDependOnTheNumberOfThreads) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto x = at::randn({1001, 192}).to(type).set_requires_grad(true);
    const auto weight = at::randn({192}).to(type).set_requires_grad(true);
    const auto gradient = at::randn({1001, 192}).to(type);
    std::vector<std::vector<at::Tensor>> got;
    const int threads = at::get_num_threads();
    for (const int count : {1, 2, 3}) {
      at::set_num_threads(count);
      got.push_back(torch::autograd::grad({kernels::rms_norm(x, weight, 1e-5)}, {x, weight}, {gradient}));
    }
    at::set_num_threads(threads);
    for (const auto& other : got) {
      for (std::size_t i = 0; i < other.size(); ++i) EXPECT_TRUE(at::equal(other[i], got[0][i])) << "input " << i;
    }
  }
}

TEST(SwiGlu, EqualsItsReferenceForEveryBfloat16Gate) {
  const auto gate = at::arange(0, 1 << 16, at::kInt).to(at::kShort).view(at::kBFloat16);
  const auto up = at::ones_like(gate);
  const auto value = kernels::swiglu(gate, up), expected = kernels::swiglu_reference(gate, up);
  EXPECT_TRUE(at::equal(value.isnan(), expected.isnan()));
  EXPECT_TRUE(at::equal(value.masked_fill(expected.isnan(), 0), expected.masked_fill(expected.isnan(), 0)));
}

TEST(SwiGlu, SurvivesExtremeGatesAndPassesNanOn) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto gate = at::full({4}, 200.0f, type);
    gate[1] = -200.0f;
    gate[2] = 0.0f;
    gate[3] = std::nanf("");
    const auto y = kernels::swiglu(gate, at::ones({4}, type));
    EXPECT_EQ(y[0].item<float>(), 200.0f);
    EXPECT_NEAR(y[1].item<float>(), 0.0f, 1e-30);
    EXPECT_EQ(y[2].item<float>(), 0.0f);
    EXPECT_TRUE(std::isnan(y[3].item<float>()));
  }
}

TEST(RotateHeads, KeepsLengthsAndSeesOnlyDifferencesOfPositions) {
  const auto angles = table(9, 8);
  const auto x = at::randn({1, 8}).expand({9, 8}).contiguous();
  const auto turned = kernels::rotate_heads(x, angles.cosine_SD2, angles.sine_SD2, 1).view({9, 8});
  EXPECT_NEAR(turned[7].norm().item<float>(), x[7].norm().item<float>(), 1e-5);
  EXPECT_NEAR(turned[1].dot(turned[4]).item<float>(), turned[5].dot(turned[8]).item<float>(), 1e-5);
}

TEST(Softmax, InPlaceIsThatOfLibTorch) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    auto x = (at::randn({3, 5, 37}) * 20).to(type);
    x.select(2, 7).fill_(-std::numeric_limits<double>::infinity());
    const auto expected = at::softmax(x, -1);
    kernels::softmax_(x);
    EXPECT_TRUE(at::allclose(x.to(at::kDouble), expected.to(at::kDouble), type == at::kBFloat16 ? 0.01 : 1e-5, 1e-7));
    EXPECT_EQ(x.select(2, 7).abs().max().item<double>(), 0);
  }
}

TEST(Attention, ShortSequencesEqualTheBlockedKernel) {
  const auto reference = [](const auto& in) {
    return at::scaled_dot_product_attention(in[0], in[1].repeat_interleave(2, 1), in[2].repeat_interleave(2, 1))
        .transpose(1, 2)
        .reshape({3 * 11, 4 * 8});
  };
  expect_same([](const auto& in) { return nn::attention(in[0], in[1], in[2], {}); }, reference,
              {leaf({3, 4, 11, 8}), leaf({3, 2, 11, 8}), leaf({3, 2, 11, 8})});
}

TEST(Attention, OfBfloat16IsThatOfFloat32UpToItsRounding) {
  const auto before = kernels::bfloat16_products();
  for (const auto products : {kernels::Bfloat16Products::kNative, kernels::Bfloat16Products::kWidened}) {
    kernels::use_bfloat16_products(products);
    for (const std::int64_t length : {41, 384, 600}) {
      const auto random = [&] { return at::randn({1, 2, length, 16}).to(at::kBFloat16); };
      const auto q = random(), k = random(), v = random();
      const auto wide = nn::attention(q.to(at::kFloat), k.to(at::kFloat), v.to(at::kFloat), {});
      EXPECT_TRUE(at::allclose(nn::attention(q, k, v, {}).to(at::kFloat), wide, 0.02, 0.01)) << length;
    }
  }
  kernels::use_bfloat16_products(before);
}

TEST(Attention, MaskedKeysDoNotMatterShortOrLong) {
  for (const std::int64_t length : {12, 160}) {
    const auto q = at::randn({2, 2, length, 8}), k = at::randn({2, 2, length, 8}), v = at::randn({2, 2, length, 8});
    auto mask = at::ones({2, length}, at::kBool);
    mask[1].narrow(0, 0, 5).fill_(false);
    const auto masked = nn::attention(q, k, v, {nn::attention_bias(mask, at::kFloat, 1), {}}).view({2, length, 16});
    const auto alone =
        nn::attention(q.narrow(0, 1, 1).narrow(2, 5, length - 5), k.narrow(0, 1, 1).narrow(2, 5, length - 5),
                      v.narrow(0, 1, 1).narrow(2, 5, length - 5), {});
    EXPECT_TRUE(at::allclose(masked[1].narrow(0, 5, length - 5), alone, 1e-5, 1e-5)) << length;
  }
}

TEST(Attention, RowsOfEqualKeysAreThoseOfTheBias) {
  const std::int64_t length = 10;
  const auto padding_B = at::tensor({3, 3, 0, 5}, at::kLong), attended_B = at::tensor({10, 10, 10, 9}, at::kLong);
  const auto place_S = at::arange(length, at::kLong);
  const auto mask_BS = (place_S >= padding_B.unsqueeze(1)) & (place_S < attended_B.unsqueeze(1));
  const auto is_read_BS11 = (place_S >= padding_B.unsqueeze(1)).unsqueeze(2).unsqueeze(3).to(at::kFloat);
  for (const std::int64_t key_heads : {4, 2}) {
    for (const std::int64_t begin : {-1, 0, 4}) {  // of the queries: not known, all, a window
      SCOPED_TRACE(std::to_string(key_heads) + " key heads, queries from " + std::to_string(begin));
      const std::int64_t first = std::max<std::int64_t>(begin, 0), queries = length - first;
      const nn::AttentionMask bias{nn::attention_bias(mask_BS, at::kFloat, 4 / key_heads), {}};
      const nn::AttentionMask runs{{}, nn::rows_of_equal_keys(padding_B, attended_B, 4, length, begin, queries)};
      ASSERT_EQ(runs.runs.size(), 3u);
      const auto read = [&](const at::Tensor& out) {
        return out.view({4, queries, 4, 8}) * is_read_BS11.narrow(1, first, queries);
      };
      expect_same([&](const auto& in) { return read(nn::attention(in[0], in[1], in[2], runs)); },
                  [&](const auto& in) { return read(nn::attention(in[0], in[1], in[2], bias)); },
                  {leaf({4, 4, queries, 8}), leaf({4, key_heads, length, 8}), leaf({4, key_heads, length, 8})});
    }
  }
}

TEST(Attention, OfPaddingIsZero) {
  const auto x = at::randn({2, 2, 6, 8});
  const nn::AttentionMask mask{{}, nn::rows_of_equal_keys(at::tensor({4, 0}, at::kLong), {}, 2, 6, 0, 6)};
  const auto out = nn::attention(x, x, x, mask).view({2, 6, 16});
  EXPECT_EQ(out[0].narrow(0, 0, 4).count_nonzero().item<std::int64_t>(), 0);
  EXPECT_EQ(out[0].narrow(0, 4, 2).count_nonzero().item<std::int64_t>(), 32);
}

TEST(Attention, ManyShortRunsKeepTheBias) {
  const auto runs = [](std::int64_t rows, std::int64_t of_run) {
    const auto padding_B = at::arange(rows, at::kLong).floor_divide(of_run);
    return nn::rows_of_equal_keys(padding_B, {}, rows, rows, 0, rows).size();
  };
  EXPECT_EQ(runs(8, 1), 8u);
  EXPECT_EQ(runs(9, 1), 0u);
  EXPECT_EQ(runs(36, 4), 9u);
}

}  // namespace drift::kernels_test
