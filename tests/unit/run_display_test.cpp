#include "tests/support/support.h"

#include <core/base/log.h>
#include <core/report/run_display.h>

namespace drift::run_display_test {

using namespace testing;

// A terminal whose clock the test moves.
struct Screen {
  explicit Screen(bool is_terminal, int columns = 0) : terminal(stream, options(is_terminal, columns)) {}

  TerminalOptions options(bool is_terminal, int columns) {
    TerminalOptions options;
    options.is_terminal = is_terminal;
    options.clock = [this] { return seconds; };
    if (columns > 0) options.columns = [columns] { return columns; };
    return options;
  }
  std::string text() const { return stream.str(); }
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::istringstream in(stream.str());
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }

  double seconds = 100;
  std::ostringstream stream;
  Terminal terminal;
};

StepRecord row(std::int64_t step, double reward) {
  StepRecord row;
  row.step = step;
  row.reward = row.solved = reward;
  row.loss = -0.0312;
  row.loss_metrics = {{"kl", 0}, {"token_utility", 0.583}};
  row.live_groups = 6;
  row.groups = 16;
  row.grad_norm = 0.84;
  row.seconds = StepSeconds{.rollout = 0.11, .old = 0.01, .update = 0.052};
  row.tokens_per_second = 21387;
  return row;
}

RunPlan sixty_steps() {
  RunPlan plan;
  plan.steps = 60;
  return plan;
}

TEST(RunDisplay, HeaderSaysWhatRuns) {
  Screen screen(false);
  RunDisplay display(screen.terminal);
  display.header({.version = "0.1.0",
                  .algorithm = "an_algorithm",
                  .model = "a_model",
                  .parameters = 216512,
                  .data_type = "float32",
                  .task = "a_task",
                  .device = "cpu",
                  .threads = 2,
                  .run_folder = "runs/first"});
  EXPECT_EQ(
      screen.text(),
      "drift 0.1.0 · an_algorithm · a_model 0.22 M parameters float32 · a_task · cpu, 2 threads · run runs/first\n");
}

TEST(RunDisplay, InAPipeRowsArePlainAlignedAndMeansOverTheStepsBetween) {
  Screen screen(false);
  RunDisplay display(screen.terminal);
  display.begin(sixty_steps());
  for (int step = 1; step <= 20; ++step) {
    screen.seconds += 0.25;
    display.step(row(step, step <= 10 ? 0.1 * (step % 2) : 0.73));
  }
  EXPECT_EQ(screen.text(),
            "  step reward solved     loss      kl  live utility   grad rollout  update  tokens/s    left\n"
            "    10  0.050   5.0%   -0.031   0.000  6/16   0.583   0.84  0.11 s 0.062 s    21,400    0:13\n"
            "    20  0.730  73.0%   -0.031   0.000  6/16   0.583   0.84  0.11 s 0.062 s    21,400    0:10\n");
}

TEST(RunDisplay, EvaluatedStepsAndSlowStepsHaveARowOfTheirOwn) {
  Screen screen(false);
  RunDisplay display(screen.terminal);
  RunPlan plan = sixty_steps();
  plan.evaluates = true;
  display.begin(plan);
  StepRecord before;
  before.held_out = HeldOutResult{0.318, 0.023, 400};
  display.step(before);
  screen.seconds += 1;
  display.step(row(1, 0.5));  // neither due nor late
  screen.seconds += 30;
  display.step(row(2, 0.5));
  const auto lines = screen.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[1], StartsWith("     0                  31.8%      "));
  EXPECT_THAT(lines[2], StartsWith("     2  0.500  50.0%         "));
}

TEST(RunDisplay, UnknownValuesAreDashes) {
  Screen screen(false);
  RunDisplay display(screen.terminal);
  RunPlan plan;
  plan.steps = 1;
  display.begin(plan);
  StepRecord skipped;
  skipped.step = 1;
  skipped.live_groups = 0;
  skipped.groups = 16;
  display.step(skipped);
  EXPECT_THAT(screen.lines()[1],
              StartsWith("     1      -      -        -       -  0/16       -      -       -       -         -"));
}

TEST(RunDisplay, PretrainHasItsOwnColumns) {
  Screen screen(false);
  RunDisplay display(screen.terminal);
  RunPlan plan;
  plan.kind = RunKind::kPretrain;
  plan.steps = 1;
  display.begin(plan);
  StepRecord step;
  step.step = 1;
  step.loss = 2.5;
  step.grad_norm = 1;
  step.learning_rate = 2e-3;
  step.tokens_per_second = 1000;
  screen.seconds += 1;
  display.step(step);
  EXPECT_EQ(screen.text(),
            "  step     loss   grad      lr  tokens/s    left\n"
            "     1    2.500   1.00   0.002     1,000    0:00\n");
}

