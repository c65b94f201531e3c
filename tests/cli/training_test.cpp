// `drift train` from outside: the files of a run, and that it can be repeated.

#include <tests/support/training_run.h>

#include <core/io/folder_lock.h>
#include <core/io/safetensors.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace drift::training_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class Training : public testing::Test {
 protected:
  static std::vector<std::string> checkpoints(const fs::path& run) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(run / "checkpoints"))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  test::TrainingRuns runs_;
};

TEST_F(Training, LeavesMetricsCheckpointsAndAReport) {
  const auto result = runs_.train("a");
  ASSERT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("a/report.html"));
  const auto run = runs_.run("a");

  const auto metrics = test::metrics_of(run);
  ASSERT_THAT(metrics, SizeIs(5)) << "the evaluation before the first step, then four steps";
  EXPECT_TRUE(metrics.front().contains("held_out"));
  for (std::size_t step = 1; step < metrics.size(); ++step) {
    EXPECT_EQ(metrics[step].at("step"), step);
    for (const char* key : {"loss", "reward", "solved", "grad_norm", "loss/token_utility", "live_groups"})
      EXPECT_TRUE(metrics[step].at(key).is_number()) << key << " of step " << step;
    for (const char* phase : {"rollout", "reward", "old", "reference", "update", "other", "total"})
      EXPECT_TRUE(metrics[step].at("seconds").at(phase).is_number()) << phase << " of step " << step;
  }
  EXPECT_EQ(metrics.back().at("held_out").at("items"), 4);

  const auto summary = nlohmann::json::parse(test::read_file(run / "summary.json"));
  for (const char* key : {"version", "algorithm", "model", "task", "seed", "steps", "seconds", "peak_memory_mib"})
    EXPECT_TRUE(summary.contains(key)) << key;
  double parts = 0;
  for (const char* key : {"start_seconds", "seconds", "evaluation_seconds"}) {
    EXPECT_GT(summary.at(key), 0) << key;
    parts += summary.at(key).get<double>();
  }
  EXPECT_GE(summary.at("total_seconds").get<double>(), parts);
  EXPECT_EQ(summary.at("steps"), 4);
  EXPECT_EQ(summary.at("status"), "finished");
  EXPECT_EQ(summary.at("held_out").at("before"), metrics.front().at("held_out").at("accuracy"));
  EXPECT_EQ(summary.at("held_out").at("after"), metrics.back().at("held_out").at("accuracy"));
  EXPECT_TRUE(summary.at("held_out").contains("standard_error"));

  std::vector<std::string> plugins;
  for (const auto& plugin : nlohmann::json::parse(test::read_file(run / "plugins.json"))) {
    plugins.push_back(plugin.at("name"));
    EXPECT_THAT(plugin.at("sha256").get<std::string>(), SizeIs(64));
  }
  EXPECT_THAT(plugins, testing::UnorderedElementsAre("rldf", "llada", "block", "sudoku", "sudoku_task"));
  EXPECT_THAT(test::read_file(run / "log.txt"), HasSubstr("checkpoint a/checkpoints/step-000004"));
  const std::string card = test::read_file(run / "checkpoints/last/README.md");
  for (const std::string& line :
       {"- base: `" + test::base_checkpoint().string() + "`\n", std::string("- run: `a`, seed 5\n"),
        std::string("- data: `sudoku`\n"), std::string("- algorithm: rldf\n- steps: 4\n- reward of the last step: "),
        std::string("- held-out accuracy at the last evaluation: "), std::string("\ndrift train run.toml --out a\n")})
    EXPECT_THAT(card, HasSubstr(line));
  EXPECT_THAT(test::read_file(run / "report.html"), HasSubstr("</html>"));
  EXPECT_THAT(test::read_file(run / "report.html"), HasSubstr("<a href=\"replay_after.html\">"));
  EXPECT_THAT(test::read_file(run / "replay_after.html"), HasSubstr("data-step=\"0\""));
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.json", "training_state.safetensors"})
    EXPECT_TRUE(fs::exists(run / "checkpoints/last" / file)) << file;
}

