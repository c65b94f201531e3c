// `drift eval` and `drift generate` on the checkpoint of a run.

#include <tests/support/training_run.h>

#include <cstdio>

namespace drift::generate_test {

using namespace test;
using namespace testing;

class Checkpoint : public Test {
 protected:
  static void SetUpTestSuite() {
    runs_ = new TrainingRuns;
    ASSERT_THAT(runs_->train("a", "--steps 2 --set evaluation.before=false"), prints());
  }
  static void TearDownTestSuite() {
    delete runs_;
    runs_ = nullptr;
  }

  static CommandResult generate(const std::string& options) {
    return runs_->drift("generate a/checkpoints/last " + options);
  }

  // An empty grid, its rows separated by line ends.
  static constexpr const char* kPrompt = "--prompt '1000\n0020\n0300\n0004\n'";

  static inline TrainingRuns* runs_ = nullptr;
};

TEST_F(Checkpoint, MayBeAskedInTurns) {
  EXPECT_THAT(generate(kPrompt + std::string(" --set prompt.format=chta")),
              fails("unknown chat format `chta` in [prompt] format; did you mean `chat`?"));
  // The small model's vocabulary cannot spell a chat's headers; that the turns were made shows in what is refused.
  EXPECT_THAT(generate(kPrompt + std::string(" --set prompt.format=chat")),
              fails("the vocabulary has no token for `<`"));
}

TEST_F(Checkpoint, IsEvaluatedAsInItsRun) {
  const auto result = runs_->drift("eval a/checkpoints/last");
  ASSERT_THAT(result, prints("held-out items       4\n"));
  const auto summary = runs_->read_json("a/summary.json");
  char solved[32];
  std::snprintf(solved, sizeof solved, "%.1f %%", 100 * summary.at("held_out").at("after").get<double>());
  EXPECT_THAT(result.output, HasSubstr(std::string("solved               ") + solved));
  EXPECT_THAT(runs_->drift("eval a/checkpoints/last --set evaluation.items=2").output,
              HasSubstr("held-out items       2\n"));
}

TEST_F(Checkpoint, AnswersAPromptAsOneJsonObject) {
  const auto object = printed_json(generate(std::string(kPrompt) + " --json --seed 3"));
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

TEST_F(Checkpoint, PutsTheMarksOfItsTaskAroundAText) {
  const auto prompt_of = [&](const std::string& options) {
    return printed_json(generate("--json " + options)).at("prompt_ids");
  };
  const auto marked = prompt_of("--prompt '<|startoftext|>1000\n0020\n0300\n0004<|sep|>'");
  EXPECT_EQ(prompt_of("--prompt '1000\n0020\n0300\n0004'"), marked);
  const auto raw = prompt_of("--raw --prompt '1000\n0020\n0300\n0004'");
  EXPECT_EQ(raw.size() + 2, marked.size());
}

TEST_F(Checkpoint, SaysWhereResponsesAreAndWhenSamplesAreEqual) {
  const auto sampled = [&](const std::string& options) {
    const auto result =
        runs_->drift("eval a/checkpoints/last --set evaluation.items=2 --set evaluation.samples=3 " + options);
    EXPECT_THAT(result, prints());
    return result;
  };
  const auto greedy = sampled("");
  EXPECT_THAT(greedy.error, HasSubstr("all 3 responses to an item are equal"));
  EXPECT_THAT(greedy.output, HasSubstr("not kept; --out FOLDER keeps them"));
  const auto drawn = sampled("--set evaluation.rollout.temperature=1.0 --out drawn");
  EXPECT_THAT(drawn.error, Not(HasSubstr("are equal")));
  for (const char* shown : {"solved, mean of 3", "\npass@3", "\nmaj@3", "drawn/responses/"})
    EXPECT_THAT(drawn.output, HasSubstr(shown));
}

TEST_F(Checkpoint, AnswersTheSameToTheSameSeed) {
  const auto first = generate(std::string(kPrompt) + " --json --seed 3");
  EXPECT_EQ(generate(std::string(kPrompt) + " --json --seed 3").output, first.output);
  EXPECT_NE(generate(std::string(kPrompt) + " --json --seed 4").output, first.output);
}

TEST_F(Checkpoint, TakesTokenIdsAndShowsEveryStep) {
  ASSERT_THAT(generate("--token-ids 6,5,5,5,4 --show-steps"), prints("step 1\n", "\u00b7")) << "what is still masked";
}

constexpr const char* kThreePrompts =
    "{\"id\": \"b\", \"token_ids\": [6, 5, 5, 5, 4]}\n"
    "{\"prompt\": \"1000\\n0020\\n0300\\n0004\\n\"}\n\n"
    "{\"id\": 7, \"item\": \"3201000003004130-3241142323144132\"}\n";

TEST_F(Checkpoint, AnswersManyPromptsInOneCall) {
  runs_->write("prompts.jsonl", kThreePrompts);
  const auto lines = printed_lines(generate("--json --in prompts.jsonl --samples 2 --seed 3"));
  ASSERT_THAT(lines, SizeIs(6));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].at("sample"), i % 2);
    EXPECT_EQ(lines[i].contains("id"), i / 2 != 1);
    EXPECT_THAT(lines[i].at("token_ids"), SizeIs(20));
    EXPECT_THAT(lines[i].at("steps"), SizeIs(20));
    EXPECT_GE(lines[i].at("forwards"), 4);
  }
  EXPECT_EQ(lines[1].at("id"), "b");
  EXPECT_EQ(lines[4].at("id"), 7);
  const auto piped = runs_->drift("generate a/checkpoints/last --json --in - --samples 2 --seed 3 < prompts.jsonl");
  EXPECT_EQ(printed_lines(piped), lines);
}

