// Training adapters with the real program: what its checkpoints hold, how a run continues, and what else takes them.

#include <tests/support/training_run.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace drift::adapter_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kAdapter =
    " --set adapter.kind=lora --set adapter.rank=4 --set adapter.alpha=8 --set adapter.dropout=0.1"
    " --set algorithm.loss.beta=0.1 --set evaluation.every=2";

std::vector<std::string> files_of(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// One run of four steps for all tests.
const test::TrainingRuns& runs() {
  static const test::TrainingRuns all;
  static const auto trained = all.train("whole", kAdapter);
  if (trained.status != 0) throw std::runtime_error(trained.error);
  return all;
}

TEST(AdapterRun, ItsCheckpointsHoldTheAdapterAndNotTheModel) {
  const auto last = runs().run("whole/checkpoints/last");
  EXPECT_THAT(files_of(last), testing::ElementsAre("README.md", "adapter_config.json", "adapter_model.safetensors",
                                                   "training_state.json", "training_state.safetensors"));
  const auto weights = fs::file_size(test::base_checkpoint() / "model.safetensors");
  EXPECT_LT(fs::file_size(last / "training_state.safetensors"), weights / 2);
}

TEST(AdapterRun, ContinuesAsIfItHadNeverStopped) {
  ASSERT_EQ(runs().train("parts", std::string(kAdapter) + " --set train.steps=2").status, 0);
  const auto resumed = runs().train("parts", std::string(kAdapter) + " --resume");
  ASSERT_EQ(resumed.status, 0) << resumed.error;
  EXPECT_EQ(test::difference(runs().run("parts"), runs().run("whole")), "");
}

TEST(AdapterRun, ItsCheckpointIsTakenWhereACheckpointIs) {
  const auto info = runs().drift("model info whole/checkpoints/last");
  EXPECT_EQ(info.status, 0) << info.error;
  EXPECT_THAT(info.output, HasSubstr("rank 4, alpha 8"));
  const auto own = runs().drift("eval whole/checkpoints/last --json");
  ASSERT_EQ(own.status, 0) << own.error;
  // The same, named as checkpoint and adapter.
  const auto base = test::base_checkpoint().string();
  const auto named = runs().drift("eval " + base + " --config run.toml --adapter whole/checkpoints/last --json");
  ASSERT_EQ(named.status, 0) << named.error;
  const auto accuracy = [](const std::string& json) {
    return nlohmann::json::parse(json)["cells"][0]["accuracy"].get<double>();
  };
  EXPECT_EQ(accuracy(own.output), accuracy(named.output));
}

TEST(AdapterRun, MergedWritesTheSameResponses) {
  const auto base = test::base_checkpoint().string();
  const auto merged = runs().drift("model merge " + base + " --adapter whole/checkpoints/last --out merged");
  ASSERT_EQ(merged.status, 0) << merged.error;
  EXPECT_THAT(merged.output, HasSubstr("rank 4, alpha 8"));
  const std::string prompt = " --token-ids 5,6,7 --json --set rollout.temperature=0";
  const auto apart = runs().drift("generate " + base + " --config run.toml --adapter whole/checkpoints/last" + prompt);
  const auto together = runs().drift("generate merged --config run.toml" + prompt);
  ASSERT_EQ(apart.status, 0) << apart.error;
  ASSERT_EQ(together.status, 0) << together.error;
  const auto ids = [](const std::string& json) { return nlohmann::json::parse(json)["token_ids"]; };
  EXPECT_EQ(ids(apart.output), ids(together.output));
}

TEST(AdapterRun, BeginsFromASavedAdapter) {
  const auto further = runs().train("further", "--adapter whole/checkpoints/last --set train.steps=1");
  ASSERT_EQ(further.status, 0) << further.error;
  const auto config = test::read_file(runs().run("further/checkpoints/last/adapter_config.json"));
  EXPECT_EQ(nlohmann::json::parse(config)["r"], 4);
}

TEST(AdapterRun, OfAnotherModelOfItsShapeIsToldSo) {
  fs::copy(test::base_checkpoint(), runs().path() / "other", fs::copy_options::recursive);
  const std::string warning = "was trained on " + test::base_checkpoint().string() + ", not on ";
  const auto info = runs().drift("model info other --adapter whole/checkpoints/last");
  EXPECT_EQ(info.status, 0);
  EXPECT_THAT(info.error, HasSubstr(warning));
  const auto merged = runs().drift("model merge other --adapter whole/checkpoints/last --out merged_other");
  EXPECT_EQ(merged.status, 0);
  EXPECT_THAT(merged.error, HasSubstr(warning));
  EXPECT_THAT(runs().drift("model info whole/checkpoints/last").error, testing::IsEmpty());
}

TEST(AdapterRun, OfOtherWeightsThanItWasTrainedOnIsRefusedWhereTheyAreRead) {
  const auto changed = runs().path() / "changed";
  fs::copy(test::base_checkpoint(), changed, fs::copy_options::recursive);
  fs::remove(changed / "training_state.json");  // and with it the checksums
  std::string weights = test::read_file(changed / "model.safetensors");
  weights.back() ^= 1;
  test::write_file(changed / "model.safetensors", weights);
  const std::string with = " changed --adapter whole/checkpoints/last ";
  for (const std::string& command :
       {"generate" + with + "--config run.toml --token-ids 5", "eval" + with + "--config run.toml",
        "model merge" + with + "--out merged_changed"}) {
    const auto refused = runs().drift(command);
    EXPECT_EQ(refused.status, 1) << command;
    EXPECT_THAT(refused.error, HasSubstr("was trained on other weights than those in ")) << command;
  }
  EXPECT_EQ(runs().drift("model info" + with).status, 0) << "reads no weights";
}

TEST(AdapterRun, MergedIntoAFolderThatIsThereIsRefused) {
  test::write_file(runs().path() / "full/file", "mine");
  const auto refused =
      runs().drift("model merge " + test::base_checkpoint().string() + " --adapter whole/checkpoints/last --out full");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.error, HasSubstr("full: it exists and is not empty"));
  EXPECT_THAT(files_of(runs().path() / "full"), testing::ElementsAre("file"));
}

