// The CUDA kernels' own source, run on the CPU, against their references; and what the emulator finds.

#include <core/base/device.h>
#include <core/kernels/cuda/emulated.h>
#include <core/kernels/cuda/emulator.h>
#include <core/kernels/cuda/library.h>

#include "tests/support/kernel_comparisons.h"
#include "tests/support/support.h"

#include <ATen/Context.h>

namespace drift::emulated_kernels_test {

using kernels::emulated::launch, kernels::emulated::shared, kernels::emulated::threadIdx;
using testing::HasSubstr;

/// Threads from the first to the last, and from the last to the first.
class EmulatedKernels : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    at::manual_seed(1);
    kernels::emulated::run_in_reverse(GetParam());
  }
  void TearDown() override { kernels::emulated::run_in_reverse(false); }

  const test::KernelMachine machine_{kernels::cuda::emulated_kernels(), at::kCPU, /*draws=*/4,
                                     /*logit_tolerance=*/1.0 / 64};
};

TEST_P(EmulatedKernels, Norm) { test::compare_norms(machine_); }
TEST_P(EmulatedKernels, Rotation) { test::compare_rotations(machine_); }
TEST_P(EmulatedKernels, Gate) { test::compare_gates(machine_); }
TEST_P(EmulatedKernels, Head) { test::compare_head(machine_); }
TEST_P(EmulatedKernels, Draws) { test::compare_draws(machine_); }
TEST_P(EmulatedKernels, Uniforms) { test::compare_uniforms(machine_); }
TEST_P(EmulatedKernels, Commits) { test::compare_commits(machine_); }
TEST_P(EmulatedKernels, Widening) { test::compare_widening(machine_); }
TEST_P(EmulatedKernels, Dropout) { test::compare_dropout(machine_); }
TEST_P(EmulatedKernels, AdamW) { test::compare_adamw(machine_); }

INSTANTIATE_TEST_SUITE_P(Orders, EmulatedKernels, testing::Bool(),
                         [](const auto& order) { return order.param ? "LastThreadFirst" : "FirstThreadFirst"; });

std::string failure_of(void (*kernel)(), std::int64_t dynamic_shared_bytes = 0) {
  try {
    launch(kernel, {2, 64, dynamic_shared_bytes}, nullptr);
    return "";
  } catch (const std::logic_error& error) {
    return error.what();
  }
}

TEST(Emulator, NamesThoseWhoMissABarrier) {
  const auto text = failure_of([] {
    if (threadIdx.x < 40) kernels::emulated::__syncthreads();
  });
  EXPECT_THAT(text, HasSubstr("block 0"));
  EXPECT_THAT(text, HasSubstr("thread 0 waits at"));
  EXPECT_THAT(text, HasSubstr("emulated_kernels_test.cpp"));
  EXPECT_THAT(text, HasSubstr("thread 40 has ended"));
}

TEST(Emulator, NamesDifferentBarriers) {
  const auto text = failure_of([] {
    if (threadIdx.x < 32) {
      kernels::emulated::__syncthreads();
    } else {
      kernels::emulated::__syncthreads();
    }
  });
  EXPECT_THAT(text, HasSubstr("thread 32 waits at"));
}

TEST(Emulator, NamesAnExchangeThatNotAllLanesReach) {
  EXPECT_THAT(failure_of([] {
                if (threadIdx.x != 5) kernels::emulated::__shfl_xor_sync(~0u, 1, 1);
              }),
              HasSubstr("thread 5 has ended"));
}

TEST(Emulator, RunsAfterAFailure) {
  EXPECT_EQ(failure_of([] { kernels::emulated::__syncthreads(); }), "");
}

TEST(Emulator, DynamicSharedMemoryEndsWhereTheLaunchSays) {
  const auto too_long = [] { kernels::emulated::dynamic_shared<float>(2); };
  EXPECT_EQ(failure_of(too_long, 8), "");
  EXPECT_THAT(failure_of(too_long, 4), HasSubstr("uses 8 bytes of dynamic shared memory, and its launch gave 4"));
  EXPECT_THAT(failure_of([] { kernels::emulated::dynamic_shared<float>(1)[1] = 0; }, 4), HasSubstr("element 1 of 1"));
  EXPECT_EQ(failure_of([] { kernels::emulated::__syncthreads(); }), "");  // and runs on
}

struct Cell {
  float value[64];
};

TEST(Emulator, SharedMemoryIsNotANumberUntilItIsWritten) {
  static float seen = 0;
  launch(
      +[] {
        if (threadIdx.x == 0) seen = shared<Cell>().value[3];
        shared<Cell>().value[3] = 1;
      },
      {2, 32}, nullptr);
  EXPECT_TRUE(std::isnan(seen));
}

/// Reads what another thread writes without a barrier between.
float first_seen_by_a_race() {
  static float seen = 0;
  launch(
      +[] {
        shared<Cell>().value[threadIdx.x] = 1;
        if (threadIdx.x == 0) seen = shared<Cell>().value[1];
      },
      {1, 32}, nullptr);
  return seen;
}

TEST(Emulator, ARaceGivesOtherNumbersInTheOtherOrder) {
  EXPECT_TRUE(std::isnan(first_seen_by_a_race()));
  kernels::emulated::run_in_reverse(true);
  EXPECT_EQ(first_seen_by_a_race(), 1);
  kernels::emulated::run_in_reverse(false);
}

// Its loading asks for no driver.
TEST(KernelLibrary, IsThereWhereTheBuildHasCuda) {
  EXPECT_EQ(kernels::cuda::built_kernels() != nullptr,
            std::filesystem::exists(test::build_dir() / "lib/libdrift_cuda.so"));
}

}  // namespace drift::emulated_kernels_test
