// A model with blocks: forwards against kept keys and values are the full forward, and the row of two copies that is
// trained on.

#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/base/component_host.h>
#include <core/update/view_rows.h>

#include <drift/cached_forward.h>
#include <drift/error.h>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/stack.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift::block_model_test {

constexpr std::int64_t kBlock = 4, kMask = 149;

std::unique_ptr<Model> open() {
  return test::open_checkpoint("sdar", test::source_dir() / "tests/golden/block/ckpt/sdar_a", at::kFloat, at::kCPU, {});
}

at::Tensor some_tokens(std::int64_t rows, std::int64_t length) {
  return (at::arange(rows * length, at::kLong) * 37 + 11).remainder(130).view({rows, length});
}

/// Each third token is the mask.
at::Tensor noisy(const at::Tensor& tokens_BS) {
  const auto masked_S = at::arange(tokens_BS.size(1), at::kLong).remainder(3).eq(0);
  return at::where(masked_S, at::full({}, kMask, at::kLong), tokens_BS);
}

bool near(const at::Tensor& a, const at::Tensor& b) { return at::allclose(a, b, 1e-5, 2e-5); }

ForwardInput two_copies(const at::Tensor& clean, const at::Tensor& noisy_copy) {
  const auto position = at::arange(clean.size(1), at::kLong).expand(clean.sizes());
  const auto twice = [](const at::Tensor& one) { return at::cat({one, one}, 1); };
  ForwardInput input;
  input.tokens_BS = at::cat({clean, noisy_copy}, 1);
  input.positions_BS = twice(position);
  input.block_BS = twice(position.floor_divide(kBlock));
  input.copy_BS = at::cat({at::zeros_like(clean), at::ones_like(clean)}, 1);
  return input;
}

TEST(BlockModel, ACacheOfBlocksIsTheFullForwardAndTheTwoCopyRow) {
  const at::NoGradGuard no_gradient;
  const auto model = open();
  const auto& cached = *capability<CachedForward>(*model);
  const std::int64_t length = 22, prefill = 8, group = 3;
  // A prompt, and what three responses are to it, of which the last block is not whole.
  auto clean = some_tokens(group, length);
  clean.narrow(1, 0, prefill).copy_(clean.narrow(0, 0, 1).narrow(1, 0, prefill).expand({group, prefill}).clone());
  const auto copy = noisy(clean);
  const auto both = model->forward(two_copies(clean, copy)).view({group, 2 * length, -1});
  const auto full = model->forward({clean, {}, {}}).view({group, length, -1});
  EXPECT_TRUE(near(both.narrow(1, 0, length), full));

  const auto of_prompt = cached.make_cache(1, length);
  const auto first = cached.forward_window({clean.narrow(0, 0, 1).narrow(1, 0, prefill), {}, {}},
                                           {at::zeros({1}, at::kLong)}, *of_prompt);
  EXPECT_TRUE(near(first, full[0].narrow(0, 0, prefill)));
  const auto cache = of_prompt->select(at::zeros({group}, at::kLong));
  for (std::int64_t begin = prefill; begin < length; begin += kBlock) {
    const std::int64_t size = std::min(kBlock, length - begin);
    const CacheWindow window{at::full({group}, begin, at::kLong)};
    const auto scored = cached.forward_window({copy.narrow(1, begin, size), {}, {}}, window, *cache);
    EXPECT_TRUE(near(scored.view({group, size, -1}), both.narrow(1, length + begin, size))) << begin;
    const auto kept = cached.forward_window({clean.narrow(1, begin, size), {}, {}}, window, *cache);
    EXPECT_TRUE(near(kept.view({group, size, -1}), full.narrow(1, begin, size))) << begin;
  }
}