TEST_F(Training, ItsConfigurationAloneRepeatsARun) {
  ASSERT_EQ(runs_.train("a", "--seed 7 --set algorithm.masking.k=3 --steps 3").status, 0);
  fs::rename(runs_.run("a/config.toml"), runs_.path() / "elsewhere.toml");
  fs::remove(runs_.path() / "run.toml");
  const auto again = runs_.drift("train elsewhere.toml --out b");
  ASSERT_EQ(again.status, 0) << again.error;
  EXPECT_EQ(test::difference(runs_.run("b"), runs_.run("a")), "");
}

TEST_F(Training, AnotherSeedIsAnotherRun) {
  ASSERT_EQ(runs_.train("a", "--steps 2").status, 0);
  ASSERT_EQ(runs_.train("b", "--steps 2 --seed 6").status, 0);
  EXPECT_NE(test::difference(runs_.run("b"), runs_.run("a")), "");
}

TEST_F(Training, KeepsTheLatestCheckpoints) {
  ASSERT_EQ(runs_.train("a", "--set train.keep_checkpoints=3").status, 0);
  EXPECT_THAT(checkpoints(runs_.run("a")), ElementsAre("last", "step-000002", "step-000003", "step-000004"));
  EXPECT_EQ(fs::read_symlink(runs_.run("a/checkpoints/last")), "step-000004");
  ASSERT_EQ(runs_.train("b", "--steps 5 --set train.checkpoint_every=2 --set train.keep_checkpoints=8").status, 0);
  EXPECT_THAT(checkpoints(runs_.run("b")), ElementsAre("last", "step-000002", "step-000004", "step-000005"))
      << "every second step, and the end";
}

TEST_F(Training, AFolderThatHoldsARunIsRefused) {
  ASSERT_EQ(runs_.train("a", "--steps 1").status, 0);
  const std::string metrics = test::read_file(runs_.run("a/metrics.jsonl"));
  const auto second = runs_.train("a", "--steps 1");
  EXPECT_EQ(second.status, 1);
  EXPECT_EQ(second.error,
            "error: folder a already has a run\n  = continue it with --resume, replace it with --overwrite, or choose "
            "another "
            "folder with --out\n");
  EXPECT_EQ(test::read_file(runs_.run("a/metrics.jsonl")), metrics);
}

TEST_F(Training, OverwriteReplacesTheRun) {
  ASSERT_EQ(runs_.train("a", "--steps 2").status, 0);
  test::write_file(runs_.run("a/notes.txt"), "mine");
  ASSERT_EQ(runs_.train("a", "--steps 1 --overwrite").status, 0);
  EXPECT_THAT(test::metrics_of(runs_.run("a")), SizeIs(2)) << "the evaluation before the first step, then one step";
  EXPECT_THAT(checkpoints(runs_.run("a")), ElementsAre("last", "step-000001"));
  EXPECT_EQ(test::read_file(runs_.run("a/notes.txt")), "mine") << "it is not the run's";
  EXPECT_EQ(runs_.train("a", "--steps 1 --overwrite --resume").status, 2);
}

TEST_F(Training, WithoutOutTheRunsNameNamesItsFolderAndANumberFollows) {
  for (const char* folder : {"runs/tiny", "runs/tiny-2"}) {
    const auto result = runs_.drift("train run.toml --steps 1");
    ASSERT_EQ(result.status, 0) << result.error;
    EXPECT_TRUE(fs::exists(runs_.run(folder) / "summary.json")) << folder;
  }
  ASSERT_EQ(runs_.drift("train run.toml --steps 2 --resume").status, 0);
  EXPECT_EQ(test::metrics_of(runs_.run("runs/tiny-2")).back().at("step"), 2) << "the last one continues";
  ASSERT_EQ(runs_.drift("train runs/tiny/config.toml --steps 3 --resume").status, 0);
  EXPECT_EQ(test::metrics_of(runs_.run("runs/tiny")).back().at("step"), 3) << "a run's own file continues that run";
  ASSERT_EQ(runs_.drift("train run.toml --steps 1 --algorithm tracerl").status, 0);
  EXPECT_TRUE(fs::exists(runs_.run("runs/tiny-tracerl") / "summary.json")) << "the algorithm is not the file's";
  ASSERT_EQ(runs_.drift("train run.toml --steps 1 --algorithm rldf").status, 0);
  EXPECT_TRUE(fs::exists(runs_.run("runs/tiny-3") / "summary.json")) << "this one is";
}

