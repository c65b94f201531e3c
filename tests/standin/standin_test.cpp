// What would go wrong on a GPU is found on the stand-in: each kind of mistake, made on purpose, and beside it what is
// right.

#include <core/kernels/cuda/library.h>

#include "tests/gpu/on_the_gpu.h"
#include "tests/standin/kernel_memory.h"
#include "tests/standin/report.h"
#include "tests/support/device_waits.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <ATen/Context.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace drift::standin_test {
namespace {

const testing::ExitedWithCode kFails(standin::kFailureStatus);

class StandIn : public test::OnTheGpu<> {
 protected:
  void SetUp() override {
    OnTheGpu::SetUp();
    if (!IsSkipped() && standin::use_by_kernel() == nullptr)
      GTEST_SKIP() << "this is a GPU; ctest -L standin runs these tests on the stand-in";
    if (!IsSkipped()) other_ = c10::impl::VirtualGuardImpl(c10::kCUDA).getStreamFromGlobalPool(device_);
  }

  at::Tensor ones(std::int64_t size) const { return at::ones({size}, device_); }
  static at::Tensor pinned(std::int64_t size) {
    return at::empty({size}, at::TensorOptions(at::kFloat).pinned_memory(true));
  }

  void in_other_stream(const std::function<void()>& work) const {
    const c10::StreamGuard guard(*other_);
    work();
  }
  c10::Stream this_stream() const { return c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(device_); }
  static void make_wait(const c10::Stream& stream, const c10::Stream& awaited) {
    c10::Event event(c10::kCUDA);
    event.record(awaited);
    event.block(stream);
  }

