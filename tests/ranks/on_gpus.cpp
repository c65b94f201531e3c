// What each of several processes with GPUs tests; ranks_cuda_test starts it.

#include "tests/gpu/on_the_gpu.h"
#include "tests/support/tensors.h"

#include <core/ranks/devices.h>
#include <core/ranks/launch.h>
#include <core/ranks/ranks.h>

#include <cstdio>
#include <vector>

namespace drift {
namespace {

Ranks& all_ranks() {
  static const auto joined = join_ranks([](const Error& error) { std::fprintf(stderr, "%s\n", error.what()); });
  return *joined;
}

class JoinedRanks final : public testing::Environment {
  // Chooses the GPU, so before CUDA is loaded.
  void SetUp() override { all_ranks(); }
  void TearDown() override { all_ranks().leave(); }
};
[[maybe_unused]] const auto* const joined = testing::AddGlobalTestEnvironment(new JoinedRanks);

class OnGpus : public test::OnTheGpu<> {
 protected:
  /// Of one rank: whole numbers, so that any order of the sum gives the same bits.
  static at::Tensor numbers(std::int64_t rank, std::int64_t count, at::ScalarType type) {
    return (at::arange(count, at::kLong).remainder(31) + rank).to(type);
  }
  static at::Tensor sum_of_numbers(std::int64_t count, at::ScalarType type) {
    auto sum = numbers(0, count, type);
    for (std::int64_t rank = 1; rank < all_ranks().size(); ++rank) sum += numbers(rank, count, type);
    return sum;
  }
  /// This rank's share.
  static at::Tensor share_of(const at::Tensor& flat) {
    const auto [begin, end] = all_ranks().share(flat.numel());
    return flat.narrow(0, begin, end - begin);
  }
};

// Of elements that the ranks' number divides, and of others.
constexpr std::int64_t kCounts[] = {1, 7, 840, 300001};

TEST_F(OnGpus, ASumIsThatOfTheRanks) {
  Ranks& ranks = all_ranks();
  for (const std::int64_t count : kCounts) {
    std::vector<at::Tensor> sums, expected;
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
      sums.push_back(numbers(ranks.rank(), count, type).to(device_));
      expected.push_back(sum_of_numbers(count, type));
    }
    ranks.all_reduce(sums);
    for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_TRUE(at::equal(sums[i].cpu(), expected[i])) << i;
  }
}

TEST_F(OnGpus, ATensorThatIsNotContiguousIsSummedInPlace) {
  Ranks& ranks = all_ranks();
  const auto columns = numbers(ranks.rank(), 600, at::kFloat).view({20, 30}).to(device_).t();
  auto expected = numbers(0, 600, at::kFloat).view({20, 30}).t();
  for (std::int64_t rank = 1; rank < ranks.size(); ++rank)
    expected = expected + numbers(rank, 600, at::kFloat).view({20, 30}).t();
  ranks.all_reduce({columns});
  EXPECT_TRUE(at::equal(columns.cpu(), expected));
}

TEST_F(OnGpus, ASumThatGoesOnAsideIsThatOfTheRanks) {
  Ranks& ranks = all_ranks();
  for (const SumFor receivers : {SumFor::kAll, SumFor::kShares}) {
    std::vector<at::Tensor> terms;
    for (const std::int64_t count : kCounts) terms.push_back(numbers(ranks.rank(), count, at::kFloat).to(device_));
    ranks.begin_sum(terms, receivers);
    const auto computed_meanwhile = at::arange(1 << 20, terms.front().options()).sum();
    const auto sums = ranks.finish_sum();
    for (std::size_t t = 0; t < sums.size(); ++t) {
      const auto expected = sum_of_numbers(kCounts[t], at::kFloat);
      EXPECT_TRUE(at::equal(sums[t].cpu(), receivers == SumFor::kAll ? expected : share_of(expected))) << kCounts[t];
    }
    EXPECT_GT(computed_meanwhile.item<float>(), 0);
  }
}

TEST_F(OnGpus, SharesMakeTheWhole) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    std::vector<at::Tensor> shares, whole, in_place;
    for (const std::int64_t count : kCounts) {
      const auto flat = numbers(0, count, type).to(device_);
      shares.push_back(share_of(flat).clone());
      whole.push_back(at::zeros_like(flat));
      in_place.push_back(at::zeros_like(flat));
      share_of(in_place.back()).copy_(shares.back());
    }
    all_ranks().begin_gather(shares, whole);
    all_ranks().finish_gather();
    all_ranks().gather_shares(in_place);
    for (std::size_t t = 0; t < whole.size(); ++t) {
      EXPECT_TRUE(at::equal(whole[t].cpu(), numbers(0, kCounts[t], type))) << kCounts[t];
      EXPECT_TRUE(at::equal(in_place[t], whole[t])) << kCounts[t];
    }
  }
}

TEST_F(OnGpus, TensorsAreGathered) {
  Ranks& ranks = all_ranks();
  const auto all = ranks.all_gather(numbers(ranks.rank(), ranks.rank() + 1, at::kFloat).to(device_));
  EXPECT_EQ(all.size(0), ranks.size() * (ranks.size() + 1) / 2);
}

}  // namespace
}  // namespace drift