TEST_F(Training, RunsThatAreStartedTogetherTakeANameEach) {
  const FolderLock of_one_that_has_not_begun(runs_.run("runs/tiny"), "another run");
  const std::string train = test::program().string() + " train run.toml --steps 1 --seed ";
  const auto together = test::run_command("cd " + runs_.path().string() + " && for i in 1 2 3; do " + train +
                                          "$i >/dev/null & done; wait");
  EXPECT_EQ(together.error, "");
  std::set<int> seeds;
  for (const char* folder : {"runs/tiny-2", "runs/tiny-3", "runs/tiny-4"})
    seeds.insert(nlohmann::json::parse(test::read_file(runs_.run(folder) / "summary.json")).at("seed").get<int>());
  EXPECT_THAT(seeds, ElementsAre(1, 2, 3));
}

TEST_F(Training, ARunThatNeverBeganIsNotInTheWay) {
  fs::create_directories(runs_.run("runs/tiny/checkpoints"));
  test::write_file(runs_.run("runs/tiny/config.toml"), "");
  ASSERT_EQ(runs_.drift("train run.toml --steps 1").status, 0);
  EXPECT_TRUE(fs::exists(runs_.run("runs/tiny/summary.json")));
}

TEST_F(Training, WithEqualRewardsNothingIsLearnt) {
  // Greedy responses to one prompt are equal.
  const auto result = runs_.train("a", "--steps 2 --set rollout.temperature=0 --set train.weight_decay=0.1");
  ASSERT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(
      result.output + result.error,
      HasSubstr("warning: step 1: all 2 groups have equal rewards, step skipped: nothing to learn from them. Try: "));
  for (const char* file : {"a/log.txt", "a/report.html"})
    EXPECT_THAT(test::read_file(runs_.run(file)), HasSubstr("all 2 groups have equal rewards")) << file;
  for (const auto& line : test::metrics_of(runs_.run("a"))) {
    if (line.at("step") == 0) continue;
    EXPECT_EQ(line.at("skipped"), true);
    EXPECT_EQ(line.at("live_groups"), 0);
    EXPECT_EQ(line.at("same_responses"), 1);
    EXPECT_TRUE(line.at("loss").is_null());
  }
  EXPECT_TRUE(test::read_file(runs_.run("a/checkpoints/last/model.safetensors")) ==
              test::read_file(test::base_checkpoint() / "model.safetensors"))
      << "neither momentum nor decay may move the weights";
}

TEST_F(Training, AResponseThatFillsItsLengthMayCountAsWrong) {
  const auto first_step = [&](const std::string& name, const std::string& options) {
    EXPECT_EQ(runs_.train(name, "--set train.steps=1 " + options).status, 0);
    return test::metrics_of(runs_.run(name)).at(1);
  };
  const auto plain = first_step("plain", "");
  const auto strict = first_step("strict", "--set reward.truncation_is_wrong=true");
  const auto room = first_step("room", "--set reward.truncation_is_wrong=true --set reward.truncation_margin=0");
  ASSERT_GT(plain.at("reward"), 0);
  EXPECT_EQ(strict.at("reward"), 0) << "every grid fills 16 of its 20 positions at least";
  EXPECT_EQ(strict.at("solved"), 0);
  EXPECT_GT(room.at("reward"), 0) << "what is solved ends before the last position";
}

