// What makes a run smaller, and what a run that is too large is told.

#include <tests/support/training_run.h>

namespace drift::memory_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;
using nlohmann::json;

class Memory : public Test, public TrainingRuns {
 protected:
  /// Options that choose a LLaDA of these sizes, of which only the shapes exist.
  std::string shapes(int hidden, int layers, int vocabulary) const {
    const fs::path folder = path() / ("shapes_" + std::to_string(hidden));
    if (!fs::exists(folder)) {
      fs::copy(base_checkpoint(), folder);
      fs::remove(folder / "model.safetensors");
    }
    auto config = json::parse(read_file(folder / "config.json"));
    config["d_model"] = hidden;
    config["n_layers"] = layers;
    config["n_heads"] = config["n_kv_heads"] = hidden / 128;
    config["mlp_hidden_size"] = 3 * hidden;
    config["vocab_size"] = config["embedding_size"] = vocabulary;
    write_file(folder / "config.json", config.dump());
    return "--model " + folder.string() + " ";
  }

  const std::string kl_ = "--set algorithm.loss.beta=0.1 ";
};

TEST_F(Memory, ARunThatStreamsItsReferencePolicyIsTheSameRun) {
  for (const std::string type : {"float32", "bfloat16"}) {
    const std::string options = kl_ + "--dtype " + type + " --steps 2 --set run.threads=2 ";
    ASSERT_EQ(train("held_" + type, options).status, 0);
    ASSERT_THAT(train("streamed_" + type, options + "--set reference.offload=true"), prints());
    EXPECT_THAT(difference(path("streamed_" + type), path("held_" + type)), IsEmpty());
  }
}

TEST_F(Memory, AReferencePolicyThatMovesCannotBeStreamed) {
  EXPECT_THAT(train("moving", kl_ + "--set reference.offload=true --set 'reference.policy=\"ema\"'"),
              fails("needs a reference policy that stays as the checkpoint's files are"));
}

// On the CPU masters and moments are in host memory already.
TEST_F(Memory, OffloadChangesNothingOnTheCpu) {
  ASSERT_EQ(train("plain", "--steps 2").status, 0);
  ASSERT_EQ(train("offload", "--steps 2 --set 'train.offload=\"optimizer\"'").status, 0);
  EXPECT_THAT(difference_of("offload", "plain"), IsEmpty());
}

TEST_F(Memory, ARunWithNarrowMomentsContinuesAsIfItHadNeverStopped) {
  const std::string narrow = "--dtype bfloat16 --set 'train.moments=\"bfloat16\"' --set evaluation.every=2 ";
  ASSERT_EQ(train("unbroken", narrow + "--steps 4").status, 0);
  ASSERT_EQ(train("broken", narrow + "--steps 2").status, 0);
  ASSERT_THAT(drift("train broken/config.toml --out broken --resume --steps 4"), prints());
  EXPECT_THAT(difference_of("broken", "unbroken"), IsEmpty());
}

TEST_F(Memory, ThePlanFollowsWhatMakesARunSmaller) {
  const std::string large = shapes(1024, 24, 32768);
  const auto memory = [&](const std::string& options) { return plan(kl_ + large + options)["memory"]; };
  const auto before = memory(""), narrow = memory("--set 'train.moments=\"bfloat16\"'"),
             streamed = memory("--set reference.offload=true");
  EXPECT_EQ(before["AdamW's moments"], 2 * narrow["AdamW's moments"].get<std::int64_t>());
  EXPECT_EQ(before["reference policy"], before["weights"]);
  EXPECT_LT(4 * streamed["reference policy"].get<std::int64_t>(), before["reference policy"]);
  EXPECT_EQ(before["weights"], streamed["weights"]);
}

// For a machine that this one is not.
TEST_F(Memory, ThePlanForAGpuHasTwoPlaces) {
  const std::string gpu = "--device cuda --dtype bfloat16 --set run.memory_gib=80 ";
  const auto all = plan(gpu), away = plan(gpu + "--set 'train.offload=\"optimizer\"'");
  EXPECT_EQ(all["memory"]["available"], std::int64_t{80} << 30);
  EXPECT_THAT(all["notes"].dump(), HasSubstr("train.memory_budget_mib = 32768: "));
  EXPECT_FALSE(all["host_memory"].contains("master weights"));
  EXPECT_FALSE(away["memory"].contains("master weights"));
  EXPECT_EQ(away["host_memory"]["master weights"], all["memory"]["master weights"]);
  EXPECT_EQ(away["host_memory"]["AdamW's moments"], all["memory"]["AdamW's moments"]);
  const auto streamed = plan(kl_ + shapes(1024, 24, 32768) + gpu + "--set reference.offload=true");
  EXPECT_GT(streamed["host_memory"]["reference policy"], streamed["memory"]["reference policy"])
      << "all blocks are pinned there";
}

