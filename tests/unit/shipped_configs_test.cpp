// Every file under configs/ for models of 7 and 8 billion parameters resolves, in every combination that makes sense.
// The weights are not there: of a checkpoint only config.json is read.

#include <core/boundary/components.h>
#include <core/config/preset.h>
#include <core/config/run_config.h>
#include <core/sweep/sweep_plan.h>

#include "tests/support/plugins.h"
#include "tests/support/support.h"

namespace drift::shipped_configs_test {

namespace fs = std::filesystem;

bool is_sweep(const fs::path& file) { return test::read_file(file).find("\n[sweep]\n") != std::string::npos; }

/// The runs' files in a folder of configs/, without `.toml`; with `sweeps`, the sweeps' files instead.
std::vector<std::string> stems(const std::string& folder, bool sweeps = false) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(test::source_dir() / "configs" / folder)) {
    if (entry.is_regular_file() && is_sweep(entry) == sweeps) found.push_back(entry.path().stem().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The training task that an algorithm's file is written for.
std::string task_of(const std::string& algorithm) {
  const std::map<std::string, std::string> tasks = {
      {"gsm8k", "gsm8k"}, {"countdown", "countdown-3"}, {"sudoku", "sudoku-4x4"}, {"code", "code"}};
  for (const auto& [word, task] : tasks) {
    if (algorithm.ends_with(word)) return task;
  }
  return algorithm.starts_with("coupled_grpo") ? "code" : "math";
}

class ShippedConfigs : public testing::Test {
 protected:
  ShippedConfigs() {
    test::write_file(folder_.path() / "llada-8b/config.json", R"({"model_type": "llada"})");
    test::write_file(folder_.path() / "dream-7b/config.json", R"({"model_type": "Dream"})");
  }

  /// Resolves `file` with the model's folder replaced by one that has a config.json; says what is wrong.
  RunConfig resolve(const fs::path& file, const std::string& model, ConfigPurpose purpose) const {
    const std::string path = (folder_.path() / model).string();
    std::vector<ConfigOverride> overrides = {{path, "model.path", path, /*literal=*/true}};
    RunConfig config;
    EXPECT_NO_THROW(config = resolve_config(load_document(file, overrides), test::all_plugins(), purpose)) << file;
    return config;
  }

  RunConfig resolve_parts(const std::vector<std::string>& parts, const std::string& model,
                          ConfigPurpose purpose) const {
    std::string list;
    for (const std::string& part : parts)
      list += "\"" + (test::source_dir() / "configs" / (part + ".toml")).string() + "\", ";
    test::write_file(folder_.path() / "run.toml", "extends = [" + list + "]\n");
    SCOPED_TRACE(list);
    return resolve(folder_.path() / "run.toml", model, purpose);
  }

  test::TemporaryFolder folder_;
};

TEST_F(ShippedConfigs, ThePapersRuns) {
  for (const std::string& name : stems("paper")) {
    const std::string model = name.starts_with("llada") ? "llada-8b" : "dream-7b";
    const RunConfig config =
        resolve(test::source_dir() / "configs/paper" / (name + ".toml"), model, ConfigPurpose::kTrain);
    if (!config.has("algorithm.loss")) continue;
    EXPECT_EQ(config.section("algorithm.loss").get<double>("beta"), model == "llada-8b" ? 0.01 : 0.04) << name;
    EXPECT_EQ(config.section("algorithm.masking").get<std::int64_t>("k"), 16) << name;
    EXPECT_EQ(config.section("rollout").get<std::int64_t>("length"), 256) << name;
    EXPECT_EQ(config.get<TrainSettings>().group_size, 4) << name;
    EXPECT_EQ(config.get<TrainSettings>().adamw.learning_rate, 1e-6) << name;
    EXPECT_EQ(config.get<PromptSettings>().format, "rldf_release") << name;
  }
}

TEST_F(ShippedConfigs, RunsOfModelsWithBlocks) {
  test::write_file(folder_.path() / "illada-8b/config.json", R"({"model_type": "illada"})");
  const std::string sdar = (test::source_dir() / "assets/shapes/sdar-8b").string();
  for (const std::string& name : stems("blocks")) {
    const bool has_blocks = !name.starts_with("illada");
    const RunConfig config = resolve(test::source_dir() / "configs/blocks" / (name + ".toml"),
                                     has_blocks ? sdar : "illada-8b", ConfigPurpose::kTrain);
    if (!config.has("rollout")) continue;
    EXPECT_EQ(config.section("rollout").get<std::int64_t>("block") == 4, has_blocks) << name;
    EXPECT_EQ(config.get<PromptSettings>().format, has_blocks ? "chat" : "none") << name;
    EXPECT_NO_THROW(create_component<Rollout>(test::host_of(test::all_plugins()), config, "rollout")) << name;
  }
}

/// Plans a sweep as `drift sweep` does, without the plugins' files.
SweepPlan plan_of(const fs::path& file) {
  SweepFile sweep = read_sweep_file(file, {});
  auto cells = expand_grid(sweep);
  const auto documents = cell_documents(sweep, cells);
  return plan_sweep(std::move(sweep), std::move(cells), documents, [](const ConfigDocument& document) {
    return resolve_config(document, test::all_plugins(), ConfigPurpose::kTrain);
  });
}

TEST_F(ShippedConfigs, ThePapersSweepsAtFullSize) {
  const fs::path configs = folder_.path() / "configs";  // beside which the files expect models/
  fs::copy(test::source_dir() / "configs", configs, fs::copy_options::recursive);
  test::write_file(folder_.path() / "models/LLaDA-8B-Instruct/config.json", R"({"model_type": "llada"})");
  test::write_file(folder_.path() / "models/Dream-v0-Instruct-7B/config.json", R"({"model_type": "Dream"})");
  std::map<std::string, std::size_t> runs;
  for (const std::string& name : stems("paper", /*sweeps=*/true)) {
    SweepPlan plan;
    ASSERT_NO_THROW(plan = plan_of(configs / "paper" / (name + ".toml"))) << name;
    runs[name] = plan.runs.size();
    for (const SweepRun& run : plan.runs)
      EXPECT_EQ(run.config.section("rollout").get<std::int64_t>("length"), 256) << name << ": " << run.label;
  }
  // Two models, two data sets, five algorithms; two models, two puzzles, four algorithms; the ablations with three
  // seeds.
  EXPECT_THAT(runs, testing::ElementsAre(testing::Pair("masking", 4 * 3), testing::Pair("norm", 2 * 3),
                                         testing::Pair("planning", 16), testing::Pair("sampling", 12 * 3),
                                         testing::Pair("target", 3 * 3), testing::Pair("training", 20)));
}

TEST_F(ShippedConfigs, NoSweepComparesAlgorithmsOnDifferentRollouts) {
  for (const std::string& name : stems("sweeps", /*sweeps=*/true))
    EXPECT_THAT(plan_notes(plan_of(test::source_dir() / "configs/sweeps" / (name + ".toml"))), testing::IsEmpty())
        << name;
}

TEST_F(ShippedConfigs, EveryAlgorithmTrainsItsTaskOnBothModels) {
  for (const std::string& algorithm : stems("algorithms")) {
    for (const std::string model : {"llada-8b", "dream-7b"}) {
      const RunConfig config = resolve_parts(
          {"models/" + model, "tasks/" + task_of(algorithm), "algorithms/" + algorithm}, model, ConfigPurpose::kTrain);
      if (!config.has("algorithm.loss")) continue;
      EXPECT_NO_THROW(
          create_component<MaskingStrategy>(test::host_of(test::all_plugins()), config, "algorithm.masking"))
          << algorithm;
      EXPECT_NO_THROW(create_component<LossEstimator>(test::host_of(test::all_plugins()), config, "algorithm.loss"))
          << algorithm;
      EXPECT_NO_THROW(create_component<Rollout>(test::host_of(test::all_plugins()), config, "rollout")) << algorithm;
    }
  }
}

TEST_F(ShippedConfigs, EveryTaskIsEvaluatedOnBothModels) {
  const std::set<std::string> small = {"countdown", "sudoku", "sums", "word-problems"};  // of the small models
  for (const std::string& task : stems("tasks")) {
    if (small.contains(task)) continue;
    for (const std::string model : {"llada-8b", "dream-7b"}) {
      const RunConfig config = resolve_parts({"models/" + model, "tasks/" + task}, model, ConfigPurpose::kEval);
      if (!config.has("evaluation.rollout")) continue;
      EXPECT_EQ(config.section("evaluation.rollout").get<double>("temperature"), 0) << task;
    }
  }
}

TEST_F(ShippedConfigs, D1AndEspoTrainTheirPapersAdapters) {
  for (const std::string& algorithm : stems("algorithms")) {
    const bool adapts = (algorithm.starts_with("d1") || algorithm.starts_with("espo")) && algorithm != "espo-code";
    const auto run = resolve_parts({"models/llada-8b", "tasks/" + task_of(algorithm), "algorithms/" + algorithm},
                                   "llada-8b", ConfigPurpose::kTrain);
    const auto adapter = run.get<AdapterSettings>();
    EXPECT_EQ(adapter.lora, adapts) << algorithm;
    if (!adapts) continue;
    EXPECT_EQ(adapter.rank, 128) << algorithm;
    EXPECT_EQ(adapter.alpha, 64) << algorithm;
    EXPECT_EQ(adapter.dropout, 0.05) << algorithm;
  }
}

TEST_F(ShippedConfigs, TheModelsWithAdaptersAreTheModels) {
  for (const std::string model : {"llada-8b", "dream-7b"}) {
    const auto run =
        resolve_parts({"models/" + model + "-lora", "tasks/math", "algorithms/rldf"}, model, ConfigPurpose::kTrain);
    EXPECT_TRUE(has_adapter(run));
    EXPECT_EQ(run.get<AdapterSettings>().rank, 128);
    EXPECT_TRUE(run.get<ModelSettings>().bfloat16);
  }
}

// Files win over an algorithm's preset: what they say about the rollout, they would have to say again for every preset.
TEST_F(ShippedConfigs, TheRolloutOfAnAlgorithmsFileIsThatOfItsPreset) {
  for (const std::string& name : stems("algorithms")) {
    const auto run = resolve_parts({"models/llada-8b", "tasks/" + task_of(name), "algorithms/" + name}, "llada-8b",
                                   ConfigPurpose::kTrain);
    const Algorithm* algorithm = test::all_plugins().find_algorithm(run.get<AlgorithmSettings>().name);
    const auto* file = preset_in_force(*algorithm, run.get<AlgorithmSettings>().preset);
    const Preset preset = read_preset(*algorithm, *file);
    for (const ResolvedSection& section : run.sections()) {
      if (section.name != "rollout") continue;
      for (const ResolvedValue& value : section.values) {
        if (preset.layer.leaves.contains("rollout." + value.name))
          EXPECT_EQ(value.origin.kind, Origin::Kind::kPreset) << name << ": rollout." << value.name;
      }
    }
  }
}

}  // namespace drift::shipped_configs_test
