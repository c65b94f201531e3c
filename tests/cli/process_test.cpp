// How the program sets its process up. libgomp tells on standard error what it read while it was loaded.

#include <regex>

#include <tests/support/program.h>

namespace drift::test::process_test {

using namespace test;
using namespace testing;

/// The program without the waiting policy that tests set, with other variables before it.
CommandResult drift(const std::string& variables, const std::string& arguments) {
  return run_command("env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT " + variables + " " + program().string() + " " +
                     arguments);
}

/// What libgomp says about one of its variables.
std::string reported(const std::string& text, const std::string& variable) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(variable + " = '([^']*)'")) ? match[1].str() : "";
}

TEST(Process, TheWaitingPolicyIsThereBeforeOpenMpIsLoaded) {
  const auto told = drift("OMP_DISPLAY_ENV=verbose", "--version");
  EXPECT_THAT(told, prints());
  // The policy's own line also says PASSIVE if nothing is set.
  EXPECT_EQ(reported(told.error, "GOMP_SPINCOUNT"), "0") << told.error;
  EXPECT_THAT(drift("", "doctor").output, HasSubstr(", OMP_WAIT_POLICY=passive\n"));
}

TEST(Process, TheUsersWaitingPolicyWins) {
  const auto active = drift("OMP_DISPLAY_ENV=verbose OMP_WAIT_POLICY=active", "--version");
  EXPECT_EQ(reported(active.error, "OMP_WAIT_POLICY"), "ACTIVE") << active.error;
  EXPECT_EQ(reported(active.error, "GOMP_SPINCOUNT"), "30000000000") << active.error;
  const auto counted = drift("OMP_DISPLAY_ENV=verbose GOMP_SPINCOUNT=777", "--version");
  EXPECT_EQ(reported(counted.error, "GOMP_SPINCOUNT"), "777") << counted.error;
  EXPECT_THAT(drift("GOMP_SPINCOUNT=777", "doctor").output, HasSubstr(", GOMP_SPINCOUNT=777\n"));
}

// The parent that is named ended before the program could ask to end with it.
TEST(Process, AProgramThatOutlivedItsParentEnds) {
  EXPECT_EQ(drift("DRIFT_PARENT=1", "--version").status, 128 + 15);
  EXPECT_EQ(run_command("DRIFT_PARENT=$$ " + program().string() + " --version; exit $?").status, 0);
}

TEST(Process, ALauncherWithoutItsProgramSaysWhatIsMissing) {
  const ProgramFolder folder;
  std::filesystem::copy(program(), folder.path("drift"));
  EXPECT_THAT(run_command(folder.path("drift").string() + " --version"),
              AllOf(finds(IsEmpty()), fails("error: the program cannot be loaded: ", "libdrift_program.so")));
}

}  // namespace drift::test::process_test