TEST_F(Memory, WhatDoesNotFitIsRefused) {
  const std::string large = kl_ + shapes(1024, 24, 32768), streams = "--set reference.offload=true ";
  const auto needed = plan(large)["memory"], streamed = plan(large + streams)["memory"];
  // Enough for the run with its reference policy streamed, too little for the run as it is.
  const double bytes = 0.5 * (needed["together"].get<double>() + streamed["together"].get<double>());
  const std::string limit = "--set run.memory_gib=" + std::to_string(bytes / (1 << 30)) + " ";
  const auto dry = plan(large + limit);
  EXPECT_THAT(dry["does_not_fit"].dump(), HasSubstr("memory needed"));
  EXPECT_THAT(dry["notes"].dump(), HasSubstr("smaller with, what costs least first: reference.offload, "));
  EXPECT_THAT(plan(large + limit + streams)["does_not_fit"], IsEmpty());

  const auto refused = train("refused", large + limit);
  EXPECT_THAT(refused, fails("this run does not fit", "reference.offload"));
  EXPECT_FALSE(fs::exists(path("refused")));
}

// A folder with nothing but a config.json, and no bytes written.
TEST_F(Memory, AShapeWithoutATokenizerIsPlannedInBytes) {
  const fs::path folder = path("bare");
  write_file(folder / "config.json", read_file(source_dir() / "assets/shapes/llada-8b/config.json"));
  const auto dry = plan("--dtype bfloat16 --model " + folder.string());
  EXPECT_EQ(dry["parameters"], 8'015'581'184);
  EXPECT_THAT(dry["notes"].dump(), HasSubstr("lengths of prompts are counted in bytes"));
  EXPECT_THAT(dry["notes"].dump(), HasSubstr("there are no weights in"));
  EXPECT_EQ(train("planned", "--model " + folder.string()).status, 1) << "training needs both";
}

// All weights of an 8 B model with a KL to a reference policy, from the shape alone.
TEST_F(Memory, ALargeModelIsPlannedForAGpuThatIsNotHere) {
  const auto planned = plan(kl_ + shapes(4096, 32, 126464) + "--device cuda --dtype bfloat16 --set run.memory_gib=141");
  EXPECT_GT(planned["memory"]["together"].get<std::int64_t>(), std::int64_t{141} << 30);
  EXPECT_THAT(planned["does_not_fit"].dump(), HasSubstr("memory needed"));
  EXPECT_THAT(planned["notes"].dump(), HasSubstr("there are no weights in"));
}

/// The recorded value of a run.
std::string recorded(const fs::path& run, const std::string& key) {
  std::istringstream lines(read_file(run / "config.toml"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key + " ")) return line.substr(line.find('=') + 2, line.find("  #") - line.find('=') - 2);
  }
  return "";
}

std::int64_t recorded_budget(const fs::path& run) { return std::stoll(recorded(run, "memory_budget_mib")); }

TEST_F(Memory, ABudgetByTheDevicesMemoryIsKeptByAResume) {
  const std::string small = "--set run.memory_gib=1 ", large = "--set run.memory_gib=5 ";
  const auto begun = train("budget", small + "--steps 1");
  ASSERT_THAT(begun, prints());
  EXPECT_THAT(begun.output, HasSubstr("train.memory_budget_mib = 128: a share of the device's memory"));
  EXPECT_EQ(recorded_budget(path("budget")), 128);
  ASSERT_THAT(train("budget", large + "--steps 2 --resume"), prints());
  EXPECT_EQ(recorded_budget(path("budget")), 128) << "the order of sums would change";
  ASSERT_THAT(train("larger", large + "--steps 1"), prints());
  EXPECT_EQ(recorded_budget(path("larger")), 1024);
  ASSERT_THAT(train("given", small + "--steps 1 --set train.memory_budget_mib=77"), prints());
  EXPECT_EQ(recorded_budget(path("given")), 77);
}

TEST_F(Memory, HowBfloat16IsMultipliedIsKeptByAResume) {
  const std::string bfloat16 = "--dtype bfloat16 ";
  ASSERT_THAT(train("by_the_machine", bfloat16 + "--steps 1"), prints());
  const std::string own = recorded(path("by_the_machine"), "bfloat16_products");
  EXPECT_THAT(own, AnyOf(StartsWith("\"native\""), StartsWith("\"widened\"")));
  const std::string other = own.starts_with("\"native\"") ? "widened" : "native";
  ASSERT_THAT(train("other", bfloat16 + "--steps 1 --set 'run.bfloat16_products=\"" + other + "\"'"), prints());
  ASSERT_THAT(train("other", bfloat16 + "--steps 2 --resume"), prints());
  EXPECT_THAT(recorded(path("other"), "bfloat16_products"), StartsWith("\"" + other + "\""));
  ASSERT_THAT(train("wide", "--steps 1"), prints());
  EXPECT_THAT(recorded(path("wide"), "bfloat16_products"), StartsWith("\"auto\"")) << "nothing follows from it";
}

TEST_F(Memory, JsonIsOfThePlanAlone) {
  EXPECT_THAT(train("planned", "--json").error, HasSubstr("--json belongs to the plan"));
}

}  // namespace drift::memory_test
