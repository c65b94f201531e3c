// Run by every process of an MPI program: what the ranks exchange. together_on_ranks.cpp and divided_on_ranks.cpp
// belong to the same program.

#include "tests/ranks/algorithm_case.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/ranks/launch.h>

#include <cstdio>

extern "C" const drift::DeviceExchangeLibrary* drift_device_exchange_library();

namespace drift {

Ranks& all_ranks() {
  static const auto joined = join_ranks([](const Error& error) { std::fprintf(stderr, "%s\n", error.what()); });
  return *joined;
}

namespace {

class JoinedRanks final : public testing::Environment {
  void SetUp() override {
    all_ranks();
    if (std::getenv("DRIFT_EXCHANGE_AS_ON_GPUS") != nullptr) exchange_as_on_gpus();
  }
  /// Tensors on the CPU go the way of those on GPUs, whose NCCL is host_nccl/.
  static void exchange_as_on_gpus() {
    Ranks& ranks = all_ranks();
    const DeviceExchangeLibrary& library = *drift_device_exchange_library();
    std::string id(DeviceExchangeLibrary::kIdBytes, '\0');
    if (ranks.is_first()) library.new_id(id.data());
    id = ranks.broadcast(id);
    DeviceExchange* exchange = nullptr;
    library.join(id.data(), static_cast<int>(ranks.rank()), static_cast<int>(ranks.size()), &exchange);
    ranks.exchange_by(std::unique_ptr<DeviceExchange>(exchange));
  }
  void TearDown() override { all_ranks().leave(); }
};
[[maybe_unused]] const auto* const joined = testing::AddGlobalTestEnvironment(new JoinedRanks);

TEST(Ranks, ASumIsThatOfTheRanksInTheirOrder) {
  Ranks& ranks = all_ranks();
  // Small and large, several to a message and several messages to one, not contiguous, and empty.
  const std::vector<std::int64_t> counts{1, 7, 5000, 0, 3000, 9000000};
  for (const auto type : {at::kFloat, at::kDouble}) {
    std::vector<at::Tensor> tensors;
    for (const std::int64_t count : counts) tensors.push_back(numbers_of(ranks.rank(), count, type));
    tensors.push_back(numbers_of(ranks.rank(), 6, type).view({2, 3}).t());
    ranks.all_reduce(tensors);
    for (const at::Tensor& sum : tensors) {
      auto expected = at::zeros({sum.numel()}, type);
      for (std::int64_t r = 0; r < ranks.size(); ++r) {
        const auto term = numbers_of(r, sum.numel(), type);
        r == 0 ? expected.copy_(term) : expected.add_(term);
      }
      if (sum.dim() == 2) expected = expected.view({2, 3}).t();
      EXPECT_TRUE(at::equal(sum, expected)) << sum.numel() << " numbers";
    }
  }
}

TEST(Ranks, HaveSharesOfTheSameSumAndMakeTheWholeOfThem) {
  Ranks& ranks = all_ranks();
  std::vector<at::Tensor> terms, whole;
  for (const auto type : {at::kFloat, at::kDouble}) {
    for (const std::int64_t count : {1, 7, 5000, 0, 3000, 5000000})
      terms.push_back(numbers_of(ranks.rank(), count, type));
    terms.push_back(numbers_of(ranks.rank(), 6, type).view({2, 3}).t());
  }
  for (const at::Tensor& one : terms) whole.push_back(one.clone());
  ranks.all_reduce(whole);
  const auto shares = ranks.reduce_scatter(terms);
  ASSERT_EQ(shares.size(), whole.size());
  std::vector<at::Tensor> gathered;
  for (std::size_t t = 0; t < whole.size(); ++t) {
    const auto [begin, end] = ranks.share(whole[t].numel());
    EXPECT_TRUE(at::equal(shares[t], whole[t].reshape({-1}).narrow(0, begin, end - begin))) << "tensor " << t;
    gathered.push_back(at::zeros({whole[t].numel()}, whole[t].scalar_type()));
    gathered.back().narrow(0, begin, end - begin).copy_(shares[t]);
  }
  ranks.gather_shares(gathered);
  for (std::size_t t = 0; t < whole.size(); ++t)
    EXPECT_TRUE(at::equal(gathered[t], whole[t].reshape({-1}))) << "tensor " << t;
}

// While the sum goes on, the ranks make other exchanges, which do not get mixed up with it.
TEST(Ranks, ASumThatGoesOnAsideHasTheBitsOfOneThatIsWaitedFor) {
  Ranks& ranks = all_ranks();
  for (const SumFor receivers : {SumFor::kAll, SumFor::kShares}) {
    std::vector<at::Tensor> terms, whole;
    for (const std::int64_t count : {1, 7, 5000, 0, 9000000}) {
      terms.push_back(numbers_of(ranks.rank(), count, at::kFloat));
      whole.push_back(terms.back().clone());
    }
    if (receivers == SumFor::kAll) ranks.all_reduce(whole);
    const auto expected = receivers == SumFor::kAll ? whole : ranks.reduce_scatter(whole);
    const auto sent = ranks.sent();
    ranks.begin_sum(terms, receivers);
    auto other = at::full({1000}, ranks.rank() + 1, at::kLong);
    ranks.all_reduce({other});
    EXPECT_EQ(other[0].item<std::int64_t>(), ranks.size() * (ranks.size() + 1) / 2);
    EXPECT_EQ(ranks.broadcast("of " + std::to_string(ranks.rank())), "of 0");
    const auto sums = ranks.finish_sum();
    ASSERT_EQ(sums.size(), expected.size());
    for (std::size_t t = 0; t < sums.size(); ++t) EXPECT_TRUE(at::equal(sums[t], expected[t])) << "tensor " << t;
    if (ranks.size() > 1) {
      EXPECT_GT(ranks.sent() - sent, 9000000 * 4 / 2) << "bytes of sums aside are counted";
    }
  }
}

TEST(Ranks, TensorsOfDifferentLengthsAreGatheredInOrder) {
  Ranks& ranks = all_ranks();
  const auto part = [](std::int64_t rank) { return at::full({rank % 3, 2}, rank, at::kInt); };  // of rank 0: nothing
  std::vector<at::Tensor> expected;
  for (std::int64_t r = 0; r < ranks.size(); ++r) expected.push_back(part(r));
  EXPECT_TRUE(at::equal(ranks.all_gather(part(ranks.rank())), at::cat(expected)));
}

TEST(Ranks, TextsAreGatheredInOrder) {
  Ranks& ranks = all_ranks();
  const auto text = [](std::int64_t rank) { return std::string(static_cast<std::size_t>(rank), '\0') + "x"; };
  const auto all = ranks.all_gather(text(ranks.rank()));
  ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks.size()));
  for (std::int64_t r = 0; r < ranks.size(); ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], text(r));
  EXPECT_EQ(ranks.broadcast("of " + std::to_string(ranks.rank())), "of 0");
}