TEST(AdapterRun, ItsFolderIsNoCheckpoint) {
  for (const std::string command : {"eval", "model info", "generate"}) {
    const auto refused = runs().drift(command + " whole" + (command == "generate" ? " --token-ids 5" : ""));
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.error, HasSubstr("whole is the folder of a run, not a checkpoint"));
    EXPECT_THAT(refused.error, HasSubstr("whole/checkpoints/last"));
  }
  EXPECT_THAT(runs().train("b", "--model whole").error, HasSubstr("its last checkpoint is "));
  EXPECT_THAT(runs().train("b", "--model whole/checkpoints/last").error, HasSubstr("and --adapter "));
}

// A rank alone does not make an adapter: presets have one for those who ask.
TEST(AdapterRun, WithoutItsKindIsToldThatAllWeightsAreTrained) {
  const auto notes = [&](const std::string& options) { return runs().plan(options)["notes"].dump(); };
  EXPECT_THAT(notes("--set adapter.rank=4"), HasSubstr("all weights are trained"));
  EXPECT_THAT(notes("--set adapter.rank=4 --set adapter.kind=none"), testing::Not(HasSubstr("all weights")));
  EXPECT_THAT(notes("--set adapter.rank=4 --set adapter.kind=lora"), testing::Not(HasSubstr("all weights")));
  EXPECT_THAT(notes(""), testing::Not(HasSubstr("all weights")));
  const std::string saved = "--adapter " + runs().run("whole/checkpoints/last").string();
  EXPECT_THAT(notes(saved + " --set adapter.rank=16"), HasSubstr("adapter.rank has no effect"));
  EXPECT_THAT(notes(saved), testing::Not(HasSubstr("has no effect")));
}

TEST(AdapterRun, IsToldThatItsReferencePolicyCannotBeElsewhere) {
  const auto notes = [&](const std::string& options) {
    return runs().plan("--set reference.offload=true --set algorithm.loss.beta=0.1" + options)["notes"].dump();
  };
  EXPECT_THAT(notes(kAdapter), HasSubstr("reference.offload has no effect: with adapters"));
  EXPECT_THAT(notes(""), testing::Not(HasSubstr("has no effect")));
}

TEST(AdapterRun, AnUnknownTargetIsRefusedWithTheNearestName) {
  const auto refused = runs().train("refused", std::string(kAdapter) + " --set 'adapter.targets=[\"q_prj\"]'");
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.error, HasSubstr("`q_prj` is none of the model's projections"));
  EXPECT_THAT(refused.error, HasSubstr("did you mean `q_proj`?"));
  EXPECT_FALSE(fs::exists(runs().run("refused/metrics.jsonl")));
}

TEST(AdapterRun, IsPlannedWithTheMemoryOfItsAdapters) {
  const auto plan = [&](const std::string& options) {
    const auto dry = runs().drift("train run.toml --dry-run --json" + options);
    EXPECT_EQ(dry.status, 0) << dry.error;
    return nlohmann::json::parse(dry.output);
  };
  const auto adapted = plan(kAdapter), whole = plan(" --set algorithm.loss.beta=0.1");
  EXPECT_LT(adapted["memory"]["AdamW's moments"], whole["memory"]["AdamW's moments"].get<std::int64_t>() / 4);
  EXPECT_TRUE(whole["memory"].contains("reference policy"));
  EXPECT_FALSE(adapted["memory"].contains("reference policy"));
  EXPECT_EQ(adapted["memory"]["AdamW's moments"], 8 * adapted["trained"].get<std::int64_t>());
}

}  // namespace
}  // namespace drift::adapter_test
