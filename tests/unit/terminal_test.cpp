#include <core/base/log.h>
#include <core/base/plain_threads.h>
#include <core/report/format.h>
#include <core/report/terminal.h>

#include <drift/error.h>

#include "tests/support/support.h"

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

namespace drift::terminal_test {

using namespace testing;

TEST(Format, NumbersAndTimesForPeople) {
  EXPECT_EQ(format_decimal(-0.0001, 3), "0.000");
  EXPECT_EQ(format_decimal(NAN, 3), "-");
  EXPECT_EQ(format_adaptive(-0.0312), "-0.031");
  EXPECT_EQ(format_adaptive(0.000024), "2.4e-5");
  EXPECT_EQ(format_adaptive(12345.6), "12346");
  EXPECT_EQ(format_adaptive(INFINITY), "inf");
  EXPECT_EQ(format_percent(0.4213), "42.1");
  EXPECT_EQ(format_count(21387), "21,400");
  EXPECT_EQ(format_count(0.84), "0.84");
  EXPECT_EQ(format_count(1234567), "1,230,000");
  EXPECT_EQ(format_integer(-1234567), "-1,234,567");
  EXPECT_EQ(format_integer(-123), "-123");
  EXPECT_EQ(format_parameters(216512), "0.22 M");
  EXPECT_EQ(format_parameters(8015581184), "8.02 B");
  EXPECT_EQ(format_seconds(0.0312), "0.031 s");
  EXPECT_EQ(format_seconds(0.114), "0.11 s");
  EXPECT_EQ(format_seconds(340.2), "340 s");
  EXPECT_EQ(format_duration(9.2), "0:09");
  EXPECT_EQ(format_duration(3723), "1:02:03");
  EXPECT_EQ(format_duration(2 * 86400 + 11400), "2 d 03:10");
  EXPECT_EQ(format_duration(NAN), "-:--");
}

TEST(Format, WidthsCountCodePointsAndNoStyles) {
  EXPECT_EQ(display_width("━━ \033[36mab\033[0m"), 5);
  EXPECT_EQ(truncate_to_width("━━━", 2), "━━");
  EXPECT_EQ(truncate_to_width("\033[36mabc\033[0m", 2), "\033[36mab\033[0m") << "a cut text ends its colour";
}

TEST(Terminal, StylesOnlyWhereThereAreColours) {
  std::ostringstream stream;
  TerminalOptions options;
  EXPECT_EQ(Terminal(stream, options).styled("x", Style::kStrong), "x");
  options.color = true;
  EXPECT_EQ(Terminal(stream, options).styled("x", Style::kStrong), "\033[1mx\033[0m");
}

TEST(Terminal, WithoutATerminalThereIsNoLiveLine) {
  std::ostringstream stream;
  Terminal terminal(stream, {});
  terminal.show_live("50 %", true);
  terminal.print("done");
  EXPECT_EQ(stream.str(), "done\n");
}

TEST(Terminal, OnATerminalTheLiveLineIsBelowThePrintedLines) {
  std::ostringstream stream;
  TerminalOptions options;
  options.is_terminal = true;
  options.columns = [] { return 40; };
  {
    Terminal terminal(stream, options);
    terminal.show_live("50 %", true);
    EXPECT_THAT(stream.str(), ::testing::EndsWith("50 %"));
    terminal.print("done");
    EXPECT_THAT(stream.str(), ::testing::EndsWith("50 %"));
    EXPECT_THAT(stream.str(), HasSubstr("done\n"));
  }
  EXPECT_THAT(stream.str(), ::testing::Not(::testing::EndsWith("50 %"))) << "it is taken away at the end";
}

/// Sets an environment variable, or takes it away, until the object goes.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }
  Environment(const Environment&) = delete;

 private:
  void set(const char* value) const { value == nullptr ? unsetenv(name_.c_str()) : setenv(name_.c_str(), value, 1); }
  std::string name_;
  std::optional<std::string> before_;
};

