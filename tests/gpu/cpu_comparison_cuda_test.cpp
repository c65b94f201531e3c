// Gradients, the LM head, sampling and rollouts on a GPU against the CPU.

#include <core/base/device.h>

#include <drift/error.h>

#include "tests/support/device_comparisons.h"

#include <gtest/gtest.h>

namespace drift {
namespace {

class AgainstTheCpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = run_device("cuda");
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  at::Device device_ = at::kCPU;
};

TEST_F(AgainstTheCpu, PolicyGradientsAreTheSame) { test::compare_policy_gradients(device_); }
TEST_F(AgainstTheCpu, TheHeadIsTheSame) { test::compare_heads(device_); }
TEST_F(AgainstTheCpu, SamplingIsTheSame) { test::compare_sampling(device_); }
TEST_F(AgainstTheCpu, RolloutsAreTheSame) { test::compare_rollouts(device_); }

}  // namespace
}  // namespace drift
