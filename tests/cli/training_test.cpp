// `drift train` from outside: the files of a run, and that it can be repeated.

#include <tests/support/training_run.h>

#include <core/io/folder_lock.h>
#include <core/io/safetensors.h>

namespace drift::training_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

class Training : public Test, public TrainingRuns {
 protected:
  static std::vector<std::string> checkpoints(const fs::path& run) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(run / "checkpoints"))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(Training, LeavesMetricsCheckpointsAndAReport) {
  ASSERT_THAT(train("a"), prints("a/report.html"));
  const auto run = path("a");

  const auto metrics = metrics_of(run);
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

  const auto summary = read_json("a/summary.json");
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
  for (const auto& plugin : read_json("a/plugins.json")) {
    plugins.push_back(plugin.at("name"));
    EXPECT_THAT(plugin.at("sha256").get<std::string>(), SizeIs(64));
  }
  EXPECT_THAT(plugins, UnorderedElementsAre("rldf", "llada", "block", "sudoku", "sudoku_task"));
  EXPECT_THAT(read_file(run / "log.txt"), HasSubstr("checkpoint a/checkpoints/step-000004"));
  const std::string card = read_file(run / "checkpoints/last/README.md");
  for (const std::string& line :
       {"- base: `" + base_checkpoint().string() + "`\n", std::string("- run: `a`, seed 5\n"),
        std::string("- data: `sudoku`\n"), std::string("- algorithm: rldf\n- steps: 4\n- reward of the last step: "),
        std::string("- held-out accuracy at the last evaluation: "), std::string("\ndrift train run.toml --out a\n")})
    EXPECT_THAT(card, HasSubstr(line));
  EXPECT_THAT(read_file(run / "report.html"), HasSubstr("</html>"));
  EXPECT_THAT(read_file(run / "report.html"), HasSubstr("<a href=\"replay_after.html\">"));
  EXPECT_THAT(read_file(run / "replay_after.html"), HasSubstr("data-step=\"0\""));
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.json", "training_state.safetensors"})
    EXPECT_TRUE(fs::exists(run / "checkpoints/last" / file)) << file;
}

TEST_F(Training, ItsConfigurationAloneRepeatsARun) {
  ASSERT_EQ(train("a", "--seed 7 --set algorithm.masking.k=3 --steps 3").status, 0);
  fs::rename(path("a/config.toml"), path("elsewhere.toml"));
  fs::remove(path("run.toml"));
  ASSERT_THAT(drift("train elsewhere.toml --out b"), prints());
  EXPECT_EQ(difference_of("b", "a"), "");
}

TEST_F(Training, AnotherSeedIsAnotherRun) {
  ASSERT_EQ(train("a", "--steps 2").status, 0);
  ASSERT_EQ(train("b", "--steps 2 --seed 6").status, 0);
  EXPECT_NE(difference_of("b", "a"), "");
}

TEST_F(Training, KeepsTheLatestCheckpoints) {
  ASSERT_EQ(train("a", "--set train.keep_checkpoints=3").status, 0);
  EXPECT_THAT(checkpoints(path("a")), ElementsAre("last", "step-000002", "step-000003", "step-000004"));
  EXPECT_EQ(fs::read_symlink(path("a/checkpoints/last")), "step-000004");
  ASSERT_EQ(train("b", "--steps 5 --set train.checkpoint_every=2 --set train.keep_checkpoints=8").status, 0);
  EXPECT_THAT(checkpoints(path("b")), ElementsAre("last", "step-000002", "step-000004", "step-000005"))
      << "every second step, and the end";
}

TEST_F(Training, KeepsTheBestCheckpointWhichIsUsedAsAnyOther) {
  const std::string settings = "--steps 5 --model " + (source_dir() / "assets/sudoku-llada").string() +
                               " --set evaluation.every=1 --set evaluation.items=32 --set train.checkpoint_every=0" +
                               " --set train.keep_checkpoints=1 --set train.keep_best=true";
  for (const std::string& more :
       {std::string(), std::string(" --set adapter.kind=lora --set train.learning_rate=5e-3")}) {
    SCOPED_TRACE(more);
    ASSERT_THAT(train("a", settings + more + " --overwrite"), prints());
    const auto [step, accuracy] = best_checkpoint_of(path("a"));
    ASSERT_NE(step, "step-000000") << "it learns nothing";
    EXPECT_EQ(fs::read_symlink(path("a/checkpoints/best")), step);
    std::vector<std::string> expected = {"best", "last", step};
    if (step != "step-000005") expected.push_back("step-000005");
    EXPECT_EQ(checkpoints(path("a")), expected);
    const auto eval = nlohmann::json::parse(drift("eval a/checkpoints/best --json").output);
    EXPECT_EQ(eval.at("cells").at(0).at("accuracy"), accuracy);
    EXPECT_THAT(drift("generate a/checkpoints/best --token-ids 5,6,7"), prints());
  }
}

