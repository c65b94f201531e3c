// Attention by tiles against a mask of all pairs, for structures that are drawn.
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/kernels/product.h>
#include <core/nn/attention.h>
#include <core/update/view_rows.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <random>

namespace drift::attention_tiles_test {
constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Case {
  nn::BlockStructure structure;
  std::int64_t heads = 4, key_heads = 2, head_dimension = 8;
};

/// What ForwardInput says, for every pair: bool [B, S, S].
at::Tensor seen_pairs(const nn::BlockStructure& structure) {
  const auto query = [](const at::Tensor& of) { return of.unsqueeze(2); };
  const auto key = [](const at::Tensor& of) { return of.unsqueeze(1); };
  const auto& [block, copy_BS, text, key_mask] = structure;
  const auto copy = copy_BS.defined() ? copy_BS : at::zeros_like(block);
  auto sees = ((query(copy) == 0) & (key(copy) == 0) & (query(block) >= key(block))) |
              ((query(copy) != 0) & (key(copy) == 0) & (query(block) > key(block))) |
              ((query(copy) != 0) & (query(copy) == key(copy)) & (query(block) == key(block)));
  if (text.defined()) sees = sees & (query(text) == key(text)) & (query(text) >= 0);
  if (key_mask.defined()) {
    sees = sees & key(key_mask);
    sees = sees & query(key_mask.to(at::kLong).cumsum(1) > 0);
  }
  return sees;
}

at::Tensor dense_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& sees_BQS) {
  const std::int64_t shared = q.size(1) / k.size(1);
  const auto sees = sees_BQS.unsqueeze(1);
  const auto scores =
      at::matmul(q, k.repeat_interleave(shared, 1).transpose(2, 3)) / std::sqrt(static_cast<double>(q.size(3)));
  const auto largest = at::where(sees, scores, kNever).amax(-1, true).clamp_min(-1e30).detach();
  const auto weights = at::where(sees, (scores - largest).clamp_max(0).exp(), at::zeros_like(scores));
  const auto out = at::matmul(weights, v.repeat_interleave(shared, 1)) / weights.sum(-1, true).clamp_min(1e-30);
  return out.transpose(1, 2).reshape({q.size(0) * q.size(2), -1});
}

struct Tolerance {
  double relative, absolute;
};
Tolerance tolerance_of(at::ScalarType type) {
  if (type == at::kDouble) return {1e-9, 1e-9};
  return type == at::kFloat ? Tolerance{1e-4, 2e-5} : Tolerance{0.05, 0.06};
}

/// Values and gradients of attention by tiles are those of all pairs, in float64.
void expect_exact(const Case& given, at::ScalarType type) {
  const std::int64_t batch = given.structure.block_BS.size(0), places = given.structure.block_BS.size(1);
  const auto leaf = [&](std::int64_t heads) {
    return at::randn({batch, heads, places, given.head_dimension}).to(type).set_requires_grad(true);
  };
  const std::vector<at::Tensor> inputs{leaf(given.heads), leaf(given.key_heads), leaf(given.key_heads)};
  nn::AttentionMask mask;
  mask.tiles = nn::plan_tiles(given.structure, {}, places, {given.heads, given.head_dimension, type});
  const auto out = nn::attention(inputs[0], inputs[1], inputs[2], mask);
  std::vector<at::Tensor> wide;
  for (const auto& one : inputs) wide.push_back(one.detach().to(at::kDouble).set_requires_grad(true));
  const auto expected = dense_attention(wide[0], wide[1], wide[2], seen_pairs(given.structure));
  const auto gradient = at::randn(expected.sizes(), at::kDouble);
  const auto found = torch::autograd::grad({out}, inputs, {gradient.to(type)});
  const auto exact = torch::autograd::grad({expected}, wide, {gradient});
  const auto [relative, absolute] = tolerance_of(type);
  EXPECT_TRUE(at::allclose(out.to(at::kDouble), expected, relative, absolute))
      << (out.to(at::kDouble) - expected).abs().max();
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(at::allclose(found[i].to(at::kDouble), exact[i], relative, absolute))
        << i << ": " << (found[i].to(at::kDouble) - exact[i]).abs().max();
  }
}

class Drawn {
 public:
  explicit Drawn(unsigned seed) : random_(seed) {}

  std::int64_t below(std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_); }

  /// One row of texts, each clean and in noisy copies, in any order, with padding between them.
  void add_row(std::int64_t places, std::int64_t size, nn::BlockStructure& to) {
    std::vector<std::int64_t> block, copy, text;
    for (std::int64_t number = 0; std::ssize(block) < places; ++number) {
      const std::int64_t length = 1 + below(places), origin = below(size), copies = below(3), padding = below(4);
      const auto add = [&](std::int64_t of_copy, std::int64_t first) {
        for (std::int64_t i = first; i < length; ++i) {
          block.push_back((i + origin) / size), copy.push_back(of_copy), text.push_back(number);
        }
      };
      const bool clean_first = below(2) == 0;
      if (clean_first) add(0, 0);
      for (std::int64_t c = 1; c <= copies; ++c) add(c, below(length));
      if (!clean_first) add(0, 0);
      for (std::int64_t i = 0; i < padding; ++i) block.push_back(below(3)), copy.push_back(0), text.push_back(-1);
    }
    const auto row = [&](std::vector<std::int64_t>& values) {
      values.resize(static_cast<std::size_t>(places));
      return index_tensor(values).view({1, -1});
    };
    const auto append = [](at::Tensor& rows, const at::Tensor& one) {
      rows = rows.defined() ? at::cat({rows, one}) : one;
    };
    append(to.block_BS, row(block)), append(to.copy_BS, row(copy)), append(to.text_BS, row(text));
  }

 private:
  std::mt19937 random_;
};

