// The golden cases of the backbones, computed on a GPU by the same sources.

#include "tests/gpu/on_the_gpu.h"
#include "tests/support/golden_backbones.h"

#include <gtest/gtest.h>

namespace drift::backbones_cuda_test {
namespace {

using test::GoldenBackboneCase;

std::string case_name(const testing::TestParamInfo<GoldenBackboneCase>& info) { return info.param.id; }

using OnTheGpu = test::OnTheGpu<testing::TestWithParam<GoldenBackboneCase>>;

class GoldenForwardOnTheGpu : public OnTheGpu {};

TEST_P(GoldenForwardOnTheGpu, IsTheOriginals) {
  const auto found = test::check_forward_case(GetParam(), at::kFloat, device_);
  EXPECT_LE(found.largest_excess, GetParam().absolute_tolerance);
}

INSTANTIATE_TEST_SUITE_P(Manifest, GoldenForwardOnTheGpu, testing::ValuesIn(test::golden_backbone_cases("forward")),
                         case_name);

class GoldenBfloat16OnTheGpu : public OnTheGpu {};

TEST_P(GoldenBfloat16OnTheGpu, StaysAsNearAsTheOriginals) {
  EXPECT_LE(test::check_forward_case(GetParam(), at::kBFloat16, device_).largest_difference,
            GetParam().bfloat16_tolerance);
}

INSTANTIATE_TEST_SUITE_P(Manifest, GoldenBfloat16OnTheGpu, testing::ValuesIn(test::golden_bfloat16_cases()), case_name);

class GoldenLogProbabilitiesOnTheGpu : public OnTheGpu {};

TEST_P(GoldenLogProbabilitiesOnTheGpu, AndGradientsAreTheOriginals) {
  test::check_log_probability_case(GetParam(), device_);
}

INSTANTIATE_TEST_SUITE_P(Manifest, GoldenLogProbabilitiesOnTheGpu,
                         testing::ValuesIn(test::golden_backbone_cases("logp")), case_name);

}  // namespace
}  // namespace drift::backbones_cuda_test