TEST_F(Training, TheDiskThatItsCheckpointsNeedIsPlanned) {
  const auto needed = [&](const std::string& options) {
    return plan("--set train.keep_checkpoints=2 " + options).at("disk").at("checkpoints").get<std::int64_t>();
  };
  EXPECT_EQ(3 * needed("--set train.keep_best=true"), 4 * needed("")) << "one of them is being written";
}

TEST_F(Training, AFolderThatHoldsARunIsRefused) {
  ASSERT_EQ(train("a", "--steps 1").status, 0);
  const std::string metrics = read("a/metrics.jsonl");
  const auto second = train("a", "--steps 1");
  EXPECT_THAT(second, fails());
  EXPECT_EQ(second.error,
            "error: folder a already has a run\n  = continue it with --resume, replace it with --overwrite, or choose "
            "another "
            "folder with --out\n");
  EXPECT_EQ(read("a/metrics.jsonl"), metrics);
}

TEST_F(Training, OverwriteReplacesTheRun) {
  ASSERT_EQ(train("a", "--steps 2").status, 0);
  write("a/notes.txt", "mine");
  ASSERT_EQ(train("a", "--steps 1 --overwrite").status, 0);
  EXPECT_THAT(metrics_in("a"), SizeIs(2)) << "the evaluation before the first step, then one step";
  EXPECT_THAT(checkpoints(path("a")), ElementsAre("last", "step-000001"));
  EXPECT_EQ(read("a/notes.txt"), "mine") << "it is not the run's";
  EXPECT_EQ(train("a", "--steps 1 --overwrite --resume").status, 2);
}

TEST_F(Training, WithoutOutTheRunsNameNamesItsFolderAndANumberFollows) {
  for (const char* folder : {"runs/tiny", "runs/tiny-2"}) {
    ASSERT_THAT(drift("train run.toml --steps 1"), prints());
    EXPECT_TRUE(fs::exists(path(folder) / "summary.json")) << folder;
  }
  ASSERT_EQ(drift("train run.toml --steps 2 --resume").status, 0);
  EXPECT_EQ(metrics_in("runs/tiny-2").back().at("step"), 2) << "the last one continues";
  ASSERT_EQ(drift("train runs/tiny/config.toml --steps 3 --resume").status, 0);
  EXPECT_EQ(metrics_in("runs/tiny").back().at("step"), 3) << "a run's own file continues that run";
  ASSERT_EQ(drift("train run.toml --steps 1 --algorithm tracerl").status, 0);
  EXPECT_TRUE(fs::exists(path("runs/tiny-tracerl/summary.json"))) << "the algorithm is not the file's";
  ASSERT_EQ(drift("train run.toml --steps 1 --algorithm rldf").status, 0);
  EXPECT_TRUE(fs::exists(path("runs/tiny-3/summary.json"))) << "this one is";
}

TEST_F(Training, RunsThatAreStartedTogetherTakeANameEach) {
  const FolderLock of_one_that_has_not_begun(path("runs/tiny"), "another run");
  const std::string train = program().string() + " train run.toml --steps 1 --seed ";
  const auto together =
      run_command("cd " + path().string() + " && for i in 1 2 3; do " + train + "$i >/dev/null & done; wait");
  EXPECT_EQ(together.error, "");
  std::set<int> seeds;
  for (const char* folder : {"runs/tiny-2", "runs/tiny-3", "runs/tiny-4"})
    seeds.insert(nlohmann::json::parse(read_file(path(folder) / "summary.json")).at("seed").get<int>());
  EXPECT_THAT(seeds, ElementsAre(1, 2, 3));
}

