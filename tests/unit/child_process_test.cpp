#include "tests/support/support.h"

#include <core/base/child_process.h>

#include <drift/error.h>

#include <unistd.h>

namespace drift::child_process_test {

using testing::HasSubstr;

ChildCommand shell(const std::string& script) { return {.arguments = {"/bin/sh", "-c", script}}; }

TEST(ChildProcess, SaysHowItEnded) {
  EXPECT_EQ(ChildProcess(shell("exit 3")).wait().status(), 3);
  EXPECT_EQ(ChildProcess(shell("kill -9 $$")).wait().status(), 128 + SIGKILL);
  const auto result = run(shell("echo out; echo err >&2"));
  EXPECT_EQ(result.output + result.error, "out\nerr\n");
  ChildProcess child(shell("sleep 1000"));
  EXPECT_FALSE(child.end().has_value());
  child.send(SIGTERM);
  EXPECT_EQ(child.wait().status(), 128 + SIGTERM);
  EXPECT_TRUE(child.end().has_value());
}

TEST(ChildProcess, GetsWhatIsNamedAndNothingElse) {
  ::setenv("DRIFT_TEST_HERE", "here", 1);
  ChildCommand command = shell("readlink /proc/self/fd/0; ls /proc/self/fd | wc -l; pwd; echo $DRIFT_TEST_HERE $OTHER");
  command.folder = "/usr";
  command.environment = environment_with({"OTHER=there"});
  EXPECT_EQ(run(command).output, "/dev/null\n4\n/usr\nhere there\n") << "the fourth is that of ls";
  command.environment = {"OTHER=there"};
  EXPECT_THAT(run(command).output, HasSubstr("\nthere\n"));
  ::unsetenv("DRIFT_TEST_HERE");

  const Descriptor file = sealed_file("sealed");
  ChildCommand reader = shell("cat <&5");
  reader.descriptors = {{file.get(), 5}};
  EXPECT_EQ(run(reader).output, "sealed");
}

// Whatever this process blocks or ignores.
TEST(ChildProcess, TakesSignalsAsByDefault) {
  std::signal(SIGUSR1, SIG_IGN);
  const ChildWatch blocks_a_signal;
  EXPECT_EQ(ChildProcess(shell("kill -USR1 $$; exit 1")).wait().status(), 128 + SIGUSR1);
  std::signal(SIGUSR1, SIG_DFL);
  EXPECT_EQ(run(shell("grep SigBlk: /proc/self/status | tr -d '[:space:]0'")).output, "SigBlk:");
}

TEST(ChildProcess, OneThatGoesEndsWhatItStarted) {
  const Pipe pipe = make_pipe();
  {
    ChildCommand command = shell("trap 'echo ended; exit' TERM; echo ready; while :; do sleep 1000 & wait; done");
    command.descriptors = {{pipe.write.get(), STDOUT_FILENO}};
    command.end_signal = SIGTERM;
    const ChildProcess child(command);
    char ready[6];
    ASSERT_EQ(::read(pipe.read.get(), ready, sizeof ready), 6);
  }
  char ended[6];
  EXPECT_EQ(::read(pipe.read.get(), ended, sizeof ended), 6);
}

TEST(ChildProcess, AFailureIsAnError) {
  const auto error_of = [](const ChildCommand& command) -> std::string {
    try {
      return output_of(command);
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(error_of(shell("echo fine")), "fine\n");
  EXPECT_EQ(error_of(shell("echo so sorry >&2; exit 1")), "/bin/sh failed: so sorry");
  EXPECT_EQ(error_of({.arguments = {"/no/such"}}), "cannot start /no/such: No such file or directory");
}

TEST(ShellCommand, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_command({"drift", "train", "a/b.toml", "--set", "train.steps=3"}),
            "drift train a/b.toml --set train.steps=3");
  const std::vector<std::string> odd = {"", "two words", "it's", "$HOME", "a\"b", "*", "\\"};
  std::vector<std::string> words = {"printf", "%s|"};
  words.insert(words.end(), odd.begin(), odd.end());
  EXPECT_EQ(run(shell(shell_command(words))).output, "|two words|it's|$HOME|a\"b|*|\\|");
}

}  // namespace drift::child_process_test