TEST(Ranks, SharesAreAllOfTheWorkOnceAndNearlyEqual) {
  for (const std::int64_t count : {0, 1, 3, 10}) {
    const auto [begin, end] = all_ranks().share(count);
    const auto shares = all_ranks().all_gather(at::full({1}, end - begin, at::kLong));
    EXPECT_EQ(shares.sum().item<std::int64_t>(), count);
    EXPECT_LE((shares.max() - shares.min()).item<std::int64_t>(), 1);
  }
}

TEST(Ranks, TakeTurnsUntilAllWorkIsDoneOnce) {
  for (const std::int64_t count : {1, 2, 50}) {
    std::vector<std::int64_t> own;
    auto all = all_ranks().take_turns(count, [&](std::int64_t i) { own.push_back(i); });
    EXPECT_EQ(all_ranks().all_gather(at::full({1}, static_cast<std::int64_t>(own.size()))).sum().item<std::int64_t>(),
              count);
    EXPECT_EQ(all.size(), static_cast<std::size_t>(count));
    std::ranges::sort(all);
    for (std::int64_t i = 0; i < count; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
  }
}

TEST(Ranks, ThatWereStartedAlikeGoOn) {
  EXPECT_NO_THROW(require_same_facts(all_ranks(), {{"run.seed", "1"}, {"threads", "1"}}));
}

TEST(Ranks, ThatWereNotAreNamedWithWhatDiffers) {
  Ranks& ranks = all_ranks();
  if (ranks.size() == 1) GTEST_SKIP() << "one process";
  const bool last = ranks.rank() == ranks.size() - 1;
  const std::string error = test::what_of([&] {
    require_same_facts(all_ranks(), {{"run.seed", last ? "2" : "1"}, {"threads", "1"}});
  });
  EXPECT_THAT(error, testing::HasSubstr("run.seed: 1 on rank 0 ("));
  EXPECT_THAT(error, testing::HasSubstr("; 2 on " + ranks.name(ranks.size() - 1)));
  EXPECT_THAT(error, testing::Not(testing::HasSubstr("threads")));
}

}  // namespace
}  // namespace drift
