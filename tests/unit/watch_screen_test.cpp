// What `drift watch` shows: a function of the runs, the size of the terminal and what was chosen.

#include "tests/support/support.h"

#include <core/report/format.h>
#include <core/report/watch_screen.h>

namespace drift::watch_screen_test {

using namespace testing;

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

WatchedRun a_run(const std::string& name, int steps) {
  WatchedRun run;
  run.name = name;
  run.state = WatchedState::kRunning;
  run.steps_planned = 40;
  run.quiet = 1;
  for (int number = 1; number <= steps; ++number) {
    StepRecord step;
    step.step = number;
    step.reward = 0.1 * number;
    step.solved = 0.05 * number;
    step.loss = 1.0 / number;
    step.seconds = StepSeconds{.rollout = 1.5, .update = 0.4, .total = 2};
    if (number % 4 == 0) step.held_out = HeldOutResult{.accuracy = 0.1 * number};
    run.steps.push_back(step);
  }
  return run;
}

WatchedSample a_sample() {
  WatchedSample sample;
  sample.step = 8;
  sample.prompt = "What is 2 + 2?\n";
  sample.response = "It is\n4.";
  sample.reason = "right";
  sample.reward = 1;
  sample.solved = true;
  return sample;
}

WatchView ascii(int columns, int rows = 0) {
  WatchView view;
  view.columns = columns;
  view.rows = rows;
  view.unicode = false;
  return view;
}

TEST(WatchScreen, ASnapshotShowsAllOfARun) {
  WatchedRun run = a_run("quick", 8);
  run.samples = {a_sample()};
  EXPECT_EQ(text_of(watch_lines({run}, ascii(100))),
            R"(run    state    step             reward  solved  held-out         rate  left  reward
quick  running  ##........ 8/40   0.800  40.0 %    80.0 %  2.00 s/step  1:04  _..--==#

reward  0.800  metric 1 of 5                        a step's time
     0.8 +                                       -  rollout  1.50 s  75.0 %  #########...
         |                                 ......#  update   0.40 s  20.0 %  ##..........
     0.6 +                            _____#######  other    0.10 s   5.0 %  ............
         |                      ______############
         |                      ##################
     0.4 +                 #######################
         |           #############################
     0.2 +      =====#############################
         |------##################################
          1     2    3     4    5     6    7     8

responses of the last evaluation  1 of 1
solved  reward 1.00  after step 8  right
  prompt    What is 2 + 2?
  response  It is
            4.
)");
}

TEST(WatchScreen, EveryRunHasALineAndTheChosenOneAPointer) {
  WatchedRun lost = a_run("lost", 3), ended = a_run("ended", 40), awaited;
  lost.state = WatchedState::kLost;
  lost.quiet = 750;
  ended.state = WatchedState::kFinished;
  awaited.name = "later";
  WatchView view = ascii(120);
  view.run = 1;
  const std::string text = text_of(watch_lines({ended, lost, awaited}, view));
  EXPECT_THAT(text, HasSubstr("\n  ended  finished               ########## 40/40"));
  EXPECT_THAT(text, HasSubstr("\n> lost   lost, quiet for 12:30  .......... 3/40"));
  EXPECT_THAT(text, HasSubstr("\n  later  no run yet             0"));
  EXPECT_THAT(text, HasSubstr("\nlost: no process works on the run"));
}

TEST(WatchScreen, OfManyRunsThoseAroundTheChosenOneAreShown) {
  std::vector<WatchedRun> runs;
  for (int i = 1; i <= 30; ++i) runs.push_back(a_run("run" + std::to_string(i), i));
  WatchView view = ascii(100, 24);
  view.run = 14;
  const auto lines = watch_lines(runs, view);
  EXPECT_EQ(lines.size(), 24u);
  EXPECT_THAT(lines[0], HasSubstr("run 15 of 30"));
  const std::string text = text_of(lines);
  EXPECT_THAT(text, AllOf(HasSubstr("\n> run15 "), HasSubstr("\n  run12 "), HasSubstr("\n  run17 ")));
  EXPECT_THAT(text, Not(HasSubstr("run29")));
}

TEST(WatchScreen, FitsEveryTerminal) {
  std::vector<WatchedRun> runs = {a_run("one", 8), a_run("another", 20)};
  runs[0].samples = {a_sample()};
  runs[0].error = std::string(300, 'x');
  runs[0].state = WatchedState::kFailed;
  for (const bool unicode : {false, true}) {
    for (int columns = 1; columns < 140; columns += 3) {
      for (int rows = 1; rows < 50; ++rows) {
        WatchView view = ascii(columns, rows);
        view.unicode = unicode;
        const auto lines = watch_lines(runs, view);
        ASSERT_EQ(lines.size(), static_cast<std::size_t>(rows));
        for (const std::string& line : lines) ASSERT_LE(display_width(line), columns) << line;
      }
    }
  }
}

TEST(WatchScreen, AsciiWhereTheLocaleHasNoMore) {
  WatchedRun run = a_run("quick", 8);
  run.samples = {a_sample()};
  const std::string text = text_of(watch_lines({run, run}, ascii(120, 40)));
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 32 && c < 127); })) << text;
}

