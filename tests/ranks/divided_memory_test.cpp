// A model of which no process of the run may hold the whole training state.

#include "tests/ranks/mpirun.h"
#include "tests/support/training_run.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <string>

namespace drift {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DividedMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = test::missing_ranks(); !missing.empty()) GTEST_SKIP() << missing;
    // 84 M parameters: 16 bytes each with their gradients and moments, 8 for each of three ranks that divide these, and
    // 5 1/3 and two blocks where they divide the weights too.
    const fs::path shapes = runs_.path() / "shapes";
    fs::copy(test::base_checkpoint(), shapes);
    fs::remove(shapes / "model.safetensors");
    auto config = nlohmann::json::parse(test::read_file(shapes / "config.json"));
    config["d_model"] = 448;
    config["n_layers"] = 32;
    config["n_heads"] = config["n_kv_heads"] = 7;
    config["mlp_hidden_size"] = 1344;
    test::write_file(shapes / "config.json", config.dump());
    test::write_file(runs_.path() / "pretrain.toml", test::read_file(runs_.path() / "run.toml") +
                                                         "[pretrain]\nsteps = 2\nbatch_size = 6\nresponse_length = 20\n"
                                                         "memory_budget_mib = 32\ncheckpoint_every = 0\n");
  }

  const std::string model_ = "--model shapes --set model.initialize=random --set evaluation.before=false ";

  /// By three ranks, each of which may have `mebibytes` of private memory.
  test::CommandResult on_ranks(int mebibytes, const std::string& arguments) const {
    return test::run_command("cd " + runs_.path().string() + " && " + test::mpirun() + "-n 3 sh -c 'ulimit -d " +
                             std::to_string(mebibytes * 1024) + "; exec " + test::program().string() + " " + arguments +
                             "'");
  }

  test::TrainingRuns runs_;
};

TEST_F(DividedMemory, RanksTrainTogetherWhatNoneOfThemHasRoomFor) {
  const std::string run = "pretrain pretrain.toml " + model_ + "--set evaluation.items=1 ";
  const auto with = [&](int mebibytes, const std::string& shard) {
    const std::string name = shard + "-" + std::to_string(mebibytes);
    const auto result = on_ranks(mebibytes, run + "--out " + name + " --set distributed.shard=" + shard);
    const bool has_checkpoint = fs::exists(runs_.run(name) / "checkpoints/last");
    EXPECT_EQ(has_checkpoint, result.status == 0) << result.error;
    return has_checkpoint;
  };
  EXPECT_FALSE(with(1150, "none")) << "there is room for all of it: the test says nothing";
  EXPECT_TRUE(with(1150, "gradients"));
  EXPECT_FALSE(with(875, "gradients")) << "there is room for all weights: the test says nothing";
  EXPECT_TRUE(with(875, "parameters"));
}

// What a rank may take is checked before the weights are read, and what would fit is named.
TEST_F(DividedMemory, IsWhatTheCheckBeforeARunCounts) {
  const std::string run = "train run.toml " + model_;
  const auto by_shard = runs_.plan(model_ + "--ranks 3")["ranks"]["by_shard"];
  const double bytes = (by_shard["none"]["memory"].get<double>() + by_shard["gradients"]["memory"].get<double>()) / 2;
  const auto refused =
      on_ranks(100000, run + "--out refused --set run.memory_gib=" + std::to_string(bytes / (1 << 30)));
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.error, HasSubstr("ranks do not fit, each"));
  EXPECT_THAT(refused.error, HasSubstr("distributed.shard="));
  EXPECT_FALSE(fs::exists(runs_.run("refused")));
}

}  // namespace
}  // namespace drift
