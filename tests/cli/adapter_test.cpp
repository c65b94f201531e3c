// Training adapters with the real program: what its checkpoints hold, how a run continues, and what else takes them.

#include <tests/support/training_run.h>

namespace drift::adapter_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

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
const TrainingRuns& runs() {
  static const TrainingRuns all;
  static const auto trained = all.train("whole", kAdapter);
  if (trained.status != 0) throw std::runtime_error(trained.error);
  return all;
}

TEST(AdapterRun, ItsCheckpointsHoldTheAdapterAndNotTheModel) {
  const auto last = runs().path("whole/checkpoints/last");
  EXPECT_THAT(files_of(last), ElementsAre("README.md", "adapter_config.json", "adapter_model.safetensors",
                                          "training_state.json", "training_state.safetensors"));
  const auto weights = fs::file_size(base_checkpoint() / "model.safetensors");
  EXPECT_LT(fs::file_size(last / "training_state.safetensors"), weights / 2);
}

TEST(AdapterRun, ContinuesAsIfItHadNeverStopped) {
  ASSERT_EQ(runs().train("parts", std::string(kAdapter) + " --set train.steps=2").status, 0);
  ASSERT_THAT(runs().train("parts", std::string(kAdapter) + " --resume"), prints());
  EXPECT_EQ(runs().difference_of("parts", "whole"), "");
}

// The weights in float32 and in four bits.
TEST(AdapterRun, OfAModelWithBlocksContinuesAndIsMerged) {
  const std::string sdar = source("assets/sudoku-sdar");
  for (const std::string type : {"none", "nf4"}) {
    const auto train = [&](const std::string& name, const std::string& options) {
      return runs().drift("train blocks.toml" + (kAdapter + options) + " --set model.quantize=" + type + " --out " +
                          name + type);
    };
    ASSERT_THAT(train("blocks", ""), prints());
    ASSERT_THAT(train("blocks-in-parts", " --steps 2"), prints());
    ASSERT_THAT(train("blocks-in-parts", " --resume"), prints());
    EXPECT_EQ(runs().difference_of("blocks-in-parts" + type, "blocks" + type), "");
  }
  ASSERT_THAT(runs().drift("model merge " + sdar + " --adapter blocksnone/checkpoints/last --out blocks-merged"),
              prints("rank 4, alpha 8"));
  const auto responses = [&](const std::string& model) {
    return printed_json(
        runs().drift("generate " + model + " --config blocks.toml --token-ids 20,1,2,21 --json"))["token_ids"];
  };
  EXPECT_EQ(responses("blocks-merged"), responses(sdar + " --adapter blocksnone/checkpoints/last"));
}

TEST(AdapterRun, ItsCheckpointIsTakenWhereACheckpointIs) {
  EXPECT_THAT(runs().drift("model info whole/checkpoints/last"), prints("rank 4, alpha 8"));
  const auto accuracy = [](const std::string& command) {
    return printed_json(runs().drift("eval " + command + " --json"))["cells"][0]["accuracy"].get<double>();
  };
  // The same, named as checkpoint and adapter.
  EXPECT_EQ(accuracy("whole/checkpoints/last"),
            accuracy(base_checkpoint().string() + " --config run.toml --adapter whole/checkpoints/last"));
}

TEST(AdapterRun, MergedWritesTheSameResponses) {
  const auto base = base_checkpoint().string();
  const auto merged = runs().drift("model merge " + base + " --adapter whole/checkpoints/last --out merged");
  ASSERT_THAT(merged, prints("rank 4, alpha 8"));
  const std::string prompt = " --token-ids 5,6,7 --json --set rollout.temperature=0";
  const auto ids = [&](const std::string& model) {
    return printed_json(runs().drift("generate " + model + " --config run.toml" + prompt))["token_ids"];
  };
  EXPECT_EQ(ids(base + " --adapter whole/checkpoints/last"), ids("merged"));
}

TEST(AdapterRun, BeginsFromASavedAdapter) {
  const auto further = runs().train("further", "--adapter whole/checkpoints/last --set train.steps=1");
  ASSERT_THAT(further, prints());
  EXPECT_EQ(runs().read_json("further/checkpoints/last/adapter_config.json")["r"], 4);
}

TEST(AdapterRun, OfAnotherModelOfItsShapeIsToldSo) {
  fs::copy(base_checkpoint(), runs().path("other"), fs::copy_options::recursive);
  const std::string warning = "was trained on " + base_checkpoint().string() + ", not on ";
  const auto info = runs().drift("model info other --adapter whole/checkpoints/last");
  EXPECT_THAT(info, warns(warning));
  EXPECT_THAT(runs().drift("model merge other --adapter whole/checkpoints/last --out merged_other"), warns(warning));
  EXPECT_THAT(runs().drift("model info whole/checkpoints/last").error, IsEmpty());
}

