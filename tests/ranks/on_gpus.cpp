// What each of several processes with GPUs tests; ranks_cuda_test starts it.

#include "tests/gpu/on_the_gpu.h"

#include <core/ranks/devices.h>
#include <core/ranks/launch.h>
#include <core/ranks/ranks.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include <cstdio>
#include <vector>

namespace drift {
namespace {

class OnGpus : public test::OnTheGpu<> {
 protected:
  void SetUp() override {
    // Chooses the GPU, so before CUDA is loaded.
    join_ranks([](const Error& error) { std::fprintf(stderr, "%s\n", error.what()); });
    OnTheGpu::SetUp();
  }

  /// Of one rank: whole numbers, so that any order of the sum gives the same bits.
  static at::Tensor numbers(std::int64_t rank, std::int64_t count, at::ScalarType type) {
    return (at::arange(count, at::kLong).remainder(31) + rank).to(type);
  }
};

TEST_F(OnGpus, ASumIsThatOfTheRanks) {
  Ranks& ranks = run_ranks();
  for (const std::int64_t count : {1, 1000, 300000}) {
    std::vector<at::Tensor> sums, expected;
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
      sums.push_back(numbers(ranks.rank(), count, type).to(device_));
      auto sum = numbers(0, count, type);
      for (std::int64_t rank = 1; rank < ranks.size(); ++rank) sum += numbers(rank, count, type);
      expected.push_back(sum);
    }
    ranks.all_reduce(sums);
    for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_TRUE(at::equal(sums[i].cpu(), expected[i])) << i;
  }
}

TEST_F(OnGpus, ATensorThatIsNotContiguousIsSummedInPlace) {
  Ranks& ranks = run_ranks();
  const auto columns = numbers(ranks.rank(), 600, at::kFloat).view({20, 30}).to(device_).t();
  auto expected = numbers(0, 600, at::kFloat).view({20, 30}).t();
  for (std::int64_t rank = 1; rank < ranks.size(); ++rank)
    expected = expected + numbers(rank, 600, at::kFloat).view({20, 30}).t();
  ranks.all_reduce({columns});
  EXPECT_TRUE(at::equal(columns.cpu(), expected));
}

TEST_F(OnGpus, TensorsAreGathered) {
  Ranks& ranks = run_ranks();
  const auto all = ranks.all_gather(numbers(ranks.rank(), ranks.rank() + 1, at::kFloat).to(device_));
  EXPECT_EQ(all.size(0), ranks.size() * (ranks.size() + 1) / 2);
}

}  // namespace
}  // namespace drift
