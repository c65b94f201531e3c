// Backbones against the original model code, case by case as manifest.json lists them: logits with and without padding
// and with kept keys and values, log-probabilities and gradients as training scores them.

#include "tests/support/golden_backbones.h"

#include <gtest/gtest.h>

namespace drift::backbones_test {

using test::GoldenBackboneCase;

std::string case_name(const testing::TestParamInfo<GoldenBackboneCase>& info) { return info.param.id; }

class GoldenForward : public testing::TestWithParam<GoldenBackboneCase> {};

TEST_P(GoldenForward, IsTheOriginals) {
  const auto found = test::check_forward_case(GetParam());
  EXPECT_LE(found.largest_excess, GetParam().absolute_tolerance) << "largest difference " << found.largest_difference;
  EXPECT_GT(found.rows, 0);
}

INSTANTIATE_TEST_SUITE_P(Manifest, GoldenForward, testing::ValuesIn(test::golden_backbone_cases("forward")), case_name);

class GoldenBfloat16 : public testing::TestWithParam<GoldenBackboneCase> {};

// Arithmetic in bfloat16 against the original's in float32, both with the same weights.
TEST_P(GoldenBfloat16, StaysAsNearAsTheOriginals) {
  const auto found = test::check_forward_case(GetParam(), at::kBFloat16);
  EXPECT_LE(found.largest_difference, GetParam().bfloat16_tolerance);
  EXPECT_GT(found.largest_difference, 1e-3) << "this was not computed in bfloat16";
}

INSTANTIATE_TEST_SUITE_P(Manifest, GoldenBfloat16, testing::ValuesIn(test::golden_bfloat16_cases()), case_name);

class GoldenLogProbabilities : public testing::TestWithParam<GoldenBackboneCase> {};

TEST_P(GoldenLogProbabilities, AndGradientsAreTheOriginals) { test::check_log_probability_case(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Manifest, GoldenLogProbabilities, testing::ValuesIn(test::golden_backbone_cases("logp")),
                         case_name);

}  // namespace drift::backbones_test
