// What the program draws from, pinned: a stream that gets another name, or is asked at another point, changes every
// run that was ever made with its seed. What plugins draw is pinned in tests/unit/pinned_draws_test.cpp.

#include <tests/support/training_run.h>

#include <core/io/safetensors.h>

namespace drift::random_streams_test {

using namespace test;
using namespace testing;

class RandomStreams : public Test, public ProgramFolder {
 protected:
  void SetUp() override {
    write("run.toml", R"([run]
seed = 1
threads = 1
[plugins]
paths = [")" + (build_dir() / "tests/plugins/libtest_recorder.so").string() +
                          R"("]
[model]
name = "llada"
path = ")" + model_ + R"("
[task]
name = "recorder"
[reward]
name = "any_text"
truncation_is_wrong = false
[rollout]
name = "recorder"
[algorithm]
name = "rldf"
[algorithm.masking]
name = "recorder"
[algorithm.loss]
beta = 0.0
[filter]
max_groups = 3
[train]
steps = 1
prompts_per_step = 8
group_size = 2
learning_rate = 1e-3
[evaluation]
before = false
)");
    write("pretrain.toml", R"([run]
seed = 1
threads = 1
[model]
name = "llada"
path = ")" + model_ + R"("
initialize = "random"
[task]
name = "sudoku"
[reward]
name = "sudoku"
[rollout]
name = "block"
length = 20
block = 5
[pretrain]
steps = 1
batch_size = 4
response_length = 20
learning_rate = 1e-9
weight_decay = 0.0
[evaluation]
items = 1
before = false
)");
  }

  /// The lines that the components wrote, each one once.
  std::vector<std::string> recorded(const std::string& arguments) const {
    const std::string record = path("record").string();
    std::filesystem::remove(record);
    EXPECT_THAT(drift(arguments, "DRIFT_RECORD=" + record), prints());
    std::istringstream text(read_file(record));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) {
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
    }
    return lines;
  }

  const std::string model_ = source("assets/sudoku-llada");
};

/// What the rollout of an evaluation gets, whatever command evaluates.
const std::string kHeldOut = "rollout 54ce877d06500131";

// Three groups of two are kept, of eight: what the filter draws.
TEST_F(RandomStreams, OfTraining) {
  EXPECT_THAT(recorded("train run.toml --out run"),
              ElementsAre("task 554bc7d212412654", "rollout b39117b7bad14ccc", "masking d7567df7845097b5",
                          "responses 6 7 8 9 10 11", kHeldOut));
}

TEST_F(RandomStreams, OfADryRunAreThoseOfTraining) {
  EXPECT_THAT(recorded("train run.toml --dry-run"), ElementsAre("task 554bc7d212412654", "masking d7567df7845097b5",
                                                                "responses 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"));
}

TEST_F(RandomStreams, OfDataCommandsAreThoseOfTraining) {
  EXPECT_THAT(recorded("data check run.toml --show 1"), ElementsAre("task 554bc7d212412654"));
}

TEST_F(RandomStreams, OfEvaluation) {
  EXPECT_THAT(recorded("eval " + model_ + " --config run.toml"), ElementsAre(kHeldOut));
}

TEST_F(RandomStreams, OfGeneration) {
  EXPECT_THAT(recorded("generate " + model_ + " --config run.toml --prompt 12"),
              ElementsAre("rollout 1235eefd87a2fb5c"));
}

TEST_F(RandomStreams, OfPretraining) {
  EXPECT_THAT(recorded("pretrain run.toml --out run --steps 1 --set pretrain.response_length=4"),
              ElementsAre("task 2702e72b3a7497da"));
}

// Masks and their ratios are seen in the loss, whose size they decide.
TEST_F(RandomStreams, OfPretrainingsMasksAndOfInitialWeights) {
  ASSERT_THAT(drift("pretrain pretrain.toml --out run"), prints());
  const auto metrics = metrics_of(path("run"));
  ASSERT_FALSE(metrics.empty());
  EXPECT_NEAR(metrics[0].at("loss").get<double>(), 5.14666, 1e-3);
  // Weights after a step that moves none of them by more than 1e-9.
  const SafetensorsFile weights(path("run/checkpoints/last/model.safetensors"));
  const auto first = [&](const char* name) { return weights.tensor(name).view({-1})[0].item<double>(); };
  EXPECT_NEAR(first("model.transformer.wte.weight"), 0.298191, 1e-6);
  EXPECT_NEAR(first("model.transformer.blocks.0.q_proj.weight"), -0.231107, 1e-6);
}

}  // namespace drift::random_streams_test
