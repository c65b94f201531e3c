// Presets as the program's user meets them: their tables, and what a run says of settings that it cannot follow.

#include <tests/support/plugins.h>
#include <tests/support/training_run.h>

namespace drift::presets_cli_test {

using namespace test;
using namespace testing;

// scripts/make_site puts them there.
TEST(PresetsOfTheProgram, TheAlgorithmsPagesHaveAPlaceForThem) {
  for (const Algorithm& algorithm : all_plugins().algorithms()) {
    const std::string page = read_file(source_dir() / "docs/algorithms" / (algorithm.name + ".md"));
    EXPECT_THAT(page, HasSubstr("\n<!-- drift plugin info " + algorithm.name + " --presets -->\n"));
  }
}

TEST(PresetsOfTheProgram, AnUnknownAlgorithmIsAnsweredWithTheNearestName) {
  EXPECT_THAT(run_command(program().string() + " plugin info rlfd --presets"),
              fails("there is no algorithm `rlfd`", "did you mean `rldf`?"));
}

TEST(PresetsOfTheProgram, SettingsThatTheRolloutLacksAreCountedAtTheStartAndShownOnRequest) {
  const TrainingRuns runs;
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
  EXPECT_THAT(trained, prints());
  EXPECT_THAT(trained.output + trained.error, AllOf(HasSubstr(counted), Not(HasSubstr(told))));
  EXPECT_THAT(runs.read("trained/config.toml"), HasSubstr(told));
  const auto evaluated = runs.drift("eval trained/checkpoints/last --set evaluation.items=2");
  EXPECT_THAT(evaluated, prints());
  EXPECT_THAT(evaluated.output + evaluated.error, Not(HasSubstr("no effect")));
}

}  // namespace drift::presets_cli_test
