// `drift eval` and `drift generate` on the checkpoint of a run.

#include <tests/support/training_run.h>

#include <gmock/gmock.h>

#include <cstdio>
#include <string>

namespace drift {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class Checkpoint : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    runs_ = new test::TrainingRuns;
    const auto result = runs_->train("a", "--steps 2 --set evaluation.before=false");
    ASSERT_EQ(result.status, 0) << result.error;
  }
  static void TearDownTestSuite() {
    delete runs_;
    runs_ = nullptr;
  }

  static test::CommandResult generate(const std::string& options) {
    return runs_->drift("generate a/checkpoints/last " + options);
  }

  // An empty grid, its rows separated by line ends.
  static constexpr const char* kPrompt = "--prompt '1000\n0020\n0300\n0004\n'";

  static inline test::TrainingRuns* runs_ = nullptr;
};

TEST_F(Checkpoint, MayBeAskedInTurns) {
  const auto unknown = generate(kPrompt + std::string(" --set prompt.format=chta"));
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.error, HasSubstr("unknown chat format `chta` in [prompt] format; did you mean `chat`?"));
  // The small model's vocabulary cannot spell a chat's headers; that the turns were made shows in what is refused.
  const auto chat = generate(kPrompt + std::string(" --set prompt.format=chat"));
  EXPECT_EQ(chat.status, 1);
  EXPECT_THAT(chat.error, HasSubstr("the vocabulary has no token for `<`"));
}

TEST_F(Checkpoint, IsEvaluatedAsInItsRun) {
  const auto result = runs_->drift("eval a/checkpoints/last");
  ASSERT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("held-out items       4\n"));
  const auto summary = nlohmann::json::parse(test::read_file(runs_->run("a/summary.json")));
  char solved[32];
  std::snprintf(solved, sizeof solved, "%.1f %%", 100 * summary.at("held_out").at("after").get<double>());
  EXPECT_THAT(result.output, HasSubstr(std::string("solved               ") + solved));
  EXPECT_THAT(runs_->drift("eval a/checkpoints/last --set evaluation.items=2").output,
              HasSubstr("held-out items       2\n"));
}

TEST_F(Checkpoint, AnswersAPromptAsOneJsonObject) {
  const auto result = generate(std::string(kPrompt) + " --json --seed 3");
  ASSERT_EQ(result.status, 0) << result.error;
  const auto object = nlohmann::json::parse(result.output);
  EXPECT_THAT(object.at("token_ids"), SizeIs(20));
  EXPECT_THAT(object.at("steps"), SizeIs(20));
  EXPECT_THAT(object.at("commit_logprob"), SizeIs(20));
  const int forwards = object.at("forwards");
  EXPECT_GE(forwards, 4) << "at least one a block";
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_GE(object["steps"][i], 0);
    EXPECT_LT(object["steps"][i], forwards);
    EXPECT_LE(object["commit_logprob"][i], 0);
    EXPECT_NE(object["token_ids"][i], 1) << "the mask token";
  }
  EXPECT_TRUE(object.at("text").is_string());
}

TEST_F(Checkpoint, AnswersTheSameToTheSameSeed) {
  const auto first = generate(std::string(kPrompt) + " --json --seed 3");
  EXPECT_EQ(generate(std::string(kPrompt) + " --json --seed 3").output, first.output);
  EXPECT_NE(generate(std::string(kPrompt) + " --json --seed 4").output, first.output);
}

TEST_F(Checkpoint, TakesTokenIdsAndShowsEveryStep) {
  const auto result = generate("--token-ids 6,5,5,5,4 --show-steps");
  ASSERT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("step 1\n"));
  EXPECT_THAT(result.output, HasSubstr("\u00b7")) << "what is still masked";
}

TEST_F(Checkpoint, AnswersAnItemInTheWordsOfItsTask) {
  const std::string id = "3201000003004130-3241142323144132";  // held out
  const auto shown = nlohmann::json::parse(runs_->drift("data show a/config.toml --json --id " + id).output);
  std::string ids;
  for (const std::int64_t id : shown.at("token_ids")) ids += (ids.empty() ? "" : ",") + std::to_string(id);
  const auto of_item = generate("--json --item " + id);
  ASSERT_EQ(of_item.status, 0) << of_item.error;
  EXPECT_EQ(of_item.output, generate("--token-ids " + ids + " --json").output);
  EXPECT_THAT(generate("--item nothing/1").error, HasSubstr("the task has no item `nothing/1`"));
}

TEST_F(Checkpoint, WithoutARunSaysThatItNeedsOnesFile) {
  const std::string model = (test::source_dir() / "assets/sudoku-llada").string();
  for (const std::string command : {"eval " + model, "generate " + model + " --prompt x"}) {
    const auto result = runs_->drift(command);
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.error, HasSubstr("no run made the checkpoint"));
    EXPECT_THAT(result.error, HasSubstr("--config configs/quickstart.toml"));
  }
  EXPECT_EQ(runs_->drift("eval " + model + " --config run.toml").status, 0);
  const auto missing = runs_->drift("eval nowhere --config nothing.toml");
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.error, HasSubstr("there is no checkpoint folder nowhere"));
}

TEST_F(Checkpoint, RefusesInvalidPrompts) {
  const auto outside = generate("--token-ids 6,23");
  EXPECT_EQ(outside.status, 1);
  EXPECT_THAT(outside.error, HasSubstr("token id 23 is outside the model's vocabulary of 23"));
  const auto empty = generate("--prompt ''");
  EXPECT_EQ(empty.status, 1);
  EXPECT_THAT(empty.error, HasSubstr("the prompt is empty\n  = give --prompt TEXT, --item ID or --token-ids 1,2,3"));
  EXPECT_EQ(generate("--token-ids ''").status, 2);
  const auto huge = generate("--token-ids 6,99999999999999999999");
  EXPECT_EQ(huge.status, 2);
  EXPECT_THAT(huge.error, HasSubstr("expects token ids"));
}

TEST_F(Checkpoint, RefusesAPromptThatLeavesNoRoom) {
  std::string ids = "5";
  for (int i = 0; i < 60; ++i) ids += ",5";
  const auto result = generate("--token-ids " + ids);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("64"));
}

}  // namespace
}  // namespace drift