TEST_F(Checkpoint, AResponseIsTheSameInAnyBatch) {
  runs_->write("prompts.jsonl", kThreePrompts);
  const auto together = printed_lines(generate("--json --in prompts.jsonl --samples 2 --seed 3"));
  ASSERT_THAT(together, SizeIs(6));
  const auto alone = [](const std::string& options) {
    auto lines = printed_lines(generate("--json --seed 3 " + options));
    for (auto& line : lines) line.erase("sample");
    return lines;
  };
  const auto expect_equal = [&](const nlohmann::json& one, std::size_t number) {
    for (const char* key : {"token_ids", "steps", "forwards", "text"})
      EXPECT_EQ(one.at(key), together[number].at(key)) << number;
  };
  expect_equal(alone("--token-ids 6,5,5,5,4")[0], 0);
  expect_equal(alone("--token-ids 6,5,5,5,4 --first 2")[0], 1);
  const auto second = alone(std::string(kPrompt) + " --samples 2 --first 3");
  ASSERT_THAT(second, SizeIs(2));
  expect_equal(second[0], 2);
  expect_equal(second[1], 3);
  EXPECT_NE(together[2].at("token_ids"), together[3].at("token_ids")) << "members of a group differ";
}

TEST_F(Checkpoint, PrintsSeveralResponsesForReaders) {
  ASSERT_THAT(generate(std::string(kPrompt) + " --samples 2"),
              prints(ContainsRegex("^== prompt 1, response 1 of 2, [0-9]+ forwards\n"),
                     ContainsRegex("\n\n== prompt 1, response 2 of 2, [0-9]+ forwards\n")));
}

TEST_F(Checkpoint, NamesABadRecordByItsLineAndWritesNothing) {
  const std::string good = "{\"token_ids\": [6, 5]}\n\n";
  const std::pair<const char*, const char*> mistakes[] = {
      {"{\"promt\": \"x\"}", "there must be one of `prompt`, `token_ids` and `item`"},
      {"{\"prompt\": \"1\", \"item\": \"2\"}", "there must be one of"},
      {"{\"prompt\": 1}", "`prompt` is not a text"},
      {"{\"token_ids\": [6, 99]}", "token id 99 is outside"},
      {"{\"token_ids\": [6, 1]}", "the prompt has the mask token, id 1, which is never filled in there"},
      {"{\"prompt\": \"<|mask|>\"}", "prompt.special_tokens=text"},
      {"{\"token_ids\": [6, 1.5]}", "`token_ids` is not a list of integers"},
      {"{\"token_ids\": []}", "the prompt is empty"},
      {"{\"item\": \"nothing/1\"}", "the task has no item `nothing/1`"},
      {"{\"id\": [], \"token_ids\": [6]}", "`id` is neither a text nor an integer"},
      {"[6]", "not a JSON object"}};
  for (const auto& [record, message] : mistakes) {
    runs_->write("bad.jsonl", good + record + "\n");
    EXPECT_THAT(generate("--json --in bad.jsonl --html bad.html"),
                AllOf(finds(IsEmpty()), fails("bad.jsonl:3: ", message)))
        << record;
    EXPECT_FALSE(std::filesystem::exists(runs_->path("bad.html")));
  }
  runs_->write("bad.jsonl", "\n");
  EXPECT_THAT(generate("--in bad.jsonl").error, HasSubstr("bad.jsonl holds no record"));
  EXPECT_EQ(generate("--in bad.jsonl --token-ids 6").status, 2);
}

