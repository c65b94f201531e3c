// `drift model random`: checkpoints of random weights that every other command opens.

#include <core/io/safetensors.h>

#include <tests/support/program.h>

#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/std.h>

namespace drift::model_random_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

class RandomModel : public Test, public ProgramFolder {
 protected:
  RandomModel() {
    // A shape is a folder with a config.json and nothing else.
    write("shape/config.json", read_file(source_dir() / "tests/golden/data/ckpt/dream_a/config.json"));
  }

  std::string weights(const std::string& folder) const { return read_file(path(folder) / "model.safetensors"); }
};

TEST_F(RandomModel, HasTheShapeAndTheTypeAskedFor) {
  const auto made = drift("model random shape --out made");
  ASSERT_THAT(made, prints("made: 0.27 M parameters, bfloat16"));
  const auto info = printed_json(drift("model info made --json"));
  EXPECT_EQ(info["on_disk"]["bfloat16"]["bytes"], 2 * info["parameters"].get<int>());
  EXPECT_EQ(read_json("made/config.json")["torch_dtype"], "bfloat16");

  const SafetensorsFile file(path("made/model.safetensors"));
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
  const SafetensorsFile narrow(path("narrow/model.safetensors"));
  const SafetensorsFile wide(path("wide/model.safetensors"));
  for (const SafetensorsEntry& entry : narrow.entries())
    EXPECT_TRUE(at::equal(narrow.tensor(entry.name), wide.tensor(entry.name).to(at::kBFloat16))) << entry.name;
}

TEST_F(RandomModel, ReadsAndWritesWithATokenForEachByte) {
  ASSERT_EQ(drift("model random shape --out made").status, 0);
  const auto ids = drift("tokenize made --text 'é 1\n' --json");
  ASSERT_THAT(ids, prints());
  EXPECT_EQ(nlohmann::json::parse(ids.output)["ids"].size(), 5u);
  EXPECT_THAT(
      drift("generate made --prompt '12 + 3' --set rollout.name=block --set rollout.length=8 --set rollout.block=8"),
      prints());
}

TEST_F(RandomModel, KeepsTheTokenizerThatTheShapeHas) {
  const std::string shape = source("assets/sudoku-llada");
  ASSERT_EQ(drift("model random " + shape + " --out made").status, 0);
  EXPECT_EQ(read("made/tokenizer.json"), read_file(fs::path(shape) / "tokenizer.json"));
  EXPECT_THAT(drift("train " + source("configs/quickstart.toml") +
                    " --model made --steps 1 --set evaluation.items=4 --out run"),
              prints());
}

TEST_F(RandomModel, ReplacesNothingAndLeavesNothingHalfWritten) {
  write("mine/notes.txt", "mine");
  EXPECT_THAT(drift("model random shape --out mine"), fails("it exists and is not empty"));
  EXPECT_EQ(drift("model random shape --out wrong --dtype int8").status, 2);
  EXPECT_FALSE(fs::exists(path("wrong")));
}

TEST_F(RandomModel, AVocabularyWithoutRoomForBytesIsRefused) {
  auto config = read_json("shape/config.json");
  config.update({{"vocab_size", 100}, {"mask_token_id", 1}, {"eos_token_id", 0}, {"pad_token_id", 0}});
  write("shape/config.json", config.dump());
  EXPECT_THAT(drift("model random shape --out made"), fails("a vocabulary of 100 ids has no room for 256 bytes"));
  EXPECT_FALSE(fs::exists(path("made")));
}

}  // namespace drift::model_random_test
