// `drift train` by several processes: one run, one folder, one message.

#include "tests/ranks/ranks_run.h"
#include "tests/support/support.h"

#include <signal.h>

namespace drift::ranks_run_test {

namespace fs = std::filesystem;
using test::count_of;
using test::RanksRun;
using namespace testing;

TEST_F(RanksRun, IsTheRunOfOneProcess) {
  ASSERT_EQ(runs_.train("one").status, 0);
  const auto three = train(3, "three");
  ASSERT_EQ(three.status, 0) << three.error;
  expect_same_run("three", "one");
  EXPECT_EQ(count_of("three/report.html", three.output), 1u) << "one process speaks: " << three.output;
  EXPECT_THAT(three.output, HasSubstr("3 ranks of 1 thread"));
  const auto metrics = test::metrics_of(runs_.run("three"));
  EXPECT_TRUE(metrics.back().at("rank_idle").is_number());
  EXPECT_LE(metrics.back().at("rank_idle").get<double>(), metrics.back().at("rank_idle_max").get<double>());
  EXPECT_FALSE(test::metrics_of(runs_.run("one")).back().contains("rank_idle"));
  for (const auto& entry : fs::directory_iterator(runs_.run("one")))
    EXPECT_TRUE(fs::exists(runs_.run("three") / entry.path().filename())) << entry.path().filename();
}

// Every rank has all responses and all log-probabilities; the first one writes them.
TEST_F(RanksRun, InspectsAllResponsesOfAStep) {
  ASSERT_EQ(runs_.train("one", "--steps 1").status, 0);
  ASSERT_EQ(train(3, "three", "--steps 1").status, 0);
  const auto inspected = [&](const std::string& name) {
    return nlohmann::json::parse(test::read_file(runs_.run(name) / "inspect/step-000001.json"));
  };
  const auto got = inspected("three"), want = inspected("one");
  ASSERT_EQ(got.at("groups").size(), want.at("groups").size());
  for (std::size_t g = 0; g < want["groups"].size(); ++g) {
    for (std::size_t b = 0; b < 4; ++b) {
      const auto &here = got["groups"][g]["responses"][b], &there = want["groups"][g]["responses"][b];
      for (const char* key : {"tokens", "reward", "commit_step"}) EXPECT_EQ(here.at(key), there.at(key)) << key;
      ASSERT_EQ(here.contains("before"), there.contains("before"));
      for (const char* key : {"before", "after"}) {
        for (std::size_t i = 0; here.contains(key) && i < here[key].size(); ++i) {
          if (there[key][i].is_number()) {
            EXPECT_NEAR(here[key][i].get<double>(), there[key][i].get<double>(), 1e-3) << key;
          }
        }
      }
      for (const char* key : {"scored", "clipped", "dropped", "views"}) {
        if (there.contains(key)) {
          EXPECT_EQ(here.at(key), there[key]) << key;
        }
      }
    }
  }
}

TEST_F(RanksRun, GoesOnWithAnotherNumberOfRanks) {
  ASSERT_EQ(runs_.train("one", "--steps 6").status, 0);
  ASSERT_EQ(train(2, "changing", "--steps 2").status, 0);
  ASSERT_EQ(train(1, "changing", "--resume --steps 4").status, 0);
  const auto end = train(3, "changing", "--resume --steps 6");
  ASSERT_EQ(end.status, 0) << end.error;
  expect_same_run("changing", "one");
}

// Each rank writes its part of the optimizer's state; the folder is that of one process.
TEST_F(RanksRun, OfADividedStateGoesOnWithAnotherNumberOfRanks) {
  ASSERT_EQ(runs_.train("one", "--steps 6").status, 0);
  const std::string optimizer = "--set distributed.shard=optimizer ", gradients = "--set distributed.shard=gradients ";
  ASSERT_EQ(train(4, "divided", optimizer + "--steps 2").status, 0);
  ASSERT_EQ(train(1, "divided", "--resume --steps 4").status, 0);
  const auto end = train(3, "divided", gradients + "--resume --steps 6");
  ASSERT_EQ(end.status, 0) << end.error;
  expect_same_run("divided", "one");
  const auto state = [&](const std::string& name) {
    return SafetensorsFile(runs_.run(name) / "checkpoints/last/training_state.safetensors");
  };
  const auto got = state("divided"), want = state("one");
  EXPECT_EQ(got.header_text(), want.header_text());
  for (const SafetensorsEntry& entry : want.entries()) {
    const auto difference = (got.tensor(entry.name) - want.tensor(entry.name)).abs().max().item<double>();
    EXPECT_LE(difference, 1e-3 * (1e-3 + want.tensor(entry.name).abs().max().item<double>())) << entry.name;
  }
}

// Each rank reads, trains and writes its share of the weights, from which any number of ranks goes on.
TEST_F(RanksRun, OfDividedWeightsIsTheRunOfOneProcess) {
  ASSERT_EQ(runs_.train("one", "--steps 5").status, 0);
  const std::string parameters = "--set distributed.shard=parameters ";
  const auto begin = train(3, "divided", parameters + "--steps 2");
  ASSERT_EQ(begin.status, 0) << begin.error;
  ASSERT_EQ(train(1, "divided", "--resume --steps 3").status, 0);
  const auto end = train(2, "divided", parameters + "--resume --steps 5");
  ASSERT_EQ(end.status, 0) << end.error;
  expect_same_run("divided", "one");
  for (const char* name : {"model.safetensors", "training_state.safetensors"}) {
    const auto file = [&](const std::string& run) {
      return SafetensorsFile(runs_.run(run) / "checkpoints/last" / name);
    };
    EXPECT_EQ(file("divided").header_text(), file("one").header_text()) << name;
  }
}

TEST_F(RanksRun, KeepsTheBestCheckpoint) {
  const std::string settings = "--model " + (test::source_dir() / "assets/sudoku-llada").string() +
                               " --set distributed.shard=parameters --set evaluation.every=1 "
                               "--set evaluation.items=32 --set train.checkpoint_every=0 "
                               "--set train.keep_checkpoints=1 --set train.keep_best=true ";
  ASSERT_THAT(train(2, "two", settings + "--steps 3"), test::prints());
  ASSERT_THAT(train(3, "two", settings + "--steps 6 --resume"), test::prints());
  const auto [step, accuracy] = test::best_checkpoint_of(runs_.run("two"));
  ASSERT_NE(step, "step-000000") << "it learns nothing";
  EXPECT_EQ(fs::read_symlink(runs_.run("two") / "checkpoints/best"), step);
  const auto eval = nlohmann::json::parse(runs_.drift("eval two/checkpoints/best --json").output);
  EXPECT_NEAR(eval.at("cells").at(0).at("accuracy").get<double>(), accuracy, 1.5 / 32) << "up to rounding";
}

TEST_F(RanksRun, OfAModelWithBlocksIsTheRunOfOneProcess) {
  const auto train_blocks = [&](int ranks, const std::string& name, const std::string& options) {
    return test::run_command(
        command("-n " + std::to_string(ranks) + " drift train blocks.toml --steps 2 --out " + name + " " + options));
  };
  ASSERT_EQ(train_blocks(1, "one", "").status, 0);
  for (const std::string shard : {"none", "optimizer", "gradients", "parameters"}) {
    SCOPED_TRACE(shard);
    const auto two = train_blocks(2, shard, "--set distributed.shard=" + shard);
    ASSERT_EQ(two.status, 0) << two.error;
    expect_same_run(shard, "one");
  }
}

// A reference policy that moves is divided as the policy is, and saved in pieces.
TEST_F(RanksRun, OfDividedWeightsHasADividedReferencePolicy) {
  const std::string kl = "--set algorithm.loss.beta=0.1 --set reference.policy=ema --set reference.sync_steps=1 ";
  ASSERT_EQ(runs_.train("one", kl + "--steps 4").status, 0);
  const std::string parameters = "--set distributed.shard=parameters ";
  ASSERT_EQ(train(2, "divided", kl + parameters + "--steps 2").status, 0);
  const auto end = train(3, "divided", kl + parameters + "--resume --steps 4");
  ASSERT_EQ(end.status, 0) << end.error;
  expect_same_run("divided", "one");
}

TEST_F(RanksRun, ThatCannotDivideTheWeightsIsRefusedBeforeAnythingIsWritten) {
  const auto result = train(2, "a", "--set distributed.shard=parameters --set model.quantize=nf4 --adapter lora");
  EXPECT_NE(result.status, 0);
  EXPECT_EQ(count_of("distributed.shard = \"parameters\" divides weights in their own type", result.error), 1u)
      << result.error;
  EXPECT_FALSE(fs::exists(runs_.run("a")));
}

TEST_F(RanksRun, OfDifferentSettingsIsRefusedBeforeAnythingIsWritten) {
  const auto result = test::run_command(
      command("-n 2 drift train run.toml --out a --seed 5 : -n 1 drift train run.toml --out a --seed 6"));
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.error, AllOf(HasSubstr("run.seed: 5 on rank 0 ("), HasSubstr("; 6 on rank 2 (")));
  EXPECT_EQ(count_of("were not started alike", result.error), 1u) << result.error;
  EXPECT_FALSE(fs::exists(runs_.run("a")));
}

