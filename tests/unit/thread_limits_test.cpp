// How many threads a process uses: the smallest of what the machine, its batch system, its control group and the
// environment say.

#include <core/base/thread_limits.h>

#include <tests/support/support.h>

#include <sched.h>

namespace drift::thread_limits_test {

using namespace testing;

TEST(ThreadLimits, TheSmallestCounts) {
  ThreadLimits limits{.machine = 16, .affinity = 8, .quota = {}, .omp_num_threads = {}};
  EXPECT_EQ(limits.processors(), 8u);
  EXPECT_EQ(limits.threads(), 8u);
  limits.quota = 3;
  EXPECT_EQ(limits.processors(), 3u);
  limits.omp_num_threads = 2;
  EXPECT_EQ(limits.processors(), 3u) << "it is said of what computes";
  EXPECT_EQ(limits.threads(), 2u);
  limits.omp_num_threads = 64;
  EXPECT_EQ(limits.threads(), 3u) << "more than there are only wait for each other";
}

TEST(ThreadLimits, AreExplained) {
  EXPECT_EQ((ThreadLimits{.machine = 2, .affinity = 2, .quota = {}, .omp_num_threads = {}}.text()),
            "2 threads: 2 processors");
  EXPECT_EQ((ThreadLimits{.machine = 16, .affinity = 4, .quota = 3, .omp_num_threads = 1}.text()),
            "1 thread: 16 processors, 4 of them for this process (affinity), the time of 3 (quota of the control "
            "group), OMP_NUM_THREADS=1");
}

TEST(ThreadLimits, OmpNumThreadsMayBeAList) {
  EXPECT_THAT(first_count("4"), Optional(4u));
  EXPECT_THAT(first_count("4,2"), Optional(4u));
  for (const char* text : {"", "0", "-1", "four", "4x", " 4"}) EXPECT_THAT(first_count(text), Eq(std::nullopt)) << text;
  EXPECT_THAT(first_count(nullptr), Eq(std::nullopt));
}

TEST(ThreadLimits, TheQuotaIsThatOfTheGroupAndThoseAboveIt) {
  const test::TemporaryFolder folder;
  const auto group = [&](const std::string& name, const std::string& limit) {
    std::filesystem::create_directories(folder.path() / name);
    test::write_file(folder.path() / name / "cpu.max", limit);
  };
  const auto quota = [&](const std::string& membership) {
    test::write_file(folder.path() / "membership", membership);
    return processor_quota(folder.path() / "membership", folder.path());
  };
  group("jobs", "250000 100000\n");
  group("jobs/mine", "max 100000\n");
  group("jobs/small", "20000 100000\n");
  group("free", "max 100000\n");
  EXPECT_THAT(quota("0::/jobs/mine\n"), Optional(3u)) << "two and a half, rounded up";
  EXPECT_THAT(quota("0::/jobs/small\n"), Optional(1u));
  EXPECT_THAT(quota("0::/free\n"), Eq(std::nullopt));
  EXPECT_THAT(quota("0::/\n"), Eq(std::nullopt));
  group(".", "400000 100000\n");  // as a container sees its own group
  EXPECT_THAT(quota("0::/\n"), Optional(4u));
  EXPECT_THAT(quota("3:cpu:/jobs\n0::/free\n"), Optional(4u));
  EXPECT_THAT(quota("3:cpu:/jobs\n"), Eq(std::nullopt)) << "version 1";
}

TEST(ThreadLimits, OfThisProcessFollowItsAffinity) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  EXPECT_EQ(thread_limits().affinity, static_cast<std::size_t>(CPU_COUNT(&before)));
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const ThreadLimits limits = thread_limits();
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(limits.affinity, 1u);
  EXPECT_EQ(limits.threads(), 1u);
}

}  // namespace drift::thread_limits_test