TEST(AttentionTiles, OfDrawnStructuresAreAllPairs) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    at::manual_seed(seed);
    Drawn drawn(seed);
    const std::int64_t places = 2 + drawn.below(150), size = seed % 5 == 0 ? 1 : 1 + drawn.below(places + 10);
    Case given;
    given.key_heads = std::int64_t{1} << drawn.below(3);
    drawn.add_row(places, size, given.structure);
    drawn.add_row(places, size, given.structure);
    if (seed % 2 == 0) {  // rows that are equal
      for (auto* rows : {&given.structure.block_BS, &given.structure.copy_BS, &given.structure.text_BS})
        *rows = at::cat({*rows, rows->narrow(0, 1, 1)});
    }
    if (seed % 3 == 0) given.structure.key_mask_BS = at::rand(given.structure.block_BS.sizes()) > 0.2;
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) expect_exact(given, type);
  }
}

TEST(AttentionTiles, CountBlocksFromTheFirstToken) {
  const auto padding_B = index_tensor({0, 3, 3, 70});
  for (const std::int64_t size : {1, 4, 7, 64, 100}) {
    Case given;
    given.structure.block_BS = nn::blocks_of_places(padding_B, 100, size);
    given.structure.key_mask_BS = at::arange(100, at::kLong) >= padding_B.unsqueeze(1);
    expect_exact(given, at::kFloat);
  }
}

TEST(AttentionTiles, OfBfloat16WidenWhereProductsDo) {
  const auto before = kernels::bfloat16_products();
  for (const auto products : {kernels::Bfloat16Products::kNative, kernels::Bfloat16Products::kWidened}) {
    kernels::use_bfloat16_products(products);
    Case given;
    given.structure.block_BS = nn::blocks_of_places(index_tensor({0, 5}), 150, 4);
    expect_exact(given, at::kBFloat16);
  }
  kernels::use_bfloat16_products(before);
}

// [clean text | noisy copy of the response], as views of a block model are.
nn::BlockStructure two_copies(std::int64_t prompt, std::int64_t response, std::int64_t size) {
  const auto clean = at::arange(prompt + response, at::kLong).floor_divide(size);
  const auto noisy = clean.narrow(0, prompt, response);
  nn::BlockStructure structure;
  structure.block_BS = at::cat({clean, noisy}).unsqueeze(0);
  structure.copy_BS = at::cat({at::zeros_like(clean), at::zeros_like(noisy) + 1}).unsqueeze(0);
  return structure;
}

TEST(AttentionTiles, OfTwoCopiesComputeHardlyMoreThanIsSeen) {
  for (const std::int64_t size : {4, 16, 32}) {
    const auto structure = two_copies(256, 1024, size);
    const auto plan = nn::plan_tiles(structure, {}, 256 + 2048, {16, 128, at::kFloat});
    std::int64_t computed = 0;
    std::size_t ranges = 0;
    for (const auto& tile : plan->tiles) {
      computed += (tile.queries.end - tile.queries.first) * tile.columns;
      ranges = std::max(ranges, tile.keys.size());
    }
    EXPECT_LE(ranges, 2u);
    const auto seen = seen_pairs(structure).sum().item<std::int64_t>();
    EXPECT_LT(static_cast<double>(computed), 1.05 * static_cast<double>(seen)) << size;
  }
}

TEST(AttentionTiles, WhatSeesNothingIsZeroAndInNoTile) {
  nn::BlockStructure structure;
  structure.block_BS = at::full({1, 8}, 0, at::kLong);
  structure.text_BS = index_tensor({-1, -1, 0, 0, 0, -1, 1, 1}).view({1, 8});
  const auto plan = nn::plan_tiles(structure, {}, 8, {2, 4, at::kFloat});
  const auto x = at::randn({1, 2, 8, 4});
  const auto out = nn::tiled_attention(x, x, x, plan);
  EXPECT_EQ(out.ne(0).any(1).to(at::kLong).sum().item<std::int64_t>(), 5);
  EXPECT_EQ(out.index_select(0, index_tensor({0, 1, 5})).abs().sum().item<float>(), 0.0f);
  std::int64_t queries = 0;
  for (const auto& tile : plan->tiles) queries += tile.queries.end - tile.queries.first;
  EXPECT_EQ(queries, 5);
}

}  // namespace drift::attention_tiles_test