/// The user's end of a pseudo-terminal of 100 columns.
class PseudoTerminal {
 public:
  PseudoTerminal() {
    winsize size{};
    size.ws_row = 24;
    size.ws_col = 100;
    if (openpty(&other_end_, &end_, nullptr, nullptr, &size) != 0) end_ = -1;
  }
  ~PseudoTerminal() {
    close(end_);
    close(other_end_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  int end() const { return end_; }

 private:
  int end_ = -1, other_end_ = -1;
};

TEST(Terminal, AFileIsNotATerminal) {
  const Environment term("TERM", "xterm"), ci("CI", nullptr), no_color("NO_COLOR", nullptr);
  const test::TemporaryFolder folder;
  const int file = open((folder.path() / "file").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_GE(file, 0);
  for (const int descriptor : {file, -1}) {
    const TerminalOptions options = detect_terminal(descriptor);
    EXPECT_FALSE(options.is_terminal);
    EXPECT_FALSE(options.color);
    EXPECT_FALSE(options.columns);
  }
  close(file);
}

TEST(Terminal, WhatATerminalCanDoIsReadFromItAndTheEnvironment) {
  const PseudoTerminal terminal;
  if (const auto missing = test::missing_terminal(); !missing.empty()) GTEST_SKIP() << missing;
  const Environment term("TERM", "xterm"), ci("CI", nullptr), no_color("NO_COLOR", nullptr);
  const TerminalOptions options = detect_terminal(terminal.end());
  EXPECT_TRUE(options.is_terminal);
  EXPECT_TRUE(options.color);
  ASSERT_TRUE(options.columns);
  EXPECT_EQ(options.columns(), 100);
  {
    const Environment set("NO_COLOR", "1");
    EXPECT_TRUE(detect_terminal(terminal.end()).is_terminal);
    EXPECT_FALSE(detect_terminal(terminal.end()).color);
  }
  for (const auto& [name, value] : {std::pair{"TERM", "dumb"}, std::pair{"CI", "true"}}) {
    const Environment set(name, value);
    EXPECT_FALSE(detect_terminal(terminal.end()).is_terminal) << name;
    EXPECT_FALSE(detect_terminal(terminal.end()).color) << name;
  }
}

TEST(Terminal, TheFirstLocaleThatIsSetDecidesOnUnicode) {
  const Environment all("LC_ALL", nullptr), ctype("LC_CTYPE", nullptr), lang("LANG", nullptr);
  EXPECT_FALSE(detect_terminal(-1).unicode);
  const Environment set("LANG", "de_DE.UTF-8");
  EXPECT_TRUE(detect_terminal(-1).unicode);
  const Environment stronger("LC_ALL", "C");
  EXPECT_FALSE(detect_terminal(-1).unicode);
}

TEST(Log, EveryLineIsOnDiskWithItsLevel) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "log.txt";
  open_log(path);
  log_info("a text with {braces} 100 %");
  log_error("what went wrong");
  const std::string written = test::read_file(path);  // before it is closed
  EXPECT_THAT(written, ContainsRegex("[0-9-]+ [0-9:.]+ info +a text with \\{braces\\} 100 %\n"));
  EXPECT_THAT(written, ContainsRegex("error +what went wrong\n"));
  close_log();
  open_log(path);
  log_info("appended");
  close_log();
  EXPECT_THAT(test::read_file(path), HasSubstr("what went wrong"));
  EXPECT_THAT(test::read_file(path), HasSubstr("appended"));
}

TEST(Log, WarningsReachTheListenerFromEveryThread) {
  const test::TemporaryFolder folder;
  open_log(folder.path() / "log.txt");
  int heard = 0;
  set_warning_listener([&](const std::string&) { ++heard; });
  for_each_at_once(
      100, [](std::size_t) { log_warning("careful"); }, /*threads=*/4);
  set_warning_listener({});
  close_log();
  EXPECT_EQ(heard, 100);
  const std::string written = test::read_file(folder.path() / "log.txt");
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 100);
}

TEST(Log, AnUnwritableFileIsAnErrorThatNamesIt) {
  EXPECT_THAT(test::error_of([] { open_log("/dev/null/log.txt"); }), HasSubstr("/dev/null/log.txt"));
}

TEST(Log, WithoutALogLinesAreLostAndWarningsStillShown) {
  const test::TemporaryFolder folder;
  open_log(folder.path() / "log.txt");
  log_info("kept");
  close_log();
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  log_info("lost");
  log_error("lost, too");
  log_warning("careful");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "warning: careful\n");
  const std::string written = test::read_file(folder.path() / "log.txt");
  EXPECT_THAT(written, HasSubstr("kept"));
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 1) << written;
}

}  // namespace drift::terminal_test