TEST(BlockModel, RowsAtTheirOwnPlacesWithTheirOwnPaddingAreWhatTheyAreAlone) {
  const at::NoGradGuard no_gradient;
  const auto model = open();
  const auto& cached = *capability<CachedForward>(*model);
  const std::int64_t length = 24;
  const std::vector<std::int64_t> padding = {0, 3, 5}, begin = {8, 3, 13};
  const auto tokens = some_tokens(3, length);
  for (const std::int64_t width : {2, 4, 9}) {  // a part of a block, a block, several
    const auto cache = cached.make_cache(3, length);
    const auto key_mask_BS = at::arange(length, at::kLong) >= index_tensor(padding).unsqueeze(1);
    CacheWindow all{at::zeros({3}, at::kLong)};
    all.key_mask_BS = key_mask_BS;
    cached.forward_window({tokens, {}, {}}, all, *cache);
    std::vector<at::Tensor> parts;
    for (std::int64_t b = 0; b < 3; ++b) parts.push_back(tokens[b].narrow(0, begin[b], width));
    CacheWindow window{index_tensor(begin)};
    window.key_mask_BS = key_mask_BS;
    const auto found = cached.forward_window({at::stack(parts), {}, {}}, window, *cache).view({3, width, -1});
    for (std::int64_t b = 0; b < 3; ++b) {
      const auto alone = model->forward({tokens.narrow(0, b, 1).narrow(1, padding[b], length - padding[b]), {}, {}});
      EXPECT_TRUE(near(found[b], alone.narrow(0, begin[b] - padding[b], width))) << width << ", row " << b;
    }
  }
}

TEST(BlockModel, LeftPaddingDoesNotMatterAndGivesFiniteNumbers) {
  const at::NoGradGuard no_gradient;
  const auto model = open();
  const auto tokens = some_tokens(2, 19);
  ForwardInput padded{tokens, at::arange(19, at::kLong) >= index_tensor({0, 6}).unsqueeze(1), {}};
  const auto together = model->forward(padded).view({2, 19, -1});
  EXPECT_TRUE(near(together[1].narrow(0, 6, 13), model->forward({tokens.narrow(0, 1, 1).narrow(1, 6, 13), {}, {}})));
  EXPECT_TRUE(at::isfinite(together).all().item<bool>());
  padded.padding_B = index_tensor({0, 6});
  EXPECT_TRUE(model->forward(padded).view({2, 19, -1}).equal(together));
}

TEST(BlockModel, RecomputedBlocksAndWantedRowsHaveTheSameGradients) {
  const auto model = open();
  const auto clean = some_tokens(2, 13);
  std::vector<std::vector<at::Tensor>> found;
  for (const bool recompute : {false, true}) {
    auto input = two_copies(clean, noisy(clean));
    input.recompute_blocks = recompute;
    input.rows_N = at::arange(13, 26, at::kLong);
    std::vector<at::Tensor> weights;
    for (const auto& [name, tensor] : model->parameters()) {
      if (name != "lm_head.weight" && tensor.dim() == 2) weights.push_back(tensor);
    }
    const auto hidden_NH = model->forward(input);
    EXPECT_EQ(hidden_NH.size(0), 13);
    found.push_back(torch::autograd::grad({hidden_NH.square().sum()}, weights));
  }
  for (std::size_t i = 0; i < found[0].size(); ++i) {
    const auto dense = [&](std::size_t of) {
      return found[of][i].is_sparse() ? found[of][i].to_dense() : found[of][i];
    };
    EXPECT_TRUE(dense(0).equal(dense(1))) << i;
  }
}

TEST(BlockModel, TheContextIsComparedWithPositionsNotWithTheRow) {
  const at::NoGradGuard no_gradient;
  const auto model = open();
  const std::int64_t context = model->traits().context_length;
  const auto clean = some_tokens(1, context);
  auto input = two_copies(clean, noisy(clean));
  EXPECT_NO_THROW(model->forward(input));
  input.positions_BS = input.positions_BS + 1;
  EXPECT_THROW(model->forward(input), Error);
}

TEST(BlockModel, KeepsNoScores) {
  const auto model = open();
  EXPECT_EQ(model->training_bytes_per_row(800), 8 * model->training_bytes_per_row(100));
}

}  // namespace drift::block_model_test
