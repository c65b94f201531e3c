// Presets as the program's user meets them: their tables, and what a run says of settings that it cannot follow.

#include "tests/support/plugins.h"
#include "tests/support/training_run.h"

#include <gmock/gmock.h>

namespace drift::presets_cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// scripts/make_site puts them there.
TEST(PresetsOfTheProgram, TheAlgorithmsPagesHaveAPlaceForThem) {
  for (const Algorithm& algorithm : test::all_plugins().algorithms()) {
    const std::string page = test::read_file(test::source_dir() / "docs/algorithms" / (algorithm.name + ".md"));
    EXPECT_THAT(page, HasSubstr("\n<!-- drift plugin info " + algorithm.name + " --presets -->\n"));
  }
}

TEST(PresetsOfTheProgram, AnUnknownAlgorithmIsAnsweredWithTheNearestName) {
  const auto result = test::run_command(test::program().string() + " plugin info rlfd --presets");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error,
              testing::AllOf(HasSubstr("there is no algorithm `rlfd`"), HasSubstr("did you mean `rldf`?")));
}

TEST(PresetsOfTheProgram, SettingsThatTheRolloutLacksAreCountedAtTheStartAndShownOnRequest) {
  const test::TrainingRuns runs;
  const std::string told =
      "rollout.threshold = 0.95 (preset rl_dream of tracerl) has no effect: rollout `diffusion` has no such";
  const std::string dream =
      " run.toml --algorithm tracerl --set algorithm.preset=rl_dream --set rollout.name=diffusion";
  EXPECT_THAT(runs.drift("config show" + dream).output, HasSubstr(told));
  EXPECT_THAT(runs.drift("config show run.toml --algorithm tracerl").output,
              Not(HasSubstr("rollout.threshold = 0.95 (preset")));
  const std::string counted = "settings of the preset or of extended files that have no effect here: ";
  EXPECT_THAT(runs.drift("train" + dream + " --dry-run").output, AllOf(HasSubstr(counted), Not(HasSubstr(told))));
  const auto trained = runs.drift("train" + dream + " --steps 1 --out trained");
  EXPECT_EQ(trained.status, 0) << trained.error;
  EXPECT_THAT(trained.output + trained.error, AllOf(HasSubstr(counted), Not(HasSubstr(told))));
  EXPECT_THAT(test::read_file(runs.run("trained/config.toml")), HasSubstr(told));
  const auto evaluated = runs.drift("eval trained/checkpoints/last --set evaluation.items=2");
  EXPECT_EQ(evaluated.status, 0) << evaluated.error;
  EXPECT_THAT(evaluated.output + evaluated.error, Not(HasSubstr("no effect")));
}

}  // namespace
}  // namespace drift::presets_cli_test