TEST_F(RanksRun, AnErrorOfOneRankIsSaidOnceWithItsRankAndEndsAll) {
  const auto result =
      test::run_command(command("-n 1 drift train run.toml --out a : -n 1 drift train nowhere.toml --out a"));
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.error, HasSubstr("error: rank 1 ("));
  EXPECT_EQ(count_of("nowhere.toml", result.error), 1u) << result.error;
}

TEST_F(RanksRun, AnErrorOfAllRanksIsSaidOnce) {
  ASSERT_EQ(runs_.train("a").status, 0);
  const auto result = train(3, "a");
  EXPECT_NE(result.status, 0);
  EXPECT_EQ(count_of("already has a run", result.error), 1u) << result.error;
  const auto mistake = train(3, "b", "--set train.stpes=3");
  EXPECT_NE(mistake.status, 0);
  EXPECT_EQ(count_of("stpes", mistake.error), count_of("stpes", runs_.train("c", "--set train.stpes=3").error))
      << mistake.error;
}

TEST_F(RanksRun, AMistakeInTheOptionsIsSaidOnce) {
  const auto all = train(3, "a", "--stpes 3");
  EXPECT_NE(all.status, 0);
  EXPECT_EQ(count_of("error: ", all.error), 1u) << all.error;
  EXPECT_THAT(all.error, HasSubstr("--stpes"));
  const auto one =
      test::run_command(command("-n 1 drift train run.toml --out a : -n 1 drift train run.toml --out a --stpes 3"));
  EXPECT_NE(one.status, 0);
  EXPECT_EQ(count_of("--stpes", one.error), 1u) << one.error;
}