  std::optional<c10::Stream> other_;
};
using StandInDeathTest = StandIn;

// ---- whose memory it is ----

TEST_F(StandInDeathTest, TheHostMayNotTouchDeviceMemory) {
  const auto x = ones(8);
  EXPECT_EXIT(std::cout << *x.data_ptr<float>(), kFails, "the host touches device memory, block of 32 bytes");
  EXPECT_EXIT(*x.data_ptr<float>() = 1, kFails, "the host touches device memory");
}

TEST_F(StandIn, TensorsOfBothDevicesDoNotMeet) {
  const auto x_here = at::ones({4, 4}), x = x_here.to(device_);
  EXPECT_THROW(at::mm(x, x_here), c10::Error);
  EXPECT_THROW(x + x_here, c10::Error);
  EXPECT_THROW(x.index_select(0, at::zeros({1}, at::kLong)), c10::Error);
  EXPECT_THROW(x.index_select(0, at::scalar_tensor(1, at::kLong)), c10::Error);
  EXPECT_EQ((x + at::scalar_tensor(1.0)).sum().item<double>(), 32);
}

TEST_F(StandInDeathTest, AKernelGetsNoMemoryOfTheHost) {
  const auto here = at::ones({1, 8}), there = at::ones({1, 8}, device_);
  const auto norm = [](const at::Tensor& x, const at::Tensor& y) {
    kernels::cuda::RmsNormCall call{};
    call.x = x.data_ptr(), call.weight = x.data_ptr(), call.y = y.data_ptr();
    call.inverse = y.data_ptr<float>();
    call.rows = 1, call.width = 8;
    kernels::cuda::built_kernels()->rms_norm(call, nullptr);
  };
  EXPECT_EXIT(norm(here, there), kFails, "rms_norm.* gets a pointer to the host's");
  norm(there, at::empty({1, 8}, device_));
}

// ---- order ----

TEST_F(StandInDeathTest, AStreamThatDoesNotWaitIsFound) {
  const auto x = ones(8);
  const auto y = x + 1;  // read in this stream
  EXPECT_EXIT(in_other_stream([&] { x + 1; }), kFails, "read after write");
  make_wait(*other_, this_stream());
  in_other_stream([&] { x + 1; });
  y.zero_();
  EXPECT_EXIT(in_other_stream([&] { y.zero_(); }), kFails, "write after write");
  EXPECT_EXIT(x.zero_(), kFails, "write after read");
  make_wait(this_stream(), *other_);
  x.zero_();
}

TEST_F(StandInDeathTest, MemoryIsNotFreedWhileAnotherStreamUsesIt) {
  auto x = ones(8);
  make_wait(*other_, this_stream());
  in_other_stream([&] { x + 1; });
  EXPECT_EXIT(x.reset(), kFails, "freed while stream .* uses it");
  x.record_stream(*other_);
  x.reset();
}

TEST_F(StandIn, ACopyOfPinnedMemoryIsLate) {
  const auto here = pinned(8), x = ones(8);
  here.copy_(x, /*non_blocking=*/true);
  EXPECT_TRUE(std::isnan(here.data_ptr<float>()[5])) << "the host sees what a GPU may not have written yet";
  this_stream().synchronize();
  EXPECT_EQ(here.data_ptr<float>()[5], 1);
  x.copy_(here, /*non_blocking=*/true);
  here.fill_(2);  // too early
  EXPECT_EQ(x.sum().item<double>(), 16);
}

TEST_F(StandIn, ALateCopyIsDoneForAStreamThatWaitsForIt) {
  const auto here = pinned(8).fill_(3);
  auto x = at::empty({8}, device_);
  make_wait(*other_, this_stream());
  in_other_stream([&] { x.copy_(here, /*non_blocking=*/true); });
  make_wait(this_stream(), *other_);
  const auto y = x + 1;
  x.reset();
  EXPECT_EQ(y.sum().item<double>(), 32);
}

TEST_F(StandIn, NewMemoryHoldsNaN) {
  EXPECT_TRUE(at::empty({4}, device_).isnan().all().item<bool>());
  EXPECT_TRUE(pinned(4).isnan().all().item<bool>());
}

// ---- what is counted ----

TEST_F(StandIn, WaitsAreCounted) {
  const auto x = ones(8), here = pinned(8);
  EXPECT_EQ(test::waits_of([&] { x.sum().item<float>(); }), 1);
  EXPECT_EQ(test::waits_of([&] { x.nonzero(); }), 1);
  EXPECT_EQ(test::waits_of([&] { x.index({x > 0}); }), 1);
  EXPECT_EQ(test::waits_of([&] { x.cpu(); }), 1);
  EXPECT_EQ(test::waits_of([&] { x.copy_(here); }), 1);
  EXPECT_EQ(test::waits_of([&] { here.copy_(x, /*non_blocking=*/true), x.copy_(here, true), x.clone() + x; }), 0);
}

/// The lines that a process writes which does this and ends.
std::string reported(const std::function<void()>& work) {
  const test::TemporaryFolder folder;
  const auto end = [&] {
    ::setenv("DRIFT_STANDIN_REPORT", (folder.path() / "report").c_str(), 1);
    work();
    std::exit(0);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(0), "");
  std::string lines;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) lines += test::read_file(file.path());
  return lines;
}

TEST_F(StandInDeathTest, WaitsAndAtomicsAreReportedWithTheirPlaces) {
  const auto x = ones(8), index = at::zeros({8}, at::TensorOptions(at::kLong).device(device_));
  const auto work = [&] {
    x.index_add_(0, index, x.clone());
    index.clone().index_add_(0, index, index);  // whole numbers have no order
    x.sum().item<float>();
  };
  const std::string place = "\t[^\n]*standin_tests\\+[0-9]+ [^\n]*\n";
  EXPECT_THAT(reported(work),
              testing::MatchesRegex("atomics\taten::index_add[^\n]*" + place + "wait\taten::item" + place));
  EXPECT_THAT(reported([&] {
                at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
                work();
              }),
              testing::MatchesRegex("wait\taten::item" + place));
}

}  // namespace
}  // namespace drift::standin_test
