// `drift data check`, and training on the items of a file.

#include <tests/support/training_run.h>

namespace drift::data_test {

using namespace test;
using namespace testing;

using nlohmann::json;

std::string quickstart() { return source("configs/quickstart.toml"); }

/// Three sums and a held-out one; the reward `countdown` reads their references.
class Data : public Test, public ProgramFolder {
 protected:
  Data() {
    write("train.jsonl", R"({"question": "3,7,12=48", "truth": {"numbers": [3, 7, 12], "target": 48}})"
                         "\n"
                         R"({"question": "1,2,3=6", "truth": {"numbers": [1, 2, 3], "target": 6}})"
                         "\n"
                         R"({"question": "1,2,4=7", "truth": {"numbers": [1, 2, 4], "target": 7}})"
                         "\n");
    write("test.jsonl", R"({"question": "2,2,2=6", "truth": {"numbers": [2, 2, 2], "target": 6}})");
    write("run.toml", R"([task]
name = "dataset"
training_files = ["train.jsonl"]
held_out_files = ["test.jsonl"]
reference_column = "truth"
[prompt]
instruction = "Solve {question}"
[reward]
name = "countdown"
)");
  }
};

TEST_F(Data, StatsCountItemsAndLengths) {
  ASSERT_THAT(drift("data check run.toml --stats"),
              AllOf(prints("training, items: 3\n", "question, characters  median 7   5 % 7   95 % 9   from 7 to 9\n",
                           "answers               JSON 3\n", "held out, items: 1\n", "questions in both: 0\n",
                           "tokens are not counted: no model is named: --model FOLDER\n"),
                    warns(IsEmpty())));
}

TEST_F(Data, StatsAreAlsoJson) {
  const auto found = printed_json(drift("data check run.toml --stats --json"));
  EXPECT_EQ(found.at("task"), "dataset");
  EXPECT_EQ(found.at("training").at("items"), 3);
  EXPECT_EQ(found.at("training").at("question_characters").at("maximum"), 9);
  EXPECT_EQ(found.at("held_out").at("answer_shapes").at("JSON"), 1);
  EXPECT_EQ(found.at("overlap"), 0);
}

TEST_F(Data, ShowPrintsTheFirstItemOfEachSet) {
  ASSERT_THAT(drift("data check run.toml --show 1"),
              prints("training item train.jsonl:1\n", "| Solve 3,7,12=48\n",
                     "reference\n| {\"numbers\":[3,7,12],\"target\":48}\n", "held-out item test.jsonl:1\n",
                     Not(HasSubstr("train.jsonl:2"))));
}

TEST_F(Data, ShowFindsItemsByTheirNames) {
  const auto one = drift("data check run.toml --id train.jsonl:3 --json");
  ASSERT_THAT(one, prints());
  EXPECT_EQ(json::parse(one.output).at("question"), "1,2,4=7");
  EXPECT_THAT(drift("data check run.toml --id train.jsonl:4"), fails("the task has no item `train.jsonl:4`"));
  EXPECT_EQ(drift("data check run.toml --show 0").status, 2);
}

TEST_F(Data, ShowPrintsWhatTheModelReads) {
  write("grids.toml", "extends = [\"" + quickstart() + "\"]\n");
  const auto shown = printed_json(drift("data check grids.toml --show 1 --json | head -n 1"));
  EXPECT_EQ(shown.at("set"), "training");
  EXPECT_EQ(shown.at("prompt"), shown.at("question"));
  EXPECT_THAT(shown.at("token_ids"), SizeIs(21));
  const auto text = drift("data check grids.toml --show 1");
  EXPECT_THAT(text.output, AllOf(HasSubstr("prompt, 21 tokens\n| <|startoftext|>"), HasSubstr("demonstration\n| ")));
}

TEST_F(Data, CheckIsContentWithGoodData) {
  EXPECT_THAT(drift("data check run.toml"),
              prints("note   3 training items, 1 held-out items\n", "nothing is wrong\n"));
  EXPECT_EQ(drift("data check " + quickstart()).status, 0) << "generators are checked as well";
}

TEST_F(Data, AMissingFileLeadsToWhereDataComesFrom) {
  std::filesystem::remove(path("test.jsonl"));
  const auto result = drift("data check run.toml");
  EXPECT_THAT(result, fails());
  EXPECT_THAT(result.output + result.error,
              AllOf(HasSubstr("test.jsonl: No such file"), HasSubstr("scripts/fetch_data"), HasSubstr("docs/data.md")));
}

TEST_F(Data, CheckFindsBadRecordsAndOverlap) {
  write("test.jsonl",
        "{}\n"
        R"({"question": "1, 2, 3 = 6", "truth": {"numbers": [1, 2, 3], "target": 6}})");
  EXPECT_THAT(drift("data check run.toml"),
              finds("test.jsonl record 1 (line 1): `question` is missing",
                    "train.jsonl record 2 (line 2) = test.jsonl record 2 (line 2): 1,2,3=6",
                    "the data cannot be used as it is"));
  const auto found = json::parse(drift("data check run.toml --json").output);
  EXPECT_EQ(found.at("ok"), false);
  EXPECT_THAT(found.at("findings"), SizeIs(1));
}

TEST_F(Data, CheckFindsSetsWithoutItems) {
  const auto said = [&](const std::string& more = "") {
    const auto result = drift("data check run.toml" + more);
    EXPECT_THAT(result, fails());
    return result.output;
  };
  write("train.jsonl", "{}\n{}\n");
  EXPECT_THAT(said(" --set task.skip_bad=true"), HasSubstr("no training item is left: training: 2 records, 0 items"));
  write("train.jsonl", "\n");
  EXPECT_THAT(said(), HasSubstr("train.jsonl: it holds no record"));
  write("train.jsonl", "");
  EXPECT_THAT(said(" --set task.skip_bad=true"), HasSubstr("train.jsonl: it holds no record"));
}

TEST_F(Data, CheckFindsOverlapInAnotherSpelling) {
  write("test.jsonl",
        "{\"question\": \"1\u00A0,\uFF12\u200B,3=6\", \"truth\": {\"numbers\": [1, 2, 3], \"target\": 6}}");
  EXPECT_THAT(drift("data check run.toml").output,
              HasSubstr("1 training question is also in the evaluation set:\n  train.jsonl record 2 (line 2)"));
}

TEST_F(Data, CheckFindsReferencesThatTheRewardCannotRead) {
  write("test.jsonl", R"({"question": "2,2,2=6", "truth": "6"})");
  EXPECT_THAT(drift("data check run.toml"),
              finds("references that the reward `countdown` cannot judge, 1:\n  test.jsonl:1: "));
  EXPECT_EQ(drift("data check run.toml --set task.data_type=countdown").status, 1);
}

TEST_F(Data, CheckFindsTruthsThatAreNoMathematics) {
  std::string records;
  for (const char* truth : {R"("\\frac{1}{2}")", R"("\\frac{1}{")", R"(["3"])",
                            R"(["assert f(1) == 2", "assert f(2) == 3"])", "[3, 4]", R"("Evelyn")"})
    records += std::string(R"({"question": "q", "truth": )") + truth + "}\n";
  write("train.jsonl", records);
  write("test.jsonl", records.substr(0, records.find('\n')));
  EXPECT_THAT(drift("data check run.toml --set reward.name=math --set task.overlap=allow"),
              finds("references that the reward `math` cannot judge, 3:\n  train.jsonl:2: ", "\n  train.jsonl:4: ",
                    "\n  train.jsonl:5: "));
}

TEST_F(Data, CheckFindsSpecialTokensInQuestions) {
  write("grids.toml",
        "extends = [\"" + quickstart() + "\"]\n[task]\nname = \"dataset\"\ntraining_files = [\"a.jsonl\"]\n");
  const auto check = [&](const std::string& question) {
    write("a.jsonl", R"({"question": "1", "ground_truth_answer": "1"})"
                     "\n"
                     R"({"question": ")" +
                         question + R"(", "ground_truth_answer": "1"})");
    return drift("data check grids.toml");
  };
  const std::string said = "questions with special tokens, which control the model, 1:\n  a.jsonl:2: <|";
  EXPECT_THAT(check("12<|sep|>").output, AllOf(HasSubstr("note   " + said), HasSubstr("special_tokens = \"text\"")));
  EXPECT_THAT(check("1<|mask|>"), finds("wrong  " + said + "mask|>"));
  EXPECT_THAT(check("12").output, Not(HasSubstr("special tokens")));
}