TEST(AdapterRun, OfOtherWeightsThanItWasTrainedOnIsRefusedWhereTheyAreRead) {
  const auto changed = runs().path("changed");
  fs::copy(base_checkpoint(), changed, fs::copy_options::recursive);
  fs::remove(changed / "training_state.json");  // and with it the checksums
  std::string weights = read_file(changed / "model.safetensors");
  weights.back() ^= 1;
  write_file(changed / "model.safetensors", weights);
  const std::string with = " changed --adapter whole/checkpoints/last ";
  for (const std::string& command :
       {"generate" + with + "--config run.toml --token-ids 5", "eval" + with + "--config run.toml",
        "model merge" + with + "--out merged_changed"})
    EXPECT_THAT(runs().drift(command), fails("was trained on other weights than those in ")) << command;
  EXPECT_EQ(runs().drift("model info" + with).status, 0) << "reads no weights";
}

TEST(AdapterRun, MergedIntoAFolderThatIsThereIsRefused) {
  runs().write("full/file", "mine");
  EXPECT_THAT(
      runs().drift("model merge " + base_checkpoint().string() + " --adapter whole/checkpoints/last --out full"),
      fails("full: it exists and is not empty"));
  EXPECT_THAT(files_of(runs().path("full")), ElementsAre("file"));
}

TEST(AdapterRun, ItsFolderIsNoCheckpoint) {
  for (const std::string command : {"eval", "model info", "generate"})
    EXPECT_THAT(runs().drift(command + " whole" + (command == "generate" ? " --token-ids 5" : "")),
                fails("whole is the folder of a run, not a checkpoint", "whole/checkpoints/last"));
  EXPECT_THAT(runs().train("b", "--model whole").error, HasSubstr("its last checkpoint is "));
  EXPECT_THAT(runs().train("b", "--model whole/checkpoints/last").error, HasSubstr("and --adapter "));
}

// A rank alone does not make an adapter: presets have one for those who ask.
TEST(AdapterRun, WithoutItsKindIsToldThatAllWeightsAreTrained) {
  const auto notes = [&](const std::string& options) { return runs().plan(options)["notes"].dump(); };
  EXPECT_THAT(notes("--set adapter.rank=4"), HasSubstr("all weights are trained"));
  EXPECT_THAT(notes("--set adapter.rank=4 --set adapter.kind=none"), Not(HasSubstr("all weights")));
  EXPECT_THAT(notes("--set adapter.rank=4 --set adapter.kind=lora"), Not(HasSubstr("all weights")));
  EXPECT_THAT(notes(""), Not(HasSubstr("all weights")));
  const std::string saved = "--adapter " + runs().path("whole/checkpoints/last").string();
  EXPECT_THAT(notes(saved + " --set adapter.rank=16"), HasSubstr("adapter.rank has no effect"));
  EXPECT_THAT(notes(saved), Not(HasSubstr("has no effect")));
}

TEST(AdapterRun, IsToldThatItsReferencePolicyCannotBeElsewhere) {
  const auto notes = [&](const std::string& options) {
    return runs().plan("--set reference.offload=true --set algorithm.loss.beta=0.1" + options)["notes"].dump();
  };
  EXPECT_THAT(notes(kAdapter), HasSubstr("reference.offload has no effect: with adapters"));
  EXPECT_THAT(notes(""), Not(HasSubstr("has no effect")));
}

TEST(AdapterRun, AnUnknownTargetIsRefusedWithTheNearestName) {
  const auto refused = runs().train("refused", std::string(kAdapter) + " --set 'adapter.targets=[\"q_prj\"]'");
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.error, HasSubstr("`q_prj` is none of the model's projections"));
  EXPECT_THAT(refused.error, HasSubstr("did you mean `q_proj`?"));
  EXPECT_FALSE(fs::exists(runs().path("refused/metrics.jsonl")));
}

TEST(AdapterRun, IsPlannedWithTheMemoryOfItsAdapters) {
  const auto adapted = runs().plan(kAdapter), whole = runs().plan(" --set algorithm.loss.beta=0.1");
  EXPECT_LT(adapted["memory"]["AdamW's moments"], whole["memory"]["AdamW's moments"].get<std::int64_t>() / 4);
  EXPECT_TRUE(whole["memory"].contains("reference policy"));
  EXPECT_FALSE(adapted["memory"].contains("reference policy"));
  EXPECT_EQ(adapted["memory"]["AdamW's moments"], 8 * adapted["trained"].get<std::int64_t>());
}

}  // namespace drift::adapter_test