TEST(RunDisplay, NarrowTerminalsLoseTheLeastNeededColumns) {
  for (const int columns : {40, 60, 80}) {
    Screen screen(true, columns);
    RunDisplay display(screen.terminal);
    display.begin(sixty_steps());
    const std::string titles = screen.lines()[0];
    EXPECT_LE(titles.size(), static_cast<std::size_t>(columns));
    for (const char* kept : {"step", "reward", "solved", "left"}) EXPECT_THAT(titles, HasSubstr(kept));
    EXPECT_THAT(titles, Not(HasSubstr("grad")));
  }
}

TEST(RunDisplay, TheLiveLineIsRedrawnInPlaceAndNeverWraps) {
  Screen screen(true, 60);
  {
    RunDisplay display(screen.terminal);
    display.begin(sixty_steps());
    for (int step = 1; step <= 5; ++step) {
      screen.seconds += 0.5;
      display.step(row(step, 0.4));
    }
    display.activity("evaluation of a great many things", 120, 400);
  }
  std::istringstream last(screen.lines().back());
  std::vector<std::string> drawn;
  for (std::string frame; std::getline(last, frame, '\r');) drawn.push_back(frame);
  ASSERT_GT(drawn.size(), 5u);
  EXPECT_THAT(drawn[5], StartsWith("\033[K5/60  ━"));
  EXPECT_THAT(drawn[5], HasSubstr("0:28 left  2.00 steps/s"));
  for (const std::string& frame : drawn)
    EXPECT_LE(std::count_if(frame.begin(), frame.end(), [](char c) { return (c & 0xC0) != 0x80; }), 59 + 3);
  EXPECT_EQ(drawn.back(), "\033[K") << "the live line goes with the display";
}

TEST(RunDisplay, WarningsOfAnyRoomAppearInTheRunAboveTheLiveLine) {
  Screen screen(true, 100);
  RunDisplay display(screen.terminal);
  display.begin(sixty_steps());
  log_warning("fewer than 10 % of the groups are live");
  EXPECT_THAT(screen.text(), HasSubstr("\r\033[Kwarning: fewer than 10 % of the groups are live\n0/60"));
}

TEST(RunDisplay, ClosingShowsWhatWasLearnedAndWhereItIs) {
  Screen screen(false);
  RunDisplay display(screen.terminal);
  display.close({.last_step = 60,
                 .before = HeldOutResult{0.318, 0.0233, 400},
                 .after = HeldOutResult{0.865, 0.0171, 400},
                 .decoding = "greedy",
                 .seconds = 19.4,
                 .evaluation_seconds = 15.2,
                 .start_seconds = 22.1,
                 .total_seconds = 58.4,
                 .peak_memory_mib = 412.4,
                 .report = "runs/first/report.html"});
  EXPECT_EQ(screen.text(),
            "eval    400 held-out items, greedy:  31.8 % -> 86.5 %   (standard error 2.3, 1.7)\n"
            "time    0:58 (start 0:22, training 0:19, evaluation 0:15), peak memory 412 MiB\n"
            "report  runs/first/report.html\n");
}

TEST(RunDisplay, AnInterruptedRunSaysHowToContinue) {
  Screen screen(false);
  RunDisplay display(screen.terminal);
  display.begin(sixty_steps());
  display.step(row(37, 0.4));
  display.close({.last_step = 37,
                 .interrupted = true,
                 .checkpoint = "runs/first/checkpoints/step-000037",
                 .resume_command = "drift train runs/first/config.toml --resume"});
  EXPECT_THAT(screen.text(), HasSubstr("\n    37  0.400"));
  EXPECT_THAT(screen.text(), EndsWith("stopped     after step 37 of 60\n"
                                      "checkpoint  runs/first/checkpoints/step-000037\n"
                                      "continue    drift train runs/first/config.toml --resume\n"));
}

TEST(Progress, InAPipeItPrintsEveryTenSeconds) {
  Screen screen(false);
  Progress progress(screen.terminal, "eval", 400, "item");
  for (int done = 10; done <= 400; done += 10) {
    screen.seconds += 1;
    progress.update(done);
  }
  EXPECT_EQ(screen.lines()[0], "eval  100/400  10.0 items/s  0:30 left");
  EXPECT_EQ(screen.lines().size(), 4u);
}

TEST(Progress, OnATerminalItIsOneLineAndLeavesNothing) {
  Screen screen(true, 80);
  {
    Progress progress(screen.terminal, "eval", 400, "item");
    screen.seconds += 1;
    progress.update(200);
  }
  EXPECT_THAT(screen.text(), HasSubstr("eval  ━━━━━━━━━━━━────────────  200/400  200 items/s  0:01 left"));
  EXPECT_THAT(screen.text(), Not(HasSubstr("\n")));
  EXPECT_THAT(screen.text(), EndsWith("\r\033[K"));
}

TEST(RateEstimator, ForgetsAnOldSpeed) {
  RateEstimator rate;
  double now = 0;
  for (int done = 0; done <= 100; ++done) rate.update(done, now += done < 50 ? 10 : 1);
  EXPECT_DOUBLE_EQ(rate.rate(), 1);
  EXPECT_DOUBLE_EQ(rate.seconds_left(160), 60);
}

}  // namespace drift::run_display_test
