// `drift watch` from the outside: in a terminal, with a run that grows, and without one.

#include <core/io/run_folder.h>
#include <tests/support/training_run.h>

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <regex>

namespace drift::watch_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

constexpr const char* kEnters = "\033[?1049h";
constexpr const char* kLeaves = "\033[?7h\033[?25h\033[?1049l";  // wrapping, the cursor, and the page from before

/// The program in a terminal of its own.
class InTerminal {
 public:
  InTerminal(const fs::path& folder, const std::string& arguments, unsigned short columns = 100,
             unsigned short rows = 40) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    child_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ != 0) return;
    ::unsetenv("CI");
    ::setenv("TERM", "xterm", 1);
    ::setenv("NO_COLOR", "1", 1);
    const std::string command = "cd " + folder.string() + " && exec " + program().string() + " " + arguments;
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  ~InTerminal() {
    if (child_ > 0) ::kill(child_, SIGKILL), ::waitpid(child_, nullptr, 0);
    ::close(terminal_);
  }
  InTerminal(const InTerminal&) = delete;
  InTerminal& operator=(const InTerminal&) = delete;

  void type(const std::string& keys) const {
    ASSERT_EQ(::write(terminal_, keys.data(), keys.size()), std::ssize(keys));
  }
  void send(int signal) const {
    if (child_ > 0) ::kill(child_, signal);
  }
  void resize(unsigned short columns, unsigned short rows) const {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    ::ioctl(terminal_, TIOCSWINSZ, &size);
  }

  /// Whether the page shows a text; waits for it at most a minute.
  bool shows(const std::string& text) {
    return comes([&] { return page().find(text) != std::string::npos; });
  }
  /// Whether a text came after so many bytes, likewise.
  bool sends(const std::string& text, std::size_t after = 0) {
    return comes([&] { return output_.find(text, after) != std::string::npos; });
  }

  /// What was drawn last, without what moves the cursor.
  std::string page() const {
    const std::size_t end = output_.rfind("\033[J");
    const std::size_t begin = output_.rfind("\033[H", end);
    if (end == std::string::npos || begin == std::string::npos) return "";
    return std::regex_replace(output_.substr(begin, end - begin), std::regex("\033\\[[0-9;?]*[A-Za-z]|\r"), "");
  }

  void wait_until_stopped() const { ::waitpid(child_, nullptr, WUNTRACED); }
  /// Exit status; 128 + signal when killed.
  int wait() {
    comes([] { return false; });
    if (is_open_ && child_ > 0) ::kill(child_, SIGKILL);  // it does not end
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  /// All that came.
  const std::string& output() const { return output_; }
  /// Whether keys are shown and given line by line, as a shell wants it.
  bool is_as_before() const {
    termios now{};
    ::tcgetattr(terminal_, &now);
    return (now.c_lflag & ECHO) != 0 && (now.c_lflag & ICANON) != 0;
  }

 private:
  bool comes(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end || !read_more(1000)) return false;
    }
    return true;
  }
  /// @return false when the program has ended
  bool read_more(int milliseconds) {
    if (child_ < 0) return false;
    pollfd end = {terminal_, POLLIN, 0};
    if (::poll(&end, 1, milliseconds) == 0) return true;
    std::array<char, 65536> bytes{};
    const ssize_t got = ::read(terminal_, bytes.data(), bytes.size());
    if (got > 0) output_.append(bytes.data(), static_cast<std::size_t>(got));
    return is_open_ = got > 0;
  }

  bool is_open_ = true;
  int terminal_ = -1;
  pid_t child_ = -1;
  std::string output_;
};

class WatchCommand : public Test, public ProgramFolder {
 protected:
  /// A run of four steps in its folder, as if this process made it.
  RunFolder begin(const std::string& name) const {
    RunFolder run = RunFolder::create(path(name));
    run.write_file("config.toml", "[train]\nsteps = 4\n");
    return run;
  }
  static std::string step(int number) {
    return R"({"step":)" + std::to_string(number) + R"(,"loss":0.5,"reward":0.)" + std::to_string(number) +
           R"(,"solved":0.25,"groups":2,"seconds":{"rollout":1.0,"update":0.5,"total":2.0}})";
  }
  CommandResult watch(const std::string& arguments) const { return drift("watch " + arguments); }
};

