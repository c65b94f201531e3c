// `drift train --dry-run`: the plan of a run, and what prevents it.

#include <tests/support/training_run.h>

namespace drift::dry_run_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;
using nlohmann::json;

class DryRun : public Test, public TrainingRuns {
 protected:
  CommandResult print(const std::string& options) const { return train("planned", "--dry-run " + options); }
};

TEST_F(DryRun, SaysWhatARunDoesAndTakesAndWritesNothing) {
  EXPECT_THAT(print(""),
              prints("2 prompts x 4 responses of up to 20 tokens", "4 to 20 forwards a response, 32 to 160 in all",
                     "Everything fits. Nothing was written."));
  EXPECT_FALSE(fs::exists(path("planned")));
}

TEST_F(DryRun, CountsTheContextsOfTheAlgorithmThatIsChosen) {
  const auto trajectory_states = plan("--algorithm rldf --set algorithm.masking.k=4");
  EXPECT_EQ(trajectory_states["update"]["views"], 8 * 4);
  EXPECT_EQ(trajectory_states["update"]["optimizer_steps"], 1);
  const auto fully_masked = plan("--algorithm d1 --set train.inner_iterations=3");
  EXPECT_EQ(fully_masked["update"]["views"], 3 * 8) << "a mask of the prompt for each inner iteration";
  EXPECT_EQ(fully_masked["update"]["scored_tokens"], 3 * 8 * 20);
  EXPECT_EQ(fully_masked["update"]["optimizer_steps"], 3);
}

// What is written in few forwards has few states.
TEST_F(DryRun, CountsTheContextsThatTheRolloutCanMake) {
  const std::string two_forwards = "--set 'rollout.schedule=\"static\"' --set rollout.block=20 --set rollout.steps=2 ";
  const auto update = plan("--algorithm rldf --set algorithm.masking.k=4 " + two_forwards)["update"];
  EXPECT_EQ(update["views"], 8 * 4);
  EXPECT_EQ(update["backward_rows"], 2 + 8) << "each prompt fully masked, and each response half written";
}

// A row has a state of each block: all views of a response are one.
TEST_F(DryRun, OfAModelWithBlocksCountsTheRowsThatAreScored) {
  const auto planned = printed_json(drift("train blocks.toml --dry-run --json --out planned"));
  EXPECT_EQ(planned["update"]["views"], 8 * 2);
  EXPECT_EQ(planned["update"]["backward_rows"], 8);
}

// Before a run has a folder, also without --dry-run.
TEST_F(DryRun, ARolloutThatTheModelRefusesIsSaid) {
  for (const std::string refused :
       {"--set rollout.steps=20", "--set rollout.cache=dual", "--set evaluation.rollout.append=true"}) {
    const auto said = drift("train blocks.toml --out refused " + refused);
    EXPECT_EQ(said.status, 1) << refused;
    EXPECT_THAT(said.error, HasSubstr("of plugin `block`, estimate_cost: rollout.")) << refused;
    EXPECT_FALSE(fs::exists(path("refused"))) << refused;
  }
}

TEST_F(DryRun, CountsTheForwardsOfEveryPolicy) {
  // Every context once for the policy; with a KL once more for the reference; for later inner iterations once more
  // each.
  const std::string options = "--algorithm rldf --set algorithm.masking.k=4 ";
  const auto alone = plan(options + "--set algorithm.loss.beta=0.0");
  const std::int64_t rows = alone["update"]["backward_rows"];
  EXPECT_EQ(alone["update"]["forward_rows"], rows);
  EXPECT_FALSE(alone["memory"].contains("reference policy"));
  const auto with_reference = plan(options + "--set algorithm.loss.beta=0.1");
  EXPECT_EQ(with_reference["update"]["forward_rows"], 2 * rows);
  EXPECT_EQ(with_reference["memory"]["reference policy"], with_reference["memory"]["weights"]);
  const auto twice = plan(options + "--set algorithm.loss.beta=0.0 --set train.inner_iterations=2");
  EXPECT_EQ(twice["update"]["backward_rows"], 2 * rows);
}