TEST_F(Training, OfSeveralRewardsEachIsLogged) {
  const auto result = runs_.train("a",
                                  "--set 'reward.score=\"grid_valid\"' --set 'reward.added.cells.name=\"sudoku\"' "
                                  "--set 'reward.added.cells.score=\"cells\"' "
                                  "--set reward.added.cells.weight=0.5");
  ASSERT_EQ(result.status, 0) << result.error;
  for (const auto& step : test::metrics_of(runs_.run("a"))) {
    if (step.at("step") == 0) continue;
    const double puzzle = step.at("reward.sudoku"), cells = step.at("reward.cells");
    EXPECT_NEAR(step.at("reward"), puzzle + 0.5 * cells, 1e-12);
    EXPECT_EQ(step.at("solved"), puzzle) << "the added reward does not count as solved";
    EXPECT_GT(cells, puzzle);
  }
  EXPECT_THAT(test::read_file(runs_.run("a") / "report.html"), HasSubstr("reward: cells"));
}

TEST_F(Training, InBfloat16TheCheckpointHoldsItAndEveryCommandReadsIt) {
  const auto quickstart = (test::source_dir() / "configs/quickstart.toml").string();
  const auto trained = runs_.drift("train " + quickstart +
                                   " --dtype bfloat16 --steps 3 --set evaluation.items=8 --set train.prompts_per_step=4"
                                   " --set algorithm.loss.beta=0.01 --out a");
  ASSERT_EQ(trained.status, 0) << trained.error;
  EXPECT_THAT(trained.output, HasSubstr("bfloat16"));
  const auto checkpoint = runs_.run("a/checkpoints/last");
  const SafetensorsFile weights(checkpoint / "model.safetensors"), state(checkpoint / "training_state.safetensors");
  for (const auto& entry : weights.entries()) EXPECT_EQ(entry.dtype, at::kBFloat16) << entry.name;
  for (const auto& entry : state.entries())
    EXPECT_EQ(entry.dtype, entry.name == "updates" ? at::kLong : at::kFloat) << entry.name;
  // In the run's own type, and in another one.
  for (const std::string type : {"", " --dtype float32"}) {
    const auto evaluated = runs_.drift("eval a/checkpoints/last --set evaluation.items=8" + type);
    EXPECT_EQ(evaluated.status, 0) << evaluated.error;
    const auto generated = runs_.drift("generate a/checkpoints/last --token-ids 3,4,5" + type);
    EXPECT_EQ(generated.status, 0) << generated.error;
  }
}

TEST_F(Training, PretrainsFromRandomWeightsInBfloat16) {
  test::write_file(runs_.path() / "pretrain.toml",
                   "[model]\npath = \"" + test::base_checkpoint().string() +
                       "\"\ninitialize = \"random\"\ndtype = \"bfloat16\"\n[task]\nname = \"sudoku\"\n"
                       "[pretrain]\nbatch_size = 16\nresponse_length = 20\nlearning_rate = 3e-3\n");
  const auto result = runs_.drift("pretrain pretrain.toml --steps 20 --out a");
  ASSERT_EQ(result.status, 0) << result.error;
  const auto metrics = test::metrics_of(runs_.run("a"));
  EXPECT_LT(metrics.back().at("loss").get<double>(), 0.8 * metrics.front().at("loss").get<double>());
}

double largest(const std::vector<nlohmann::json>& metrics, const char* name) {
  double most = -1;
  for (const auto& step : metrics) most = std::max(most, step.value(name, -1.0));
  return most;
}

