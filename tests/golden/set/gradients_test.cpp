// The cases of grad/: the loss is the sum of the log-probabilities of the labels where target_mask is 1.
#include "tests/golden/set/golden_set.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/eval/block_forwards.h>

#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift::gradients_test {

/// The row of a case, and where the positions are whose labels the case has.
TwoCopies row_of(const test::GoldenCase& golden, const SafetensorsFile& file, const Model& model) {
  if (golden.mode.starts_with("two_copy_"))
    return two_copies(file, golden.mode, golden.json.at("block").get<std::int64_t>(), model);
  TwoCopies row;  // of a model that sees all, with the prompt's padding hidden
  row.input.tokens_BS = file.tensor("masked_input");
  const auto prompt_BP = file.tensor("prompt_mask");
  row.length = file.tensor("labels").size(1);
  row.noisy_first = prompt_BP.size(1);
  row.input.key_mask_BS = at::cat({prompt_BP.ne(0), at::ones({prompt_BP.size(0), row.length}, at::kBool)}, 1);
  return row;
}

TEST(GoldenGradients, AreThoseOfTheOriginals) {
  for (const auto& golden : test::golden_cases("grad")) {
    SCOPED_TRACE(golden.id);
    const auto model = golden.model();
    const auto file = golden.tensors();
    const auto row = row_of(golden, file, *model);
    const std::int64_t rows = row.input.tokens_BS.size(0);
    const auto logits_BSV = at::matmul(model->forward(row.input), model->lm_head_VH().t())
                                .view({rows, -1, model->traits().vocabulary_size});
    const auto logps_BSV = logits_BSV.narrow(1, row.noisy_first, row.length).log_softmax(-1);
    const auto logps_BL = logps_BSV.gather(2, file.tensor("labels").unsqueeze(2)).squeeze(2);
    const auto atol = golden.json.at("atol").get<double>();
    const auto counted_BL = file.tensor("target_mask");  // some of the originals give 0 elsewhere
    EXPECT_TRUE(at::allclose(logps_BL * counted_BL, file.tensor("logps") * counted_BL, 1e-5, atol));
    const auto loss = (logps_BL * counted_BL).sum();
    EXPECT_NEAR(loss.item<double>(), golden.json.at("loss").get<double>(), 1e-3);
    std::map<std::string, at::Tensor> parameters;
    for (const auto& [name, tensor] : model->parameters()) parameters[name] = tensor;
    for (const auto& [name, tolerance] : golden.json.at("grad_atol").items()) {
      const auto found = torch::autograd::grad({loss}, {parameters.at(name)}, {}, /*retain_graph=*/true).front();
      const auto expected = file.tensor("grad." + name);
      const auto dense = found.is_sparse() ? found.to_dense() : found;
      EXPECT_TRUE(at::allclose(dense, expected, 1e-5, tolerance.get<double>()))
          << name << ": " << (dense - expected).abs().max().item<double>() << ", allowed " << tolerance;
    }
  }
}

}  // namespace drift::gradients_test