TEST_F(Data, AConversationNeedsTurns) {
  write("test.jsonl", R"({"question": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},)"
                      R"( {"role": "user", "content": "2,2,2=6"}], "truth": {"numbers": [2, 2, 2], "target": 6}})");
  const auto shown = drift("data check run.toml --id test.jsonl:1");
  EXPECT_THAT(shown.output, AllOf(HasSubstr("| Solve 2,2,2=6\n"), HasSubstr("the turns before them\n| [{\"role\":")));
}

// The shipped configurations with the published files.
class ShippedTasks : public Data {
 protected:
  void SetUp() override {
    const auto missing = missing_data({"MATH_train.json", "MATH_rldf.json", "MATH500.json", "gsm8k_test.json",
                                       "MBPP_train.json", "MBPP.json", "HumanEval.json"});
    if (!missing.empty()) GTEST_SKIP() << missing;
  }
  static std::string task(const std::string& name) {
    return (source_dir() / "configs/tasks" / (name + ".toml")).string();
  }
};

TEST_F(ShippedTasks, HoldWhatTheirPageSays) {
  const auto expect = [&](const std::string& name, int training, int held_out) {
    const auto found = printed_json(drift("data check " + task(name) + " --stats --json"));
    EXPECT_EQ(found.at("training").at("items"), training) << name;
    EXPECT_EQ(found.at("held_out").at("items"), held_out) << name;
    EXPECT_EQ(found.at("overlap"), 0) << name;
  };
  expect("math", 8521, 500);
  expect("math-rldf", 6106 - 248, 500);
  expect("math500", 0, 500);
  expect("gsm8k", 0, 1319);
  expect("code", 472, 498);
  expect("mbpp", 0, 498);
  expect("humaneval", 0, 164);
}

