// `drift claims`: numbers of a checkpoint beside those of a paper, as a page and as JSON.

#include <tests/support/program.h>

namespace drift::claims_cli_test {

using namespace test;
using namespace testing;

const std::string kCheckpoint = source("assets/sudoku-llada");
const std::string kRun = source("configs/quickstart.toml");

class Claims : public Test, public ProgramFolder {
 protected:
  CommandResult claims(const std::string& options) const {
    return drift("claims " + kCheckpoint + " --config " + kRun + " --set train.prompts_per_step=4 --out claims " +
                 options);
  }
  nlohmann::json json(const std::string& options) const { return printed_json(claims("--json " + options)); }
};

double mean_of(const nlohmann::json& claim, const std::string& setting, const std::string& quantity) {
  for (const auto& measured : claim.at("measured")) {
    if (measured.at("setting") == setting && measured.at("quantity") == quantity)
      return measured.at("mean").is_null() ? NAN : measured.at("mean").get<double>();
  }
  ADD_FAILURE() << setting << ": " << quantity;
  return NAN;
}

TEST_F(Claims, OnTokensAreCorrelationsOfWhatTheRolloutRecorded) {
  const auto result = json("--only entropy,confidence --batches 2");
  const auto& claims = result.at("claims");
  ASSERT_THAT(claims, SizeIs(2));
  EXPECT_EQ(claims[0]["name"], "entropy");
  EXPECT_LT(mean_of(claims[0], "", "pearson"), 0);
  EXPECT_GE(mean_of(claims[0], "", "pearson"), -1);
  EXPECT_GT(mean_of(claims[1], "", "confident_share"), 0);
  EXPECT_GE(mean_of(claims[1], "", "forwards"), 4) << "at least one a block";
  EXPECT_THAT(claims[0]["measured"][0]["values"], SizeIs(2)) << "one a batch";
  EXPECT_FALSE(claims[0]["tokens"].empty());
}

// What must hold of any model: a filter scores fewer tokens than none, and the states of the trajectory are those of
// the rollout, which has no cache here.
TEST_F(Claims, OnUpdatesCompareSettingsOnTheSameResponses) {
  const auto result = json("--only token_utility,mismatch --batches 1");
  const auto& utility = result.at("claims")[0];
  const double clipped = mean_of(utility, "x0, clipped", "loss/token_utility");
  EXPECT_LE(clipped, mean_of(utility, "x0", "loss/token_utility"));
  EXPECT_GT(clipped, mean_of(utility, "x(t-1)", "loss/token_utility"));
  EXPECT_LT(mean_of(result["claims"][1], "trajectory", "rollout_mismatch"), 1e-4);
  EXPECT_GT(mean_of(result["claims"][1], "all masked", "rollout_mismatch"), 1e-3);
  EXPECT_EQ(result["claims"][1]["verdict"], "undecided") << "one batch has no standard error";
}

// All states of a model's blocks: where one has fewer than another, the plan weighs tokens.
TEST_F(Claims, OnAModelWithBlocksCompareWithAllOfItsStates) {
  const auto result = printed_json(
      drift("claims " + source("assets/sudoku-sdar") + " --config " + source("configs/sudoku-blocks.toml") +
            " --set train.prompts_per_step=4 --out claims --json --batches 1 --only variance"));
  const auto& variance = result.at("claims")[0];
  EXPECT_NEAR(mean_of(variance, "all steps", "cosine"), 1, 1e-5);
  EXPECT_LT(mean_of(variance, "tau = 1", "cosine"), 0.9999);
}

TEST_F(Claims, OnTheGradientOfAllStepsHaveNoAngleToIt) {
  const auto result = json("--only number_of_steps --batches 1");
  const auto& claim = result.at("claims")[0];
  EXPECT_NEAR(mean_of(claim, "all steps", "cosine"), 1, 1e-5);
  EXPECT_NEAR(mean_of(claim, "all steps", "gradient_variance"), 0, 1e-5);
  EXPECT_GT(mean_of(claim, "k = 1", "gradient_variance"), 0);
}

TEST_F(Claims, AreTheSameEachTime) {
  const std::string options = "--only clipping --batches 1 --json";
  EXPECT_EQ(claims(options).output, claims(options).output);
}

TEST_F(Claims, OnTrainingNameTheSweepThatWouldTestThem) {
  const auto claim = json("--only training_k")["claims"][0];
  EXPECT_EQ(claim["verdict"], "cannot be tested");
  EXPECT_THAT(claim["reason"].get<std::string>(), HasSubstr("runs are not finished: drift sweep "));
  EXPECT_THAT(claim["reason"].get<std::string>(), HasSubstr("sweeps/claims.toml"));
}

TEST_F(Claims, ThatNeedDifferingRewardsSayWhyThereAreNone) {
  const auto claim = json("--only clipping --batches 1 --set rollout.temperature=0.0")["claims"][0];
  EXPECT_EQ(claim["verdict"], "cannot be tested");
  EXPECT_EQ(claim["reason"], "none of the 4 groups of responses had differing rewards: their gradients are 0");
}

TEST_F(Claims, FillAPage) {
  ASSERT_THAT(claims("--only entropy,clipping --batches 2"), prints("claims/claims.html"));
  const std::string page = read("claims/claims.html");
  for (const char* shown : {"Probability stands for entropy", "published, LLaDA, MATH", "3232.21", "<svg", "-0.942"})
    EXPECT_THAT(page, HasSubstr(shown));
  EXPECT_TRUE(read_json("claims/claims.json").is_object());
}

TEST_F(Claims, AreReadFromAFileOfOnesOwn) {
  const auto write_own = [&](const std::string& quantity) {
    write("own.toml",
          "paper = \"Mine\"\n[[claim]]\nname = \"a\"\ntitle = \"A\"\nstatement = \"S.\"\nsource = \"here\"\n"
          "measure = \"tokens\"\nquantities = [\"" +
              quantity + "\"]\n");
  };
  write_own("probability");
  const auto result = json("--claims own.toml --batches 1");
  EXPECT_EQ(result["paper"], "Mine");
  EXPECT_EQ(result["claims"][0]["verdict"], "shown");
  write_own("probabilty");
  EXPECT_THAT(claims("--claims own.toml").error, HasSubstr("did you mean `probability`?"));
}

TEST_F(Claims, MistakesAreSaidBeforeTheWeightsAreRead) {
  EXPECT_THAT(claims("--only entropie"), mistake("did you mean `entropy`?"));
  EXPECT_THAT(claims("--algorithm wd1").error, HasSubstr("no claims ship for the algorithm `wd1`"));
}

}  // namespace drift::claims_cli_test