TEST(WatchScreen, ShowsTheMetricThatWasChosen) {
  const WatchedRun run = a_run("quick", 8);
  EXPECT_THAT(watched_metrics(run), ElementsAre("reward", "held_out", "solved", "loss", "seconds"));
  WatchView view = ascii(80);
  EXPECT_THAT(text_of(watch_lines({run}, view)), HasSubstr("\nreward  0.800  metric 1 of 5\n"));
  view.metric = "loss";
  EXPECT_THAT(text_of(watch_lines({run}, view)), HasSubstr("\nloss  0.125  metric 4 of 5\n"));
  view.metric = "of_another_run";
  EXPECT_THAT(text_of(watch_lines({run}, view)), HasSubstr("\nreward  0.800"));
}

TEST(WatchScreen, ShowsTheLastAlarmsWithWhatToTry) {
  static constexpr AlarmDoc kDoc = {"length_drift", "length", "length drifts", "it means this", "try that"};
  WatchedRun run = a_run("quick", 8);
  run.alarms = {{.step = 3, .doc = &kDoc, .found = "the first"},
                {.step = 7, .doc = &kDoc, .found = "12 tokens, 48 at first"}};
  const std::string text = text_of(watch_lines({run}, ascii(48)));
  EXPECT_THAT(text, HasSubstr("\nalarms\n"
                              "  step 3: length drifts: the first. Try: try\n"
                              "  that\n"
                              "  step 7: length drifts: 12 tokens, 48 at first.\n"
                              "  Try: try that\n"));
  const std::string low = text_of(watch_lines({run}, ascii(80, 19)));
  EXPECT_THAT(low, AllOf(HasSubstr("step 7: length drifts"), Not(HasSubstr("step 3:")))) << low;
}

TEST(WatchScreen, TextsOfFilesCannotMoveTheCursor) {
  WatchedRun run = a_run("evil\033[2J", 8);
  WatchedSample sample = a_sample();
  sample.prompt = sample.response = sample.reason =
      "a\033]0;title\007\rb\xc2\x9b"
      "31m";
  run.samples = {sample};
  run.error = run.trouble = "c\033[1;1H";
  run.state = WatchedState::kFailed;
  run.steps.back().loss_metrics["kl\033[31m"] = 1;
  for (const std::string metric : {"reward", "loss/kl\033[31m"}) {
    WatchView view = ascii(120, 50);
    view.metric = metric;
    const std::string text = text_of(watch_lines({run}, view));
    EXPECT_THAT(text, AllOf(Not(HasSubstr("\033")), Not(HasSubstr("\r")), Not(HasSubstr("\xc2\x9b"))));
    EXPECT_THAT(text, HasSubstr("a\\x1b]0;title"));
  }
}

TEST(WatchScreen, ColoursAreNoCharacters) {
  WatchedRun run = a_run("quick", 8);
  run.samples = {a_sample()};
  WatchView plain = ascii(120, 40), coloured = plain;
  coloured.color = true;
  std::vector<std::string> without;
  for (std::string line : watch_lines({run}, coloured)) {
    for (auto at = line.find('\033'); at != std::string::npos; at = line.find('\033'))
      line.erase(at, line.find('m', at) + 1 - at);
    line.erase(line.find_last_not_of(' ') + 1);
    without.push_back(line);
  }
  EXPECT_EQ(text_of(without), text_of(watch_lines({run}, plain)));
}

TEST(WatchedMetrics, OfThousandsSomeAreShown) {
  WatchedRun run;
  for (int i = 0; i < 2'000; ++i) {
    StepRecord& step = run.steps.emplace_back();
    step.step = i;
    step.plugin_metrics = {{"own" + std::to_string(i), 1.0}};
  }
  EXPECT_LE(watched_metrics(run).size(), 300u);
  EXPECT_GE(watched_metrics(run).size(), 100u);
}

TEST(Watch, OfALongResponseTheBeginningIsShown) {
  WatchedRun run;
  run.steps.resize(1);
  run.samples = {a_sample()};
  run.samples[0].response = std::string(10'000'000, 'x');
  const std::string shown = testing::PrintToString(watch_lines({run}, {}));
  EXPECT_THAT(shown, testing::HasSubstr("xxxxx"));
  EXPECT_LT(shown.size(), 20'000u);
}

}  // namespace drift::watch_screen_test