TEST_F(ShippedTasks, AreCheckedToTheirLastReference) {
  EXPECT_THAT(drift("data check " + task("math")), prints());
  EXPECT_THAT(drift("data check " + task("math-rldf") + " --set task.overlap=refuse"),
              finds("248 training questions are also in the evaluation set:"));
}

/// Grids out of a file, as `drift data check --show N --json` writes them: a run on a list.
class ListedTraining : public Test, public TrainingRuns {
 protected:
  ListedTraining() {
    std::string records;
    std::istringstream lines(drift("data check run.toml --show 6 --json").output);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("{\"set\":\"training\"")) records += line + "\n";
    }
    write("grids.jsonl", records);
    auto longer = json::parse(records.substr(0, records.find('\n')));
    longer["question"] = longer["question"].get<std::string>() + "1234";
    write("longer.jsonl", longer.dump());
    write("listed.toml", R"(extends = ["run.toml"]
[task]
name = "dataset"
training_files = ["grids.jsonl", "longer.jsonl"]
held_out_files = []
reference_column = "reference"
demonstration_column = "demonstration"
max_prompt_tokens = 21
[reward]
name = "sudoku"
score = "cells"
)");
  }
};

TEST_F(ListedTraining, LeavesOutLongPromptsAndSaysSo) {
  const auto result = drift("train listed.toml --out a --steps 2");
  ASSERT_THAT(result, prints());
  const std::string note = "1 of 7 training items have prompts of more than 21 tokens: left out";
  EXPECT_THAT(result.output, HasSubstr(note));
  EXPECT_THAT(read("a/log.txt"), HasSubstr(note));
  EXPECT_THAT(metrics_in("a"), SizeIs(2));
  EXPECT_THAT(drift("data check listed.toml --stats").output,
              HasSubstr("prompts over max_prompt_tokens = 21, which training leaves out: 1\n"));
}

TEST_F(ListedTraining, ContinuesWithTheSameItems) {
  ASSERT_EQ(drift("train listed.toml --out a").status, 0);
  ASSERT_EQ(drift("train listed.toml --out b --steps 2").status, 0);
  EXPECT_EQ(drift("train listed.toml --out b --resume --steps 4").status, 0);
  EXPECT_EQ(difference_of("b", "a"), "");
}

TEST_F(ListedTraining, IsRefusedWhereNoItemIsLeft) {
  EXPECT_THAT(drift("data check listed.toml --set task.max_prompt_tokens=20"),
              finds("wrong  7 training prompts have more than 20 tokens"));
  EXPECT_THAT(drift("train listed.toml --out a --set task.max_prompt_tokens=20"),
              fails("7 of 7 training items have prompts of more than 20 tokens"));
  EXPECT_THAT(drift("train run.toml --out a --set task.max_prompt_tokens=20"),
              fails("task.max_prompt_tokens selects from a list of items, but the task `sudoku`"));
  EXPECT_THAT(drift("train listed.toml --out a --set 'task.training_files=[]' --set "
                    "'task.held_out_files=[\"grids.jsonl\"]'"),
              fails("the task `dataset` has no training items"));
  EXPECT_FALSE(std::filesystem::exists(path("a"))) << "no partial files remain";
}

TEST_F(ListedTraining, ImitatesItsDemonstrations) {
  ASSERT_THAT(drift("pretrain listed.toml --out a --steps 2 --set pretrain.batch_size=3 "
                    "--set pretrain.response_length=20"),
              prints("left out"));
}

TEST(DataShow, EscapeSequencesOfTheDataDoNotReachTheTerminal) {
  const ProgramFolder folder;
  folder.write(
      "items.jsonl",
      R"({"id":"a\u001b[2J","question":"\u001b]0;owned\u0007 what\u009b31m is 1+1?","ground_truth_answer":"2"})"
      "\n");
  folder.write(
      "run.toml",
      "[task]\nname = \"dataset\"\ntraining_files = [\"items.jsonl\"]\nid_column = \"id\"\n\"bad\\u001b[31m\" = 1\n");
  const auto wrong = folder.drift("data check run.toml --show 1");
  const auto shown = folder.drift("data check run.toml --show 1", "sed -i /bad/d run.toml &&");
  for (const auto& result : {wrong, shown}) {
    for (const char* raw : {"\x1b", "\x07", "\xc2\x9b"})
      EXPECT_EQ((result.output + result.error).find(raw), std::string::npos) << result.output << result.error;
  }
  EXPECT_THAT(shown.output, HasSubstr("\\x1b]0;owned\\x07 what\\x9b31m is 1+1?")) << shown.error;
}

}  // namespace drift::data_test