TEST_F(Training, ARunThatNeverBeganIsNotInTheWay) {
  fs::create_directories(path("runs/tiny/checkpoints"));
  write("runs/tiny/config.toml", "");
  ASSERT_EQ(drift("train run.toml --steps 1").status, 0);
  EXPECT_TRUE(fs::exists(path("runs/tiny/summary.json")));
}

TEST_F(Training, WithEqualRewardsNothingIsLearnt) {
  // Greedy responses to one prompt are equal.
  const auto result = train("a", "--steps 2 --set rollout.temperature=0 --set train.weight_decay=0.1");
  ASSERT_THAT(result, prints());
  EXPECT_THAT(
      result.output + result.error,
      HasSubstr("warning: step 1: all 2 groups have equal rewards, step skipped: nothing to learn from them. Try: "));
  for (const char* file : {"a/log.txt", "a/report.html"})
    EXPECT_THAT(read_file(path(file)), HasSubstr("all 2 groups have equal rewards")) << file;
  for (const auto& line : metrics_in("a")) {
    if (line.at("step") == 0) continue;
    EXPECT_EQ(line.at("skipped"), true);
    EXPECT_EQ(line.at("live_groups"), 0);
    EXPECT_EQ(line.at("same_responses"), 1);
    EXPECT_TRUE(line.at("loss").is_null());
  }
  EXPECT_TRUE(read("a/checkpoints/last/model.safetensors") == read_file(base_checkpoint() / "model.safetensors"))
      << "neither momentum nor decay may move the weights";
}