TEST_F(Training, TheGapOfACacheIsMeasuredAndCorrectedWhereAskedFor) {
  ASSERT_EQ(runs_.train("plain").status, 0);
  const auto plain = test::metrics_of(runs_.run("plain"));
  EXPECT_LT(largest(plain, "rollout_gap_max"), 1e-4);
  EXPECT_GE(largest(plain, "rollout_gap_max"), 0);
  EXPECT_EQ(largest(plain, "rollout_weight"), -1) << "nothing is corrected by itself";
  EXPECT_THAT(test::read_file(runs_.run("plain") / "report.html"), Not(HasSubstr("Rollout gap")));

  ASSERT_EQ(runs_.train("cached", "--set rollout.cache=dual --steps 1").status, 0);
  EXPECT_GT(largest(test::metrics_of(runs_.run("cached")), "rollout_gap_max"), 1e-3);
  EXPECT_THAT(test::read_file(runs_.run("cached") / "report.html"), HasSubstr("Rollout gap"));

  const auto corrected = runs_.train("corrected",
                                     "--set rollout.cache=dual --set algorithm.rollout_correction=truncated "
                                     "--set algorithm.rollout_correction_cap=1.01");
  ASSERT_EQ(corrected.status, 0) << corrected.error;
  const auto metrics = test::metrics_of(runs_.run("corrected"));
  EXPECT_GT(largest(metrics, "rollout_weight"), 0.5);
  EXPECT_LE(largest(metrics, "rollout_weight"), 1.01);
  EXPECT_GT(largest(metrics, "rollout_capped"), 0);
}

TEST_F(Training, WhatTheGapIsMeasuredOnChangesNothingElse) {
  ASSERT_EQ(runs_.train("a").status, 0);
  ASSERT_EQ(runs_.train("b", "--set train.gap_responses=0").status, 0);
  auto measured = test::metrics_of(runs_.run("a")), not_measured = test::metrics_of(runs_.run("b"));
  ASSERT_EQ(measured.size(), not_measured.size());
  for (std::size_t step = 0; step < measured.size(); ++step) {
    EXPECT_FALSE(not_measured[step].contains("rollout_gap"));
    EXPECT_EQ(measured[step].at("loss"), not_measured[step].at("loss"));
    EXPECT_EQ(measured[step].at("update_forwards_per_response"), not_measured[step].at("update_forwards_per_response"));
  }
}

TEST_F(Training, ACorrectionNeedsContextsInWhichTokensWereWritten) {
  const auto result = runs_.train(
      "a", "--set algorithm.masking.name=d1 --set algorithm.rollout_correction=truncated --set rollout.cache=dual");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("the masking strategy `d1` scores no token in the state that committed it"));
  EXPECT_THAT(result.error, HasSubstr("rollout_correction = \"none\""));
}

TEST_F(Training, PretrainingNeedsNoEvaluation) {
  test::write_file(runs_.path() / "pretrain.toml", "[model]\npath = \"" + test::base_checkpoint().string() +
                                                       "\"\n[task]\nname = \"sudoku\"\n"
                                                       "[pretrain]\nbatch_size = 2\nresponse_length = 20\n");
  const auto result = runs_.drift("pretrain pretrain.toml --steps 2");
  ASSERT_EQ(result.status, 0) << result.error;
  EXPECT_TRUE(fs::exists(runs_.run("runs/pretrain/checkpoints/step-000002")));
}

TEST_F(Training, TheTitleNamesThePartsThatAreNotTheAlgorithmsOwn) {
  EXPECT_THAT(runs_.train("own", "--steps 1").output, testing::Not(HasSubstr("rldf with")));
  const auto result = runs_.train("mixed", "--steps 1 --set algorithm.loss.name=d1");
  EXPECT_THAT(result.output, HasSubstr(" rldf with loss d1 "));
  EXPECT_THAT(test::read_file(runs_.run("mixed") / "report.html"), HasSubstr("rldf with loss d1 · llada"));
  const auto summary = nlohmann::json::parse(test::read_file(runs_.run("mixed") / "summary.json"));
  EXPECT_EQ(summary.at("algorithm"), "rldf");
  EXPECT_EQ(summary.at("method"), "rldf with loss d1");
  EXPECT_THAT(runs_.train("both", "--steps 1 --set algorithm.loss.name=d1 --set algorithm.masking.name=d1").output,
              HasSubstr(" rldf with masking d1 and loss d1 "));
}

}  // namespace
}  // namespace drift::training_test