class WatchInTerminal : public WatchCommand {
  void SetUp() override {
    if (const auto missing = missing_terminal(); !missing.empty()) GTEST_SKIP() << missing;
  }
};

TEST_F(WatchInTerminal, FollowsARunFromBeforeItsBeginningToItsEnd) {
  InTerminal terminal(path(), "watch mine --every 0.1");
  EXPECT_TRUE(terminal.shows("no run yet")) << terminal.output();
  std::optional<RunFolder> run = begin("mine");
  EXPECT_TRUE(terminal.shows("running")) << terminal.output();
  run->append_metrics(step(1));
  EXPECT_TRUE(terminal.shows("1/4"));
  const std::string next = step(2) + "\n";
  const fs::path metrics = path("mine/metrics.jsonl");
  write_file(metrics, step(1) + "\n" + next.substr(0, 20));
  run->append_line("log.txt", "alive");
  run->write_file("samples.json",
                  R"([{"step":1,"prompt":"2 + 2","response":"\u001b[2Jfour","reward":0,"solved":false}])");
  EXPECT_TRUE(terminal.shows("\\x1b[2Jfour"));
  EXPECT_THAT(terminal.page(), HasSubstr("1/4")) << "half a line of metrics";
  write_file(metrics, step(1) + "\n" + next);
  EXPECT_TRUE(terminal.shows("2/4"));
  run->append_metrics(step(3));
  run->append_metrics(step(4));
  run->write_file("summary.json", R"({"status":"finished","steps":4})");
  EXPECT_TRUE(terminal.shows("4/4"));
  run.reset();
  EXPECT_TRUE(terminal.shows("finished"));
  terminal.type("q");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(WatchInTerminal, ARunThatIsKilledIsLostAndRunsAgainWhenItIsResumed) {
  std::optional<RunFolder> run = begin("mine");
  run->append_metrics(step(1));
  run->append_metrics(step(2));
  InTerminal terminal(path(), "watch mine --every 0.1");
  EXPECT_TRUE(terminal.shows("running")) << terminal.output();
  run.reset();
  EXPECT_TRUE(terminal.shows("lost, quiet for"));
  run = RunFolder::open(path("mine"));
  run->truncate_metrics(1);
  EXPECT_TRUE(terminal.shows("1/4"));
  EXPECT_THAT(terminal.page(), HasSubstr("running"));
}

TEST_F(WatchInTerminal, KeysChooseTheRunAndTheMetric) {
  const RunFolder first = begin("first"), second = begin("second");
  for (const RunFolder* run : {&first, &second}) run->append_metrics(step(1));
  second.append_metrics(step(2));
  InTerminal terminal(path(), "watch first second --every 60");
  const std::string pointer = in_utf8_locale() ? "▸ " : "> ";
  ASSERT_TRUE(terminal.shows(pointer + "first")) << terminal.output();
  EXPECT_THAT(terminal.page(), HasSubstr("reward  0.100  metric 1 of"));
  terminal.type("\033[B");
  EXPECT_TRUE(terminal.shows(pointer + "second")) << "at once, not after a minute";
  EXPECT_THAT(terminal.page(), HasSubstr("reward  0.200  metric 1 of"));
  terminal.type("m");
  EXPECT_TRUE(terminal.shows("solved  0.250  metric 2 of"));
  terminal.type("\033[A");
  EXPECT_TRUE(terminal.shows(pointer + "first"));
  EXPECT_THAT(terminal.page(), HasSubstr("solved  0.250  metric 2 of")) << "the choice stays";
}

TEST_F(WatchInTerminal, FollowsTheSizeOfTheTerminal) {
  const RunFolder run = begin("mine");
  run.append_metrics(step(1));
  InTerminal terminal(path(), "watch mine --every 60", 120, 40);
  ASSERT_TRUE(terminal.shows("a step's time")) << terminal.output();
  EXPECT_EQ(std::ranges::count(terminal.page(), '\n'), 39);
  EXPECT_THAT(terminal.page(), Not(HasSubstr("\na step's time\n"))) << "it is beside the curve";
  terminal.resize(60, 20);
  EXPECT_TRUE(terminal.shows("\na step's time\n")) << terminal.page();
  EXPECT_EQ(std::ranges::count(terminal.page(), '\n'), 19);
}

TEST_F(WatchInTerminal, LeavesTheTerminalAsItWas) {
  const RunFolder run = begin("mine");
  for (const int signal : {0, SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGABRT}) {
    InTerminal terminal(path(), "watch mine --every 60");
    ASSERT_TRUE(terminal.shows("running")) << terminal.output();
    EXPECT_FALSE(terminal.is_as_before());
    if (signal == 0) {
      terminal.type("q");
    } else {
      terminal.send(signal);
    }
    EXPECT_EQ(terminal.wait(), signal == 0 ? 0 : 128 + signal);
    EXPECT_TRUE(terminal.is_as_before()) << signal;
    EXPECT_THAT(terminal.output(), HasSubstr(kLeaves)) << signal;
  }
}

TEST_F(WatchInTerminal, GivesTheTerminalBackWhileItIsSuspended) {
  const RunFolder run = begin("mine");
  InTerminal terminal(path(), "watch mine --every 60");
  ASSERT_TRUE(terminal.shows("running")) << terminal.output();
  terminal.type("\x1a");  // Ctrl-Z
  ASSERT_TRUE(terminal.sends(kLeaves));
  terminal.wait_until_stopped();
  EXPECT_TRUE(terminal.is_as_before());
  run.append_metrics(step(1));
  const std::size_t before = terminal.output().size();
  terminal.send(SIGCONT);
  EXPECT_TRUE(terminal.sends(kEnters, before));
  EXPECT_TRUE(terminal.sends("running", before)) << "drawn anew, at once";
  EXPECT_FALSE(terminal.is_as_before());
  terminal.type("q");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(WatchCommand, PrintsOnceWithoutATerminal) {
  const RunFolder run = begin("mine");
  run.append_metrics(step(1));
  for (const std::string arguments : {"mine", "mine --once", "."})
    EXPECT_THAT(watch(arguments), prints("running", "1/4", "0.100", Not(HasSubstr("\033"))));
  EXPECT_THAT(watch("no/such/run"), fails("there is no folder no/such/run"));
}

TEST_F(WatchInTerminal, PrintsOnceWhenAsked) {
  const RunFolder run = begin("mine");
  run.append_metrics(step(1));
  InTerminal terminal(path(), "watch mine --once");
  EXPECT_EQ(terminal.wait(), 0);
  EXPECT_THAT(terminal.output(), AllOf(HasSubstr("1/4"), Not(HasSubstr("\033[?1049h"))));
}

TEST_F(WatchCommand, TheFolderOfASweepIsItsRuns) {
  const RunFolder first = begin("grid/runs/a"), second = begin("grid/runs/b");
  const std::string pointer = in_utf8_locale() ? "▸ " : "> ";
  EXPECT_THAT(watch("grid").output, AllOf(HasSubstr("\n" + pointer + "a "), HasSubstr("\n  b ")));
  write("grid/cells.json", R"({"cells": [
    {"cell": "theirs", "baseline": "theirs", "runs": [{"seed": 1, "folder": "runs/b"}, {"seed": 2, "folder": "runs/c"}]},
    {"cell": "ours", "baseline": "theirs", "runs": [{"seed": 1, "folder": "runs/a"}]}]})");
  EXPECT_THAT(watch("grid").output, HasSubstr("\n" + pointer + "theirs, seed 1 "));
  EXPECT_THAT(watch("grid").output, HasSubstr("\n  ours ")) << "as the sweep calls and orders them";
}

TEST(WatchedTraining, ShowsWhatTrainingWrote) {
  const TrainingRuns runs;
  ASSERT_EQ(runs.train("one").status, 0);
  EXPECT_THAT(runs.drift("watch one"),
              prints("finished", "4/4", "rollout", "a step's time", "responses of the last evaluation"));
}

}  // namespace drift::watch_test
