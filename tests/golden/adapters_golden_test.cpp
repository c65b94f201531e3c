// Adapters against the package peft: folders that it saved, what it computes with them, and its gradients of A and B
// (tests/golden/adapter_fixture.py).

#include "tests/support/golden_backbones.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/base/adapters.h>
#include <core/io/adapter_files.h>
#include <core/io/safetensors.h>

#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift::adapters_golden_test {

struct PeftCase {
  std::string name, family;
  std::int64_t rank;
  double alpha;
  std::size_t modules;
};

/// Both sides rounded their sums, in float32 and in orders that depend on the processor: measured against the largest.
bool equal_within_rounding(const at::Tensor& got, const at::Tensor& peft) {
  return at::allclose(got, peft, 0, 1e-5 * peft.abs().max().item<double>());
}

class Peft : public testing::TestWithParam<PeftCase> {
 protected:
  std::filesystem::path golden() const { return test::source_dir() / "tests/golden"; }
  std::filesystem::path adapter() const { return golden() / "adapters" / GetParam().name; }
  std::filesystem::path checkpoint() const { return golden() / "data/ckpt" / (GetParam().family + "_a"); }

  std::unique_ptr<Model> open() const {
    auto model = test::open_with_adapters(GetParam().family, checkpoint(), read_adapter(adapter()));
    load_adapter(adapter(), adapter_parameters(*model));
    return model;
  }
};

TEST_P(Peft, FoldersAreRead) {
  const auto read = read_adapter(adapter());
  EXPECT_EQ(read.rank, GetParam().rank);
  EXPECT_EQ(read.alpha, GetParam().alpha);
  EXPECT_EQ(read.modules.size(), GetParam().modules);
}

TEST_P(Peft, LogitsAndGradientsAreItsOwn) {
  const auto model = open();
  const SafetensorsFile expected(adapter() / "expected.safetensors");
  const auto tokens = expected.tensor("input_ids");
  const auto logits = at::mm(model->forward({tokens, {}, {}}), model->lm_head_VH().t());
  const auto by_row = logits.detach().view({tokens.size(0), tokens.size(1), -1});
  const auto every_fourth = at::arange(0, tokens.size(1), 4, at::kLong);
  EXPECT_TRUE(equal_within_rounding(by_row.index_select(1, every_fourth), expected.tensor("logits")));

  std::vector<at::Tensor> tensors;
  for (const auto& adapter : adapter_parameters(*model)) tensors.push_back(adapter.tensor);
  const auto weights = at::arange(logits.numel(), at::kLong).to(at::kFloat).sin().view_as(logits);
  const auto gradients = torch::autograd::grad({logits}, tensors, {weights});
  ASSERT_EQ(2 * GetParam().modules, gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto name = adapter_parameters(*model)[i].name;
    const auto peft = expected.tensor("grad." + name);
    EXPECT_TRUE(equal_within_rounding(gradients[i], peft)) << name;
  }
}

TEST_P(Peft, ItsFolderIsWrittenAsItWasRead) {
  const auto model = open();
  const test::TemporaryFolder folder;
  write_adapter_files(folder.path(), read_adapter(adapter()), adapter_parameters(*model));
  EXPECT_EQ(test::read_file(folder.path() / "adapter_model.safetensors"),
            test::read_file(adapter() / "adapter_model.safetensors"));
  EXPECT_THAT(read_adapter(folder.path()).modules, testing::UnorderedElementsAreArray(read_adapter(adapter()).modules));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Peft,
                         testing::Values(PeftCase{"llada_all", "llada", 2, 3, 14},
                                         PeftCase{"dream_some", "dream", 3, 16, 9}),
                         [](const auto& info) { return info.param.name; });

}  // namespace drift::adapters_golden_test