TEST_F(Training, AResponseThatFillsItsLengthMayCountAsWrong) {
  const auto first_step = [&](const std::string& name, const std::string& options) {
    EXPECT_EQ(train(name, "--set train.steps=1 " + options).status, 0);
    return metrics_of(path(name)).at(1);
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
  ASSERT_THAT(train("a",
                    "--set 'reward.score=\"grid_valid\"' --set 'reward.added.cells.name=\"sudoku\"' "
                    "--set 'reward.added.cells.score=\"cells\"' "
                    "--set reward.added.cells.weight=0.5"),
              prints());
  for (const auto& step : metrics_in("a")) {
    if (step.at("step") == 0) continue;
    const double puzzle = step.at("reward.sudoku"), cells = step.at("reward.cells");
    EXPECT_NEAR(step.at("reward"), puzzle + 0.5 * cells, 1e-12);
    EXPECT_EQ(step.at("solved"), puzzle) << "the added reward does not count as solved";
    EXPECT_GT(cells, puzzle);
  }
  EXPECT_THAT(read("a/report.html"), HasSubstr("reward: cells"));
}

TEST_F(Training, InBfloat16TheCheckpointHoldsItAndEveryCommandReadsIt) {
  const auto quickstart = source("configs/quickstart.toml");
  ASSERT_THAT(drift("train " + quickstart +
                    " --dtype bfloat16 --steps 3 --set evaluation.items=8 --set train.prompts_per_step=4"
                    " --set algorithm.loss.beta=0.01 --out a"),
              prints("bfloat16"));
  const auto checkpoint = path("a/checkpoints/last");
  const SafetensorsFile weights(checkpoint / "model.safetensors"), state(checkpoint / "training_state.safetensors");
  for (const auto& entry : weights.entries()) EXPECT_EQ(entry.dtype, at::kBFloat16) << entry.name;
  for (const auto& entry : state.entries())
    EXPECT_EQ(entry.dtype, entry.name == "updates" ? at::kLong : at::kFloat) << entry.name;
  // In the run's own type, and in another one.
  for (const std::string type : {"", " --dtype float32"}) {
    EXPECT_THAT(drift("eval a/checkpoints/last --set evaluation.items=8" + type), prints());
    EXPECT_THAT(drift("generate a/checkpoints/last --token-ids 3,4,5" + type), prints());
  }
}

TEST_F(Training, PretrainsFromRandomWeightsInBfloat16) {
  write("pretrain.toml", "[model]\npath = \"" + base_checkpoint().string() +
                             "\"\ninitialize = \"random\"\ndtype = \"bfloat16\"\n[task]\nname = \"sudoku\"\n"
                             "[pretrain]\nbatch_size = 16\nresponse_length = 20\nlearning_rate = 3e-3\n");
  ASSERT_THAT(drift("pretrain pretrain.toml --steps 20 --out a"), prints());
  const auto metrics = metrics_in("a");
  EXPECT_LT(metrics.back().at("loss").get<double>(), 0.8 * metrics.front().at("loss").get<double>());
}

double largest(const std::vector<nlohmann::json>& metrics, const char* name) {
  double most = -1;
  for (const auto& step : metrics) most = std::max(most, step.value(name, -1.0));
  return most;
}

TEST_F(Training, TheGapOfACacheIsMeasuredAndCorrectedWhereAskedFor) {
  ASSERT_EQ(train("plain").status, 0);
  const auto plain = metrics_in("plain");
  EXPECT_LT(largest(plain, "rollout_gap_max"), 1e-4);
  EXPECT_GE(largest(plain, "rollout_gap_max"), 0);
  EXPECT_EQ(largest(plain, "rollout_weight"), -1) << "nothing is corrected by itself";
  EXPECT_THAT(read("plain/report.html"), Not(HasSubstr("Rollout gap")));

  ASSERT_EQ(train("cached", "--set rollout.cache=dual --steps 1").status, 0);
  EXPECT_GT(largest(metrics_in("cached"), "rollout_gap_max"), 1e-3);
  EXPECT_THAT(read("cached/report.html"), HasSubstr("Rollout gap"));

  const auto corrected = train("corrected",
                               "--set rollout.cache=dual --set algorithm.rollout_correction=truncated "
                               "--set algorithm.rollout_correction_cap=1.01");
  ASSERT_THAT(corrected, prints());
  const auto metrics = metrics_in("corrected");
  EXPECT_GT(largest(metrics, "rollout_weight"), 0.5);
  EXPECT_LE(largest(metrics, "rollout_weight"), 1.01);
  EXPECT_GT(largest(metrics, "rollout_capped"), 0);
}

TEST_F(Training, WhatTheGapIsMeasuredOnChangesNothingElse) {
  ASSERT_EQ(train("a").status, 0);
  ASSERT_EQ(train("b", "--set train.gap_responses=0").status, 0);
  auto measured = metrics_in("a"), not_measured = metrics_in("b");
  ASSERT_EQ(measured.size(), not_measured.size());
  for (std::size_t step = 0; step < measured.size(); ++step) {
    EXPECT_FALSE(not_measured[step].contains("rollout_gap"));
    EXPECT_EQ(measured[step].at("loss"), not_measured[step].at("loss"));
    EXPECT_EQ(measured[step].at("update_forwards_per_response"), not_measured[step].at("update_forwards_per_response"));
  }
}

TEST_F(Training, ACorrectionNeedsContextsInWhichTokensWereWritten) {
  EXPECT_THAT(
      train("a",
            "--set algorithm.masking.name=d1 --set algorithm.rollout_correction=truncated --set rollout.cache=dual"),
      fails("the masking strategy `d1` scores no token in the state that committed it",
            "rollout_correction = \"none\""));
}

TEST_F(Training, PretrainingNeedsNoEvaluation) {
  write("pretrain.toml", "[model]\npath = \"" + base_checkpoint().string() +
                             "\"\n[task]\nname = \"sudoku\"\n"
                             "[pretrain]\nbatch_size = 2\nresponse_length = 20\n");
  ASSERT_THAT(drift("pretrain pretrain.toml --steps 2"), prints());
  EXPECT_TRUE(fs::exists(path("runs/pretrain/checkpoints/step-000002")));
}

TEST_F(Training, TheTitleNamesThePartsThatAreNotTheAlgorithmsOwn) {
  EXPECT_THAT(train("own", "--steps 1").output, Not(HasSubstr("rldf with")));
  const auto result = train("mixed", "--steps 1 --set algorithm.loss.name=d1");
  EXPECT_THAT(result.output, HasSubstr(" rldf with loss d1 "));
  EXPECT_THAT(read("mixed/report.html"), HasSubstr("rldf with loss d1 · llada"));
  const auto summary = read_json("mixed/summary.json");
  EXPECT_EQ(summary.at("algorithm"), "rldf");
  EXPECT_EQ(summary.at("method"), "rldf with loss d1");
  EXPECT_THAT(train("both", "--steps 1 --set algorithm.loss.name=d1 --set algorithm.masking.name=d1").output,
              HasSubstr(" rldf with masking d1 and loss d1 "));
}

}  // namespace drift::training_test
