// The table of docs/models.md: how far logits in float32 and bfloat16 are from float64, on the golden forwards.
//
//   build/release/tests/precision_table

#include "tests/support/golden_backbones.h"
#include "tests/support/tensors.h"

#include <ATen/ops/abs.h>

#include <cstdio>

namespace drift::test {
namespace {

void print_case(const GoldenBackboneCase& golden) {
  const at::NoGradGuard no_gradient;
  const auto exact = open_checkpoint(golden.family, golden.checkpoint, at::kDouble);
  auto reference = read_reference_logits(SafetensorsFile(golden.file), exact->traits());
  const auto original = reference;
  const auto hidden = exact->forward({reference.input_ids_BS, reference.attention_mask_BS, {}});
  reference.logits_BSV = hidden.matmul(exact->lm_head_VH().t()).view(original.logits_BSV.sizes());
  const double scale = reference.logits_BSV.abs().mean().item<double>();
  std::printf("| %s | %.2f | %.1e |", golden.id.c_str(), scale,
              compare_logits(original.logits_BSV, reference, 0).largest_difference);
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto model = open_checkpoint(golden.family, golden.checkpoint, dtype);
    const auto found = check_logits(*model, reference, 0);
    std::printf(" %.1e | %.1e | %.1f %% |", found.largest_difference, found.mean_difference, 100 * found.equal_argmax);
  }
  std::printf("\n");
}

}  // namespace
}  // namespace drift::test

int main() {
  std::printf(
      "| case | mean size of a logit | original, float32: largest | float32: largest | mean | equal arg-maxima | "
      "bfloat16: largest | mean | equal arg-maxima |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& golden : drift::test::golden_backbone_cases("forward")) {
    // The reference model here masks padding and computes entire sequences.
    if (golden.window_end == 0 && golden.mode != "leftpad_ignored") drift::test::print_case(golden);
  }
}
