// Gradients, the LM head, sampling and rollouts on a GPU against the CPU.

#include "tests/gpu/on_the_gpu.h"
#include "tests/support/device_comparisons.h"

#include <gtest/gtest.h>

namespace drift::cpu_comparison_cuda_test {
namespace {

using AgainstTheCpu = test::OnTheGpu<>;

TEST_F(AgainstTheCpu, PolicyGradientsAreTheSame) { test::compare_policy_gradients(device_); }
TEST_F(AgainstTheCpu, PaddedRowsAreTheSame) { test::compare_padded_rows(device_); }
TEST_F(AgainstTheCpu, TheHeadIsTheSame) { test::compare_heads(device_); }
TEST_F(AgainstTheCpu, SamplingIsTheSame) { test::compare_sampling(device_); }
TEST_F(AgainstTheCpu, RolloutsAreTheSame) { test::compare_rollouts(device_); }

}  // namespace
}  // namespace drift::cpu_comparison_cuda_test
