#pragma once

#include <core/base/device.h>

#include <drift/error.h>

#include <gtest/gtest.h>

namespace drift::test {

/// A fixture on top of testing::Test or a TestWithParam: its tests are skipped, with the reason, where CUDA cannot be
/// used.
template <class Test = testing::Test>
class OnTheGpu : public Test {
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

}  // namespace drift::test
