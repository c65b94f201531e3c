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
    // 42 M parameters: 16 bytes each with their gradients and moments, 8 for each of three ranks that divide these, and
    // little more than 5 where they divide the weights too.
    const fs::path shapes = runs_.path() / "shapes";
    fs::copy(test::base_checkpoint(), shapes);
    fs::remove(shapes / "model.safetensors");
    auto config = nlohmann::json::parse(test::read_file(shapes / "config.json"));
    config["d_model"] = 448;
    config["n_layers"] = 16;
    config["n_heads"] = config["n_kv_heads"] = 7;
    config["mlp_hidden_size"] = 1344;
    test::write_file(shapes / "config.json", config.dump());
    test::write_file(runs_.path() / "pretrain.toml",
                     test::read_file(runs_.path() / "run.toml") +
                         "[pretrain]\nsteps = 2\nbatch_size = 12\nresponse_length = 20\n"
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
  constexpr int kMebibytes = 800;
  const std::string run = "pretrain pretrain.toml " + model_ + "--set evaluation.items=1 ";
  const auto whole = on_ranks(kMebibytes, run + "--out whole");
  EXPECT_NE(whole.status, 0) << "there is room for all of it: the test says nothing";
  EXPECT_FALSE(fs::exists(runs_.run("whole/checkpoints/last")));
  const auto divided = on_ranks(kMebibytes, run + "--out divided --set distributed.shard=gradients");
  EXPECT_EQ(divided.status, 0) << divided.error;
  EXPECT_EQ(test::metrics_of(runs_.run("divided")).size(), 2u);
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
