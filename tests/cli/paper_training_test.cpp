// The paper's training runs from end to end, at the size of a test: configs/paper with the real data, prompts and
// rewards, and a small random model with a real vocabulary. Random weights solve nothing, so that a reward which
// differs between any two texts is added: there is something to learn, and the step is made.

#include <tests/support/real_vocabulary_model.h>
#include <tests/support/training_run.h>

#include <core/io/safetensors.h>

#include <ATen/TensorOperators.h>

namespace drift::paper_training_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;
using nlohmann::json;

class PaperTraining : public TestWithParam<const char*>, public ProgramFolder {
 protected:
  void SetUp() override {
    const auto missing =
        missing_data({"MATH_train.json", "MATH500.json", "MBPP_train.json", "MBPP.json", "countdown_3_test.jsonl",
                      "sudoku_4x4_test.csv", "qwen/vocab.json", "qwen/merges.txt"});
    if (!missing.empty()) GTEST_SKIP() << missing;
    write_real_vocabulary_model(path("model"));
    const std::string task = GetParam();
    write("run.toml", "extends = [\"" + source("configs/paper/dream-") + task + ".toml\"]\n" +
                          R"([model]
path = "model"
dtype = "float32"
[run]
device = "cpu"
[plugins]
paths = [")" + (build_dir() / "tests/plugins/libtest_recorder.so").string() +
                          R"("]
[reward]
truncation_is_wrong = false
[reward.added.text]
name = "any_text"
weight = 0.5
[rollout]
length = 16
block = 8
[algorithm.masking]
k = 2
[train]
steps = 1
prompts_per_step = 2
group_size = 2
[evaluation]
items = 2
)");
  }
};

/// The first step of Adam moves a weight that has a gradient by about the learning rate, and none by much more: what
/// float32 adds by rounding, and the weight decay.
void expect_a_step_of_adam(const fs::path& before, const fs::path& after, double learning_rate) {
  const SafetensorsFile old_weights(before), new_weights(after);
  ASSERT_EQ(new_weights.entries().size(), old_weights.entries().size());
  double largest = 0;
  for (const auto& entry : old_weights.entries()) {
    const auto moved = (new_weights.tensor(entry.name) - old_weights.tensor(entry.name)).abs().max().item<double>();
    ASSERT_TRUE(std::isfinite(moved)) << entry.name;
    EXPECT_GT(moved, 0) << entry.name << " did not move";
    largest = std::max(largest, moved);
  }
  EXPECT_NEAR(largest, learning_rate, 0.1 * learning_rate);
}

TEST_P(PaperTraining, PlansAStepMakesItAndJudgesByTheTasksReward) {
  const auto plan = printed_json(drift("train run.toml --out run --dry-run --json"));
  EXPECT_EQ(plan["update"]["views"], 2 * 2 * 2);
  EXPECT_GT(plan["prompt_tokens"]["longest"], 20);
  EXPECT_FALSE(fs::exists(path("run")));

  ASSERT_THAT(drift("train run.toml --out run"), prints());
  const auto metrics = metrics_of(path("run"));
  ASSERT_EQ(metrics.size(), 2u) << "the evaluation before the first step, and the step";
  EXPECT_EQ(metrics[0].at("held_out").at("items"), 2);
  const auto& step = metrics[1];
  EXPECT_EQ(step.at("groups"), 2);
  EXPECT_EQ(step.at("live_groups"), 2);
  EXPECT_EQ(step.at("solved"), 0) << "random weights solve nothing";
  EXPECT_EQ(step.at("reward." + std::string(GetParam())), 0) << "the task's own reward";
  const double added = step.at("reward.text");
  EXPECT_GT(added, 0);
  EXPECT_NEAR(step.at("reward").get<double>(), 0.5 * added, 1e-9);

  EXPECT_FALSE(step.at("skipped").get<bool>());
  ASSERT_TRUE(step.at("grad_norm").is_number()) << "finite";
  EXPECT_GT(step.at("grad_norm").get<double>(), 0);
  expect_a_step_of_adam(path("model/model.safetensors"), path("run/checkpoints/last/model.safetensors"),
                        step.at("learning_rate"));
}

INSTANTIATE_TEST_SUITE_P(Tasks, PaperTraining, Values("math", "code", "countdown", "sudoku"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace drift::paper_training_test