// What a launcher says, without one: MPI finds one process, which would be a run of its own.
TEST_F(RanksRun, OfALauncherThatIsNotMpisIsRefused) {
  for (const std::string said : {"OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 ", "PMI_SIZE=2 PMI_RANK=0 "}) {
    const auto result = test::run_command("cd " + runs_.path().string() + " && " + said + test::program().string() +
                                          " train run.toml --out a");
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.error, HasSubstr("a launcher has started 2 processes, of which MPI finds 1"));
    EXPECT_FALSE(fs::exists(runs_.run("a")));
  }
}

TEST_F(RanksRun, ThatItsLauncherDoesNotConnectIsToldWhatDoes) {
  const auto started = [&](const std::string& variables) {
    return test::run_command("cd " + runs_.path().string() + " && " + variables + test::program().string() +
                             " train run.toml --overwrite --steps 1 --out a");
  };
  EXPECT_THAT(started("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 ").error, HasSubstr("srun --mpi=pmix"));
  EXPECT_THAT(started("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 ").error, testing::Not(HasSubstr("srun")));
  EXPECT_THAT(started("SLURM_PROCID=0 SLURM_NTASKS=2 ").error, testing::Not(HasSubstr("srun"))) << "a batch script";
  EXPECT_THAT(started("RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 ").error,
              AllOf(HasSubstr("torchrun has started 2 processes"), HasSubstr("`mpirun -n 2`")));
  EXPECT_THAT(started("RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 ").error, testing::Not(HasSubstr("torchrun")));
}

TEST_F(RanksRun, IsOfTrainingAlone) {
  const std::string checkpoint = test::base_checkpoint().string();
  test::write_file(runs_.path() / "grid.toml", "extends = [\"run.toml\"]\n[sweep]\nseeds = [1, 2]\n");
  for (const std::string& one :
       {std::string("sweep grid.toml --out s"), "eval " + checkpoint + " --config run.toml --out e"}) {
    const auto result = test::run_command(command("-n 2 drift " + one));
    EXPECT_NE(result.status, 0) << one;
    EXPECT_EQ(count_of("is one that does all of its work", result.error), 1u) << result.error;
  }
  EXPECT_FALSE(fs::exists(runs_.path() / "s"));
  EXPECT_FALSE(fs::exists(runs_.path() / "e"));
}

TEST_F(RanksRun, StopsAfterTheSameStepWhicheverRankHasTheSignal) {
  const auto result = disturbed(
      command("-n 2 drift train run.toml --out a --steps 4000"), [&] { return has_checkpoint("a"); },
      [&] { send(SIGTERM, 1); });
  EXPECT_NE(result.status, 0);
  const auto summary = nlohmann::json::parse(test::read_file(runs_.run("a") / "summary.json"));
  EXPECT_EQ(summary.at("status"), "interrupted") << result.error;
  EXPECT_EQ(summary.at("steps").get<std::size_t>() + 1, test::metrics_of(runs_.run("a")).size());
  EXPECT_EQ(count_of("--resume", result.output), 1u) << result.output;
}

TEST_F(RanksRun, OfWhichOnlyThePlanIsAskedForPrintsItOnceForEachOfItsRanks) {
  const auto plan = [&](const std::string& options) {
    return test::run_command(command(options + " drift train run.toml --out a --dry-run --json"));
  };
  const auto one = plan("-n 1"), two = plan("-n 2");
  ASSERT_EQ(two.status, 0) << two.error;
  const auto of_one = nlohmann::json::parse(one.output), of_two = nlohmann::json::parse(two.output);
  EXPECT_EQ(of_two.at("ranks").at("count"), 2);
  EXPECT_FALSE(of_one.contains("ranks"));
  const auto trained = of_two.at("trained").get<double>();
  EXPECT_EQ(of_two.at("ranks").at("received_bytes").at("gradients"), 2 * 0.5 * 4 * trained);
  // They share this machine. How much of it is free changes all the time.
  EXPECT_LT(of_two.at("memory").at("available").get<double>(),
            0.75 * of_one.at("memory").at("available").get<double>());
}

}  // namespace drift::ranks_run_test
