// `drift plan`: the views that a masking strategy draws for responses in a file, and the files that it reads.

#include <tests/support/program.h>

namespace drift::plan_test {

using namespace test;
using namespace testing;

const std::string kRun = source("configs/quickstart.toml");

/// Six positions in three steps, of which the last one is padding.
constexpr const char* kResponse =
    R"({"prompt_ids": [6, 5], "token_ids": [7, 8, 9, 7, 8, 0], "steps": [0, 0, 1, 1, 2, 2],)"
    R"( "commit_logprob": [-0.1, -0.1, -2.0, -2.0, -0.5, 0.0], "forwards": 3})"
    "\n";

class Plan : public Test, public ProgramFolder {
 protected:
  CommandResult plan(const std::string& options) const {
    return drift("plan " + kRun + " --trajectories responses.jsonl " + options);
  }
  void SetUp() override { write("responses.jsonl", kResponse); }
};

nlohmann::json views(const CommandResult& result, int response = 0) {
  return printed_json(result)["responses"][response]["views"];
}

// Of the trajectory's states the least sure one first: step 1, then 2, then 0.
TEST_F(Plan, ShowsWhatEachViewMasksAndScores) {
  const auto drawn = views(plan("--json --set algorithm.masking.k=3 --set algorithm.masking.sample_temperature=0.0"));
  ASSERT_EQ(drawn.size(), 3u);
  EXPECT_THAT(drawn[0]["masked"], ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(drawn[0]["scored"], ElementsAre(2, 3, 4));
  EXPECT_THAT(drawn[0]["committed"], ElementsAre(2, 3));
  EXPECT_THAT(drawn[1]["committed"], ElementsAre(4));
  EXPECT_THAT(drawn[2]["masked"], ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(drawn[2]["forward"], 2);
  EXPECT_EQ(drawn[2]["weight"], 1.0);
}

TEST_F(Plan, DrawsAPicture) {
  EXPECT_THAT(plan("--set algorithm.masking.k=3 --set algorithm.masking.sample_temperature=0.0"),
              prints("response 0, 3 views\n", "001122\n", AnyOf(HasSubstr("··██▒░\n"), HasSubstr("..##o-\n")),
                     "views: 3, responses: 1, masking strategy: `rldf`, forwards of the estimator: 3\n"))
      << "the steps";
}

TEST_F(Plan, IsThatOfTheSeedAndTheStep) {
  const std::string uniform = "--json --set algorithm.masking.k=1 --set algorithm.masking.sample_temperature=inf ";
  std::set<std::string> drawn;
  for (int step = 1; step <= 12; ++step) {
    const auto result = plan(uniform + "--step " + std::to_string(step));
    drawn.insert(views(result).dump());
    EXPECT_EQ(plan(uniform + "--step " + std::to_string(step)).output, result.output);
  }
  EXPECT_EQ(drawn.size(), 3u) << "each of the three states is drawn sometimes";
}

TEST_F(Plan, IsThatOfTheInnerIteration) {
  // The last of UniGRPO's evenly spaced ratios is 1.
  const auto last = views(plan("--json --algorithm unigrpo --inner-iteration 5"));
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0]["scored"].size(), 6u);
  EXPECT_NE(plan("--json --algorithm unigrpo --inner-iteration 2").output, plan("--json --algorithm unigrpo").output);
  EXPECT_EQ(plan("--inner-iteration 0").status, 2);
}

TEST_F(Plan, TakesEveryStrategy) {
  for (const char* name : {"d1", "coupled_grpo", "tracerl", "espo", "spg", "wd1"}) {
    const auto result = plan(std::string("--json --algorithm ") + name);
    EXPECT_FALSE(views(result).empty()) << name;
  }
  const auto prompts = views(plan("--json --algorithm d1 --set algorithm.masking.p_mask_prompt=1.0"));
  EXPECT_THAT(prompts[0]["prompt_masked"], ElementsAre(0, 1));
}

// What an evaluation keeps of a model with blocks: each view masks what was committed from its state on, in every
// block.
TEST_F(Plan, OfAModelWithBlocksHasAStateOfEachBlock) {
  const std::string sdar = source("assets/sudoku-sdar"), run = source("configs/sudoku-blocks.toml");
  ASSERT_THAT(drift("eval " + sdar + " --config " + run +
                    " --set evaluation.items=2 --set evaluation.trajectories=true --out kept"),
              prints());
  const auto drawn = views(drift("plan " + run + " --trajectories kept/responses/sudoku-20.jsonl --json"));
  ASSERT_EQ(drawn.size(), 4u) << "k";
  std::set<int> blocks;
  for (const auto& view : drawn) {
    EXPECT_FALSE(view["committed"].empty());
    for (const auto& position : view["committed"]) blocks.insert((21 + position.get<int>()) / 4);
  }
  EXPECT_EQ(blocks.size(), 5u) << "19 tokens behind a prompt of 21";
}

TEST_F(Plan, ShowsTheWeightsOfTokens) {
  const auto drawn = views(plan("--json --algorithm ebpo"));
  const double masks = static_cast<double>(drawn[0]["scored"].size());
  EXPECT_THAT(drawn[0]["token_weights"].get<std::vector<double>>(), Each(DoubleNear(5 / masks, 1e-6)))
      << "1 / p of the 5 tokens";
  EXPECT_EQ(static_cast<double>(drawn[0]["token_weights"].size()), masks);
  EXPECT_THAT(plan("--algorithm ebpo").output, HasSubstr("of a token"));
  EXPECT_THAT(plan("--algorithm vrpo").output, Not(HasSubstr("of a token")));
}

TEST_F(Plan, ReadsWhatGenerateWrites) {
  const std::string checkpoint = source("assets/sudoku-llada");
  const auto generated = drift("generate " + checkpoint + " --config " + kRun +
                               " --prompt '0040\n4301\n0004\n1400\n' --samples 2 --json --entropy");
  ASSERT_THAT(generated, prints());
  const auto first = nlohmann::json::parse(generated.output.substr(0, generated.output.find('\n')));
  EXPECT_EQ(first.at("entropy").size(), first.at("token_ids").size());
  for (const double entropy : first.at("entropy")) EXPECT_GE(entropy, 0);
  write("responses.jsonl", generated.output);
  EXPECT_EQ(views(plan("--json"), 1).size(), 4u);
}

TEST_F(Plan, ReadsWhatAnEvaluationKeeps) {
  const std::string checkpoint = source("assets/sudoku-llada");
  ASSERT_THAT(drift("eval " + checkpoint + " --config " + kRun +
                    " --set evaluation.items=2 --set evaluation.trajectories=true --out kept"),
              prints());
  for (const auto& file : std::filesystem::directory_iterator(path("kept/responses")))
    std::filesystem::copy_file(file.path(), path("responses.jsonl"), std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(views(plan("--json"), 1).size(), 4u);
}

TEST_F(Plan, SaysWhatIsWrongWithTheFile) {
  write("responses.jsonl", "{\"token_ids\": [1]}\n");
  EXPECT_THAT(plan(""), fails("responses.jsonl:1", "there is no list `prompt_ids`"));
}

}  // namespace drift::plan_test
