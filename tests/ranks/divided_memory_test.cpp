// A model of which no process of the run may hold the whole training state.

#include "tests/ranks/mpirun.h"
#include "tests/support/support.h"
#include "tests/support/training_run.h"

#include <array>

namespace drift::divided_memory_test {

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
  EXPECT_FALSE(with(1115, "none")) << "there is room for all of it: the test says nothing";
  EXPECT_TRUE(with(1115, "gradients"));
  EXPECT_FALSE(with(840, "gradients")) << "there is room for all weights: the test says nothing";
  EXPECT_TRUE(with(840, "parameters"));
}

// What a rank may take is checked before the weights are read, and what makes it smaller is named, what ranks divide
// first.
TEST_F(DividedMemory, IsWhatTheCheckBeforeARunCounts) {
  const std::string run = "train run.toml " + model_ + "--set algorithm.loss.beta=0.1 ";
  const auto plan = [&](const std::string& options) {
    return nlohmann::json::parse(on_ranks(100000, run + "--out planned --dry-run --json " + options).output);
  };
  const auto memory = [&](const std::string& shard) { return plan("--set distributed.shard=" + shard)["memory"]; };
  const auto none = memory("none"), optimizer = memory("optimizer"), gradients = memory("gradients"),
             parameters = memory("parameters");
  const auto bytes = [](const nlohmann::json& memory, const char* part) { return memory.at(part).get<std::int64_t>(); };
  EXPECT_EQ((bytes(none, "AdamW's moments") + 2) / 3, bytes(optimizer, "AdamW's moments"));
  EXPECT_LT(bytes(gradients, "update"), bytes(optimizer, "update"));
  EXPECT_LT(bytes(parameters, "weights"), bytes(gradients, "weights"));
  EXPECT_LT(bytes(parameters, "reference policy"), bytes(gradients, "reference policy"));
  const auto [all, some, fewer, least] = std::array{bytes(none, "together"), bytes(optimizer, "together"),
                                                    bytes(gradients, "together"), bytes(parameters, "together")};
  EXPECT_TRUE(all > some && some > fewer && fewer > least) << all << " " << some << " " << fewer << " " << least;

  const std::string limit = "--set run.memory_gib=" + std::to_string(0.5 * static_cast<double>(all + some) / (1 << 30));
  const auto dry = plan(limit);
  EXPECT_THAT(dry["does_not_fit"].dump(), HasSubstr("memory needed"));
  EXPECT_THAT(dry["notes"].dump(), HasSubstr("smaller with, what costs least first: distributed.shard, "));

  const auto refused = on_ranks(100000, run + "--out refused " + limit);
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.error, HasSubstr("ranks do not fit, each"));
  EXPECT_THAT(refused.error, HasSubstr("distributed.shard, "));
  EXPECT_FALSE(fs::exists(runs_.run("refused")));
}

TEST_F(DividedMemory, ThatARunRefusesIsRefusedByItsPlan) {
  const auto planned = on_ranks(100000, "train run.toml " + model_ +
                                            "--out planned --dry-run --set distributed.shard=parameters "
                                            "--set reference.offload=true");
  EXPECT_EQ(planned.status, 1);
  EXPECT_THAT(planned.error, HasSubstr("set reference.offload = false"));
}

}  // namespace drift::divided_memory_test
