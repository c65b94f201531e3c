// A model whose blocks' weights stay in the checkpoint's files computes what the same model in memory computes.

#include <core/boundary/streamed_model.h>
#include <core/nn/block_weights.h>

#include "tests/support/alone.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <drift/error.h>
#include <drift/parallel.h>

#include <tuple>

namespace drift::streamed_model_test {

class StreamedModel : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  RunConfig config() const {
    const auto& [family, type] = GetParam();
    const std::string set = family == "sdar" ? "block" : "data";
    const auto folder = test::source_dir() / "tests/golden" / set / "ckpt" / (family + "_a");
    const std::vector<ConfigOverride> all{{"", "model.path", folder.string(), /*literal=*/true},
                                          {"", "model.name", family, /*literal=*/true},
                                          {"", "model.dtype", type, /*literal=*/true}};
    return resolve_config(load_document({}, all), registry(), ConfigPurpose::kModelOnly);
  }
  const Registry& registry() const { return test::load_plugin(std::get<0>(GetParam())); }
  RunHost& host() const { return test::host_of(registry()); }

  static at::Tensor some_tokens(std::int64_t sequences) {
    return (at::arange(sequences * 29, at::kLong) * 37 + 11).remainder(140).view({sequences, 29});
  }

  const at::NoGradGuard no_gradient_;
};

TEST_P(StreamedModel, ComputesTheSameBits) {
  const ModelShapes shapes(host(), config(), WhichAdapters::kAll);
  const auto held = open_initial_model(test::alone, shapes), streamed = open_streamed_model(shapes);
  for (int again = 0; again < 2; ++again) {
    const auto expected = held->forward({some_tokens(3), {}, {}});
    EXPECT_TRUE(at::equal(streamed->forward({some_tokens(3), {}, {}}), expected));
  }
  EXPECT_TRUE(at::equal(streamed->lm_head_VH(), held->lm_head_VH()));
}

TEST_P(StreamedModel, HoldsOneBlock) {
  const auto streamed = open_streamed_model({host(), config(), WhichAdapters::kAll});
  const auto* blocks = capability<nn::BlockWeightsOnDemand>(*streamed);
  ASSERT_NE(blocks, nullptr);
  ASSERT_GT(streamed->traits().layers, 1);
  const auto first = blocks->block_parameters(0), last = blocks->block_parameters(streamed->traits().layers - 1);
  ASSERT_EQ(first.size(), last.size());
  for (std::size_t p = 0; p < first.size(); ++p) {
    EXPECT_NE(first[p].name, last[p].name);
    EXPECT_EQ(first[p].tensor.const_data_ptr(), last[p].tensor.const_data_ptr()) << first[p].name;
  }
  const auto bytes = streamed_bytes(*streamed, /*on_cpu=*/true);
  EXPECT_EQ(bytes.blocks, streamed->traits().layers * bytes.held);
}

// As the rows of a small model are scored: each worker's forward needs the blocks in its own order.
TEST_P(StreamedModel, WorkersDoNotDisturbEachOther) {
  const ModelShapes shapes(host(), config(), WhichAdapters::kAll);
  const auto held = open_initial_model(test::alone, shapes), streamed = open_streamed_model(shapes);
  std::vector<at::Tensor> expected(8), found(8);
  const auto forward = [&](const Model& model, std::vector<at::Tensor>& into) {
    parallel_rows(2, 8, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      const at::NoGradGuard no_gradient;
      for (std::int64_t i = begin; i < end; ++i)
        into[static_cast<std::size_t>(i)] = model.forward({some_tokens(i + 1), {}, {}});
    });
  };
  forward(*held, expected);
  forward(*streamed, found);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(found[i], expected[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(Backbones, StreamedModel,
                         testing::Combine(testing::Values("llada", "dream", "sdar"),
                                          testing::Values("float32", "bfloat16")),
                         [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

}  // namespace drift::streamed_model_test