TEST_F(Checkpoint, WritesAPageThatReplaysTheResponses) {
  ASSERT_THAT(generate(std::string(kPrompt) + " --samples 2 --html replay.html"), prints());
  const std::string page = runs_->read("replay.html");
  EXPECT_THAT(page, HasSubstr("<h3>prompt 1, response 2 of 2</h3>"));
  EXPECT_THAT(page, ContainsRegex("data-step=\"[0-9]+\" title=\"step [0-9]+, probability [01].[0-9]+; "
                                  "runners-up: “[^”]*” 0.[0-9]+, “"));
  EXPECT_THAT(generate(std::string(kPrompt) + " --html no/such/folder.html"), finds(IsEmpty()));
}

TEST_F(Checkpoint, LeavesNoPageBehindThatAnInterruptCutOff) {
  const auto cut =
      run_command("cd " + runs_->path().string() + " && timeout -s INT 2 " + program().string() +
                  " generate a/checkpoints/last --token-ids 6,5,5,5,4" + " --samples 6000 --html cut.html");
  for (const auto& entry : std::filesystem::directory_iterator(runs_->path()))
    EXPECT_THAT(entry.path().filename().string(), Not(StartsWith(".cut.html"))) << cut.error;
}

TEST_F(Checkpoint, IsShownInPlaceWhileItWrites) {
  if (run_command("script -qec true /dev/null").status != 0) GTEST_SKIP() << "no `script` to make a terminal with";
  ASSERT_THAT(
      run_command("cd " + runs_->path().string() + " && env -u CI TERM=xterm script -qec \"" + program().string() +
                  " generate a/checkpoints/last --token-ids 6,5,5,5,4 --show-steps\" /dev/null"),
      prints("forward 0  0/20 tokens", ContainsRegex("A\033\\[J"), "  20/20 tokens"))
      << "drawn over what was drawn before";
}

TEST_F(Checkpoint, AnswersAnItemInTheWordsOfItsTask) {
  const std::string id = "3201000003004130-3241142323144132";  // held out
  const auto shown = printed_json(runs_->drift("data check a/config.toml --json --id " + id));
  std::string ids;
  for (const std::int64_t id : shown.at("token_ids")) ids += (ids.empty() ? "" : ",") + std::to_string(id);
  const auto of_item = generate("--json --item " + id);
  ASSERT_THAT(of_item, prints());
  EXPECT_EQ(of_item.output, generate("--token-ids " + ids + " --json").output);
  EXPECT_THAT(generate("--item nothing/1").error, HasSubstr("the task has no item `nothing/1`"));
}

TEST_F(Checkpoint, WithoutARunSaysThatItNeedsOnesFile) {
  const std::string model = source("assets/sudoku-llada");
  for (const std::string& command : {"eval " + model, "generate " + model + " --prompt x"})
    EXPECT_THAT(runs_->drift(command),
                fails("sudoku-llada is not from a run: say ", "--config configs/quickstart.toml"));
  EXPECT_EQ(runs_->drift("eval " + model + " --config run.toml").status, 0);
  EXPECT_THAT(runs_->drift("eval nowhere --config nothing.toml"), fails("there is no checkpoint folder nowhere"));
}

TEST_F(Checkpoint, RefusesInvalidPrompts) {
  EXPECT_THAT(generate("--token-ids 6,23"), fails("token id 23 is outside the model's vocabulary of 23"));
  EXPECT_THAT(generate("--prompt ''"),
              fails("the prompt is empty\n  = give --prompt TEXT, --item ID or --token-ids 1,2,3"));
  EXPECT_EQ(generate("--token-ids ''").status, 2);
  EXPECT_THAT(generate("--token-ids 6,99999999999999999999"), mistake("expects whole numbers from 0"));
}

TEST_F(Checkpoint, RefusesAPromptThatLeavesNoRoom) {
  std::string ids = "5";
  for (int i = 0; i < 60; ++i) ids += ",5";
  EXPECT_THAT(generate("--token-ids " + ids), fails("64"));
}

}  // namespace drift::generate_test