TEST_F(DryRun, AValueModelCostsAsMuchMemoryAsThePolicyAndItsEstimatesAForward) {
  const std::string options = "--algorithm tracerl --set algorithm.loss.beta=0 ";
  const auto without = plan(options), with = plan(options + "--set value.enabled=true");
  EXPECT_FALSE(without["memory"].contains("value model"));
  EXPECT_EQ(with["memory"]["value model"], with["memory"]["weights"]);
  EXPECT_EQ(with["memory"]["value model's AdamW's moments"], with["memory"]["AdamW's moments"]);
  const auto rows = [](const json& plan, const char* name) { return plan["update"][name].get<int>(); };
  EXPECT_EQ(rows(with, "backward_rows"), 2 * rows(without, "backward_rows"));
  EXPECT_EQ(rows(with, "forward_rows"), rows(without, "forward_rows") + rows(with, "backward_rows"));
}

TEST_F(DryRun, AValueModelNeedsAllWeightsAndAStrategyThatKnowsTheStepOfAToken) {
  EXPECT_THAT(train("planned", "--algorithm tracerl --set value.enabled=true --set adapter.kind=lora"),
              fails("trains all weights of a second model, and adapter.kind = \"lora\""));
  EXPECT_THAT(train("random", "--algorithm rldf --steps 1 --set value.enabled=true"),
              fails("scores tokens in several views"));
}

TEST_F(DryRun, MemoryFollowsTheType) {
  const auto full = plan("")["memory"], half = plan("--dtype bfloat16")["memory"];
  EXPECT_EQ(full["weights"], 2 * half["weights"].get<std::int64_t>());
  EXPECT_EQ(half["master weights"], full["weights"]);
  EXPECT_EQ(half["AdamW's moments"], full["AdamW's moments"]);
  const std::int64_t parameters = plan("")["parameters"];
  EXPECT_EQ(full["weights"], 4 * parameters);
  EXPECT_EQ(full["AdamW's moments"], 8 * parameters);
}

TEST_F(DryRun, AModelThatIsTooLargeIsReported) {
  // Eight thousand times the layers' size, and no weights: nothing of it is ever allocated.
  const fs::path large = path("large");
  fs::copy(base_checkpoint(), large);
  auto config = json::parse(read_file(large / "config.json"));
  config["d_model"] = 65536;
  config["n_layers"] = 64;
  config["mlp_hidden_size"] = 4 * 65536;
  write_file(large / "config.json", config.dump());
  EXPECT_THAT(print("--set 'model.path=\"" + large.string() + "\"' --set 'model.initialize=\"random\"'"),
              finds("does not fit: ", "of memory needed"));

  EXPECT_THAT(print("--set 'model.path=\"" + large.string() + "\"'"),
              AllOf(finds(IsEmpty()), fails("do not fit the model")));
}

// The learning rate of these presets was chosen for adapters. Here the run's file sets one of its own, and another file
// does not.
TEST_F(DryRun, APresetsNoteOnItsLearningRateIsSaidWhereTheRunTakesIt) {
  const std::string note = "(preset train of d1) was chosen for adapters (LoRA)";
  EXPECT_THAT(print("--algorithm d1").output, Not(HasSubstr("adapters")));

  const std::string own_rate = "learning_rate = 1e-3\n";
  std::string file = read("run.toml");
  ASSERT_NE(file.find(own_rate), std::string::npos);
  write("presets_rate.toml", file.erase(file.find(own_rate), own_rate.size()));
  const std::string run = "train presets_rate.toml --steps 1 --set train.inner_iterations=1 --algorithm ";
  EXPECT_THAT(drift(run + "d1 --dry-run").output, HasSubstr("note: train.learning_rate = 3e-6 " + note));
  EXPECT_THAT(printed_json(drift(run + "d1 --dry-run --json"))["notes"].dump(), HasSubstr("adapters"));
  EXPECT_THAT(drift("config show presets_rate.toml --algorithm d1").output, HasSubstr(note));
  EXPECT_THAT(drift(run + "rldf --dry-run").output, Not(HasSubstr("adapters"))) << "trains all weights";
  EXPECT_THAT(drift(run + "d1 --set train.learning_rate=3e-6 --dry-run").output, Not(HasSubstr("adapters")));

  const auto trained = drift(run + "d1 --out trained");
  EXPECT_THAT(trained, prints());
  EXPECT_THAT(trained.output + trained.error, HasSubstr("warning: train.learning_rate"));
  EXPECT_THAT(read("trained/log.txt"), HasSubstr(note));
}

TEST_F(DryRun, AnExistingRunIsReported) {
  ASSERT_EQ(train("planned", "--steps 1").status, 0);
  EXPECT_THAT(print(""), finds("planned already holds a run"));
  EXPECT_EQ(print("--resume").status, 0);
}

}  // namespace drift::dry_run_test
