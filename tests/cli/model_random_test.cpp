// `drift model random`: checkpoints of random weights that every other command opens.

#include <core/io/safetensors.h>

#include <tests/support/support.h>

#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/std.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace drift::model_random_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RandomModel : public testing::Test {
 protected:
  RandomModel() {
    // A shape is a folder with a config.json and nothing else.
    test::write_file(folder_.path() / "shape/config.json",
                     test::read_file(test::source_dir() / "tests/golden/data/ckpt/dream_a/config.json"));
  }

  test::CommandResult drift(const std::string& arguments) const {
    return test::run_command("cd " + folder_.path().string() + " && " + test::program().string() + " " + arguments);
  }
  std::string weights(const std::string& folder) const {
    return test::read_file(folder_.path() / folder / "model.safetensors");
  }

  test::TemporaryFolder folder_;
};

TEST_F(RandomModel, HasTheShapeAndTheTypeAskedFor) {
  const auto made = drift("model random shape --out made");
  ASSERT_EQ(made.status, 0) << made.error;
  EXPECT_THAT(made.output, HasSubstr("made: 0.27 M parameters, bfloat16"));
  const auto info = nlohmann::json::parse(drift("model info made --json").output);
  EXPECT_EQ(info["on_disk"]["bfloat16"]["bytes"], 2 * info["parameters"].get<int>());
  EXPECT_EQ(nlohmann::json::parse(test::read_file(folder_.path() / "made/config.json"))["torch_dtype"], "bfloat16");

  const SafetensorsFile file(folder_.path() / "made/model.safetensors");
  EXPECT_TRUE(at::equal(file.tensor("model.norm.weight"), at::ones_like(file.tensor("model.norm.weight"))));
  const auto embedding = file.tensor("model.embed_tokens.weight").to(at::kFloat);
  EXPECT_NEAR(embedding.std().item<double>(), 0.02, 0.001);
  EXPECT_NEAR(embedding.mean().item<double>(), 0, 0.001);
}

TEST_F(RandomModel, TheSameSeedGivesTheSameBytesOnAnyNumberOfThreads) {
  ASSERT_EQ(drift("model random shape --out a --set run.threads=1").status, 0);
  ASSERT_EQ(drift("model random shape --out b --set run.threads=3").status, 0);
  ASSERT_EQ(drift("model random shape --out c --seed 2").status, 0);
  EXPECT_TRUE(weights("a") == weights("b"));
  EXPECT_FALSE(weights("a") == weights("c"));
}

TEST_F(RandomModel, FloatsAreTheValuesThatBfloat16Rounds) {
  ASSERT_EQ(drift("model random shape --out narrow").status, 0);
  ASSERT_EQ(drift("model random shape --out wide --dtype float32").status, 0);
  const SafetensorsFile narrow(folder_.path() / "narrow/model.safetensors");
  const SafetensorsFile wide(folder_.path() / "wide/model.safetensors");
  for (const SafetensorsEntry& entry : narrow.entries())
    EXPECT_TRUE(at::equal(narrow.tensor(entry.name), wide.tensor(entry.name).to(at::kBFloat16))) << entry.name;
}

TEST_F(RandomModel, ReadsAndWritesWithATokenForEachByte) {
  ASSERT_EQ(drift("model random shape --out made").status, 0);
  const auto ids = drift("tokenize made --text 'é 1\n' --json");
  ASSERT_EQ(ids.status, 0) << ids.error;
  EXPECT_EQ(nlohmann::json::parse(ids.output)["ids"].size(), 5u);
  const auto generated =
      drift("generate made --prompt '12 + 3' --set rollout.name=block --set rollout.length=8 --set rollout.block=8");
  EXPECT_EQ(generated.status, 0) << generated.error;
}

TEST_F(RandomModel, KeepsTheTokenizerThatTheShapeHas) {
  const std::string source = (test::source_dir() / "assets/sudoku-llada").string();
  ASSERT_EQ(drift("model random " + source + " --out made").status, 0);
  EXPECT_EQ(test::read_file(folder_.path() / "made/tokenizer.json"),
            test::read_file(fs::path(source) / "tokenizer.json"));
  const auto trained = drift("train " + (test::source_dir() / "configs/quickstart.toml").string() +
                             " --model made --steps 1 --set evaluation.items=4 --out run");
  EXPECT_EQ(trained.status, 0) << trained.error;
}

TEST_F(RandomModel, ReplacesNothingAndLeavesNothingHalfWritten) {
  test::write_file(folder_.path() / "mine/notes.txt", "mine");
  const auto refused = drift("model random shape --out mine");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.error, HasSubstr("it exists and is not empty"));
  EXPECT_EQ(drift("model random shape --out wrong --dtype int8").status, 2);
  EXPECT_FALSE(fs::exists(folder_.path() / "wrong"));
}

TEST_F(RandomModel, AVocabularyWithoutRoomForBytesIsRefused) {
  auto config = nlohmann::json::parse(test::read_file(folder_.path() / "shape/config.json"));
  config.update({{"vocab_size", 100}, {"mask_token_id", 1}, {"eos_token_id", 0}, {"pad_token_id", 0}});
  test::write_file(folder_.path() / "shape/config.json", config.dump());
  const auto refused = drift("model random shape --out made");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.error, HasSubstr("a vocabulary of 100 ids has no room for 256 bytes"));
  EXPECT_FALSE(fs::exists(folder_.path() / "made"));
}

}  // namespace
}  // namespace drift::model_random_test
