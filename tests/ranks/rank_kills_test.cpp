// Ranks that are killed at random instants, again and again: whatever is left continues as the run that was never
// disturbed. DRIFT_KILLS says how many, DRIFT_KILLS_SEED which.

#include "tests/ranks/ranks_run.h"
#include "tests/support/support.h"

#include <core/ranks/ranks.h>

#include <signal.h>

#include <chrono>
#include <random>
#include <thread>

namespace drift::rank_kills_test {

using test::RanksRun;
using testing::HasSubstr;

constexpr int kRanks = 2;

int number_in(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

class RankKills : public RanksRun {
 protected:
  std::string run(const std::string& options) const {
    const bool begun = std::filesystem::exists(runs_.run("killed") / "config.toml");
    return command("-n " + std::to_string(kRanks) + " drift train run.toml --out killed " + (begun ? "--resume " : "") +
                   options);
  }
  std::int64_t steps() const {
    const auto file = runs_.run("killed") / "metrics.jsonl";
    return std::filesystem::exists(file) ? static_cast<std::int64_t>(test::metrics_of(runs_.run("killed")).size()) : 0;
  }
};

TEST_F(RankKills, LeaveARunThatGoesOnAsIfUndisturbed) {
  std::mt19937 random(static_cast<unsigned>(number_in("DRIFT_KILLS_SEED", 1)));
  const int kills = number_in("DRIFT_KILLS", 3);
  int said = 0;
  for (int kill = 0; kill < kills; ++kill) {
    const int rank = static_cast<int>(random() % kRanks);
    const std::chrono::milliseconds delay(random() % 5000);
    SCOPED_TRACE("kill " + std::to_string(kill) + ": rank " + std::to_string(rank) + " after " +
                 std::to_string(delay.count()) + " ms");
    const auto there = [&] { return test::process_of(rank, folder()) != 0; };
    const auto result = disturbed(run("--steps 100000"), there, [&] {
      std::this_thread::sleep_for(delay);
      send(SIGKILL, rank);
    });
    EXPECT_NE(result.status, 0);
    EXPECT_THAT(result.error, HasSubstr("rank " + std::to_string(rank)));
    EXPECT_THAT(result.error, HasSubstr(Ranks::host()));
    const auto errors = test::count_of("error: ", result.error);
    EXPECT_LE(errors, 1u) << result.error;
    said += errors > 0 ? 1 : 0;
    if (HasFailure()) break;
  }
  std::cout << kills << " kills, " << said << " named by Drift itself, " << steps() << " lines of metrics\n";
  const std::string length = "--steps " + std::to_string(steps() + 1);
  const auto end = test::run_command(run(length));
  ASSERT_EQ(end.status, 0) << end.error;
  ASSERT_EQ(train(kRanks, "unbroken", length).status, 0);
  EXPECT_EQ(test::difference(runs_.run("killed"), runs_.run("unbroken")), "");
}

}  // namespace drift::rank_kills_test
