// The paper's training runs from end to end, at the size of a test: configs/paper with the real data, prompts and
// rewards, and a small random model with a real vocabulary.

#include <tests/support/real_vocabulary_model.h>
#include <tests/support/training_run.h>

#include <gmock/gmock.h>

#include <string>

namespace drift {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

class PaperTraining : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (test::shared_dir().empty()) GTEST_SKIP() << "no ../shared";
    test::write_real_vocabulary_model(folder_.path() / "model");
    // The files that configs/tasks look for in data/.
    const fs::path shared = test::shared_dir() / "data";
    const std::string task = GetParam();
    std::string data;
    const auto list = [&](const char* key, const char* file) {
      data += std::string(key) + " = [\"" + (shared / "benchmarks" / file).string() + "\"]\n";
    };
    if (task == "math") {
      list("training_files", "MATH_train.json");
      list("held_out_files", "MATH500.json");
    } else if (task == "code") {
      list("training_files", "MBPP_train.json");
      list("held_out_files", "MBPP.json");
    } else {
      const char* file = task == "countdown" ? "countdown_3_test.jsonl" : "sudoku_4x4_test.csv";
      data = "held_out_file = \"" + (shared / "planning" / file).string() + "\"\n";
    }
    test::write_file(folder_.path() / "run.toml",
                     "extends = [\"" + (test::source_dir() / "configs/paper/dream-").string() + task + ".toml\"]\n" +
                         R"([model]
path = "model"
dtype = "float32"
[run]
device = "cpu"
[task]
)" + data + R"([rollout]
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

  test::CommandResult drift(const std::string& arguments) const {
    return test::run_command("cd " + folder_.path().string() + " && " + test::program().string() + " " + arguments);
  }

  test::TemporaryFolder folder_;
};

TEST_P(PaperTraining, PlansAStepMakesItAndJudgesByTheTasksReward) {
  const auto planned = drift("train run.toml --out run --dry-run --json");
  ASSERT_EQ(planned.status, 0) << planned.error << planned.output;
  const auto plan = json::parse(planned.output);
  EXPECT_EQ(plan["update"]["views"], 2 * 2 * 2);
  EXPECT_GT(plan["prompt_tokens"]["longest"], 20);
  EXPECT_FALSE(fs::exists(folder_.path() / "run"));

  const auto trained = drift("train run.toml --out run");
  ASSERT_EQ(trained.status, 0) << trained.error;
  const auto metrics = test::metrics_of(folder_.path() / "run");
  ASSERT_EQ(metrics.size(), 2u) << "the evaluation before the first step, and the step";
  EXPECT_EQ(metrics[0].at("held_out").at("items"), 2);
  EXPECT_EQ(metrics[1].at("reward"), 0) << "random weights solve nothing";
  EXPECT_EQ(metrics[1].at("live_groups"), 0);
  EXPECT_EQ(metrics[1].at("groups"), 2);
  EXPECT_TRUE(fs::exists(folder_.path() / "run/checkpoints/last/model.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(Tasks, PaperTraining, testing::Values("math", "code", "countdown", "sudoku"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace drift
