// Task `dataset`: which items are trained on, and in which order.

#include <thread>

#include "tests/support/dataset_files.h"
#include "tests/support/support.h"

namespace drift::dataset_selection_test {

using namespace testing;
using DatasetSelection = test::DatasetFiles;

// ---- filters -------------------------------------------------------------------------------------------------------

TEST_F(DatasetSelection, LengthsAndTheNumberOfItemsAreLimited) {
  const auto file = write("a.jsonl", R"({"question": "ππ", "ground_truth_answer": "1"}
{"question": "abc", "ground_truth_answer": "1"}
{"question": "abcd", "ground_truth_answer": "1"})"
                                     "\n");
  EXPECT_THAT(prompts(*open(file, {{"maximum_characters", std::int64_t{2}}})), ElementsAre("ππ"));
  EXPECT_THAT(prompts(*open(file, {{"minimum_characters", std::int64_t{3}}})), ElementsAre("abc", "abcd"));
  EXPECT_THAT(error_of(file, {{"minimum_characters", std::int64_t{5}}}),
              HasSubstr("no training item is left: training: 3 records, 0 items; left out: 3 too short"));
  EXPECT_THAT(prompts(*open(numbered(5), {{"limit", std::int64_t{2}}})), ElementsAre("q0", "q1"));
}

TEST_F(DatasetSelection, ItemsAreChosenByTheirSolvedShare) {
  const auto file = write("a.jsonl", R"({"question": "never", "ground_truth_answer": "1", "share": 0}
{"question": "half", "ground_truth_answer": "1", "share": 0.5}
{"question": "always", "ground_truth_answer": "1", "share": 1}
{"question": "unknown", "ground_truth_answer": "1"})"
                                     "\n");
  EXPECT_THAT(prompts(*open(file, {{"solved_share_column", "share"}, {"solved_share_low", 0.0625}})),
              ElementsAre("half", "always"));
  const auto responses = write("responses.jsonl", R"({"id": "a.jsonl:1", "solved": false, "response": "no"}
{"id": "a.jsonl:2", "solved": false}
{"id": "a.jsonl:2", "solved": true}
{"id": "a.jsonl:3", "solved": true}
{"id": "a.jsonl:4", "solved": false, "status": "not judged"})");
  EXPECT_THAT(
      prompts(*open(file, {{"solved_share_file", responses}, {"solved_share_low", 0.1}, {"solved_share_high", 0.9}})),
      ElementsAre("half"));
  EXPECT_THAT(error_of(file, {{"solved_share_low", 0.1}}),
              HasSubstr("need `solved_share_column` or `solved_share_file`"));
  EXPECT_THAT(error_of(file, {{"solved_share_column", "question"}, {"solved_share_low", 0.1}}),
              HasSubstr("`question` is not a share between 0 and 1"));
  EXPECT_THAT(error_of(file, {{"solved_share_file", file}}), HasSubstr("a response needs `id`, a text, and `solved`"));
}

TEST_F(DatasetSelection, AChoiceFromOutsideStays) {
  const auto task = open(numbered(5), {{"shuffle", false}});
  task->keep({1, 3});
  EXPECT_THAT(prompts(*task), ElementsAre("q1", "q3"));
  TaskItem item;
  task->training_item(2, RandomStream(1, "task"), item);
  EXPECT_EQ(item.prompt, "q1");
}

// ---- overlap -------------------------------------------------------------------------------------------------------

class DatasetOverlap : public DatasetSelection {
 protected:
  const std::string training_file_ = write("train.jsonl", R"({"question": "fresh", "ground_truth_answer": "1"}
{"question": "What is $1 +1$ ?", "ground_truth_answer": "2"})");
  const std::string held_out_ =
      write("test.json", R"([{"question": " What is\n$1+ 1$?", "ground_truth_answer": "2"}])");
};

TEST_F(DatasetOverlap, IsRefusedWhateverTheWhiteSpace) {
  for (const char* list : {"held_out_files", "dedupe_against_files"}) {
    const std::string error = error_of(training_file_, {{list, Files{held_out_}}});
    EXPECT_THAT(error, HasSubstr("1 training question is also in the evaluation set:\n"
                                 "  train.jsonl record 2 (line 2) = test.json record 1 (line 1): What is $1 +1$ ?"))
        << list;
    EXPECT_THAT(error, HasSubstr("task.overlap = \"drop\""));
  }
}

// Copies of a question as they are in other collections.
TEST_F(DatasetOverlap, IsFoundHoweverTheQuestionIsWritten) {
  const auto found = [&](const std::string& training, const std::string& held_out) {
    const auto record = [](const std::string& question) {
      return "{\"question\": \"" + question + "\", \"ground_truth_answer\": \"2\"}";
    };
    const auto one = write("one.jsonl", record(training)), other = write("other.jsonl", record(held_out));
    return error_of(one, {{"held_out_files", Files{other}}}).find("also in the evaluation set") != std::string::npos;
  };
  const std::string question = "What is 12 + 3 - \\\"café\\\" * 4?";
  for (const char* copy :
       {"What\u00A0is\u200912\u3000+ 3 - \\\"café\\\" * 4?",           // spaces of other widths
        "What is 1\u200B2 + 3 \u00AD- \\\"caf\u2060é\\\" * 4?\uFEFF",  // what is not seen
        "\uFF37hat is \uFF11\uFF12 \uFF0B \uFF13 \uFF0D \uFF02café\uFF02 \uFF0A \uFF14\uFF1F",  // full width
        "WHAT IS 12 + 3 - \\\"CAFÉ\\\" * 4?",                                                   // case, of all letters
        "What is 12 + 3 - \\\"cafe\u0301\\\" * 4?",                                             // the accent by itself
        "What is 12 + 3 \u2212 \u201Ccafé\u201D * 4?",  // dashes, quotation marks
        "\\tWhat is\\n12 + 3\\r\\n- \\\"café\\\" * 4?"}) {
    EXPECT_TRUE(found(question, copy)) << copy;
    EXPECT_TRUE(found(copy, question)) << copy;
  }
  for (const char* other : {"What is 13 + 3 - \\\"café\\\" * 4?", "What is 12 + 3 - \\\"cafe\\\" * 4?",
                            "What is 12 - 3 - \\\"café\\\" * 4?", "What is 1.2 + 3 - \\\"café\\\" * 4?"})
    EXPECT_FALSE(found(question, other)) << other;
  EXPECT_TRUE(found("stra\u00DFe", "STRASSE"));
  EXPECT_FALSE(found("\u4E00", "\u4E8C"));
}

TEST_F(DatasetOverlap, IsACountAndThreeExamples) {
  const auto file = numbered(5);
  EXPECT_THAT(error_of(file, {{"dedupe_against_files", Files{file}}}),
              AllOf(HasSubstr("5 training questions are also"), HasSubstr("record 3 (line 3): q2\n  … and 2 more"),
                    Not(HasSubstr("q3"))));
}

// Sorting the marks on one letter would take a minute.
TEST_F(DatasetOverlap, IsLookedForInBoundedTime) {
  std::string marks;
  for (int i = 0; i < 200'000; ++i) marks += i % 2 == 0 ? "\u0301" : "\u0316";
  const auto file = write("marks.jsonl", "{\"question\": \"a" + marks + "\", \"ground_truth_answer\": \"2\"}");
  EXPECT_THAT(error_of(file, {{"held_out_files", Files{held_out_}}}), "");
}

TEST_F(DatasetOverlap, MayBeDroppedOrAllowed) {
  testing::internal::CaptureStderr();
  const auto dropped = open(training_file_, {{"held_out_files", Files{held_out_}}, {"overlap", "drop"}});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("2 records, 1 items; left out: 1 in an evaluation set"));
  EXPECT_THAT(prompts(*dropped), ElementsAre("fresh"));
  EXPECT_EQ(dropped->held_out_size(), 1);
  EXPECT_EQ(open(training_file_, {{"held_out_files", Files{held_out_}}, {"overlap", "allow"}})->training_size(), 2);
}

TEST_F(DatasetOverlap, IsReportedTogetherWithBadRecords) {
  test::write_file(training_file_, test::read_file(training_file_) + "\n{}");
  const std::string error = error_of(training_file_, {{"held_out_files", Files{held_out_}}});
  EXPECT_THAT(error, HasSubstr("1 bad record:\n  train.jsonl record 3 (line 3): `question` is missing, "
                               "which task.question_column names\n1 training"));
}

// ---- a share that is held out ---------------------------------------------------------------------------------------

std::set<std::string> held_out(const test::DatasetTask& task) {
  std::set<std::string> questions;
  TaskItem item;
  for (std::int64_t i = 0; i < task.held_out_size(); ++i) {
    task.held_out_item(i, item);
    questions.insert(item.prompt);
  }
  return questions;
}

TEST_F(DatasetSelection, AShareOfOneFileIsHeldOut) {
  const Values fifth = {{"held_out_share", 0.2}};
  const auto few = held_out(*open(numbered(500), fifth));
  const auto task = open(numbered(1000), fifth);
  const auto many = held_out(*task);
  EXPECT_NEAR(static_cast<double>(many.size()), 200, 50);
  for (const std::string& question : prompts(*task)) EXPECT_FALSE(many.contains(question));
  EXPECT_EQ(task->training_size() + task->held_out_size(), 1000);
  EXPECT_TRUE(std::includes(many.begin(), many.end(), few.begin(), few.end())) << "a longer file moves no question";
  const auto twice = write("twice.jsonl", R"({"question": "A b", "ground_truth_answer": "1"}
{"question": "a  B", "ground_truth_answer": "1"})");
  for (const double share : {0.1, 0.5, 0.9})
    EXPECT_THAT(error_of(twice, {{"held_out_share", share}}), HasSubstr(" item")) << "equal questions stay together";
}

TEST_F(DatasetSelection, AShareThatHoldsOutNothingOrStandsBesideFilesIsRefused) {
  EXPECT_THAT(error_of(numbered(2), {{"held_out_share", 1e-9}}), HasSubstr("holds out no item of 2"));
  EXPECT_THAT(error_of(numbered(2), {{"held_out_share", 0.999999999}}), HasSubstr("no training item is left"));
  EXPECT_THAT(error_of(numbered(2), {{"held_out_share", 0.5}, {"held_out_files", Files{numbered(2)}}}),
              HasSubstr("`held_out_share` and `held_out_files` are both set"));
}

// ---- order ---------------------------------------------------------------------------------------------------------

std::vector<std::string> round_of(const test::DatasetTask& task, std::int64_t round, std::uint64_t seed = 1) {
  std::vector<std::string> texts;
  TaskItem item;
  for (std::int64_t i = 0; i < task.training_size(); ++i) {
    task.training_item(round * task.training_size() + i, RandomStream(seed, "task"), item);
    texts.push_back(item.prompt);
  }
  return texts;
}

TEST_F(DatasetSelection, EveryRoundIsAnotherOrderOfAllItems) {
  for (const int size : {1, 2, 3, 7, 64, 100}) {
    const auto task = open(numbered(size));
    const auto sorted = [&](std::vector<std::string> texts) {
      std::sort(texts.begin(), texts.end());
      return texts;
    };
    for (const std::int64_t round : {0, 1, 2, 1000000})
      EXPECT_EQ(sorted(round_of(*task, round)), sorted(prompts(*task)));
    if (size < 64) continue;
    const std::set<std::vector<std::string>> orders = {prompts(*task), round_of(*task, 0), round_of(*task, 1),
                                                       round_of(*task, 0, 2)};
    EXPECT_THAT(orders, SizeIs(4)) << "as in the file, of two rounds, of another seed";
  }
}

TEST_F(DatasetSelection, EveryOrderIsAboutAsLikely) {
  const auto task = open(numbered(3));
  std::map<std::vector<std::string>, int> count;
  for (std::int64_t round = 0; round < 6000; ++round) ++count[round_of(*task, round)];
  ASSERT_THAT(count, SizeIs(6));
  for (const auto& [order, times] : count) EXPECT_NEAR(times, 1000, 150) << "five standard deviations";
}

TEST_F(DatasetSelection, AnItemIsAFunctionOfItsNumber) {
  const auto task = open(numbered(50)), again = open(numbered(50));
  std::vector<std::string> forwards(120), backwards(120);
  const auto fill = [](const test::DatasetTask& from, std::vector<std::string>& to, bool reversed) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::size_t index = reversed ? to.size() - 1 - i : i;
      TaskItem item;
      from.training_item(static_cast<std::int64_t>(index), RandomStream(3, "task"), item);
      to[index] = item.prompt;
    }
  };
  std::thread other(fill, std::cref(*task), std::ref(forwards), false);
  fill(*task, backwards, true);
  other.join();
  EXPECT_EQ(forwards, backwards);
  fill(*again, backwards, false);
  EXPECT_EQ(forwards, backwards);
}

TEST_F(DatasetSelection, WithoutShufflingTheFilesOrderGoesRound) {
  const auto task = open(numbered(3), {{"shuffle", false}});
  EXPECT_THAT(round_of(*task, 0), ElementsAre("q0", "q1", "q2"));
  EXPECT_THAT(round_of(*task, 5), ElementsAre("q0", "q1", "q2"));
}

// ---- the published files -------------------------------------------------------------------------------------------

class Benchmarks : public DatasetSelection {
 protected:
  void SetUp() override {
    const auto missing = test::missing_data({"MATH_train.json", "MATH_rldf.json", "MATH500.json", "gsm8k_test.json",
                                             "MBPP_train.json", "MBPP.json", "HumanEval.json"});
    if (!missing.empty()) GTEST_SKIP() << missing;
  }
  static std::string file(const std::string& name) { return test::data_file(name).string(); }
};

TEST_F(Benchmarks, AreReadWhole) {
  const std::map<std::string, std::int64_t> sizes = {{"MATH_rldf.json", 6106},  {"MATH500.json", 500},
                                                     {"gsm8k_test.json", 1319}, {"MBPP_train.json", 472},
                                                     {"MBPP.json", 498},        {"HumanEval.json", 164}};
  for (const auto& [name, size] : sizes) {
    Values values;
    if (name.starts_with("MBPP") || name.starts_with("Human"))
      values = {{"reference", "record"}, {"data_type", "code_function"}};
    EXPECT_EQ(open(file(name), values)->training_size(), size) << name;
  }
}

TEST_F(Benchmarks, TwoTruthsOfTheTrainingSetAreEmpty) {
  const std::string error = error_of(file("MATH_train.json"));
  EXPECT_THAT(error, HasSubstr("2 bad records:"));
  EXPECT_THAT(error, HasSubstr("MATH_train.json record 5055 "));
  EXPECT_THAT(error, HasSubstr("MATH_train.json record 5159 "));
  EXPECT_EQ(open(file("MATH_train.json"), {{"skip_bad", true}})->training_size(), 8521);
}

TEST_F(Benchmarks, OneTrainingSetHoldsHalfOfItsEvaluationSet) {
  const Values held_out = {{"held_out_files", Files{file("MATH500.json")}}};
  const std::string error = error_of(file("MATH_rldf.json"), held_out);
  EXPECT_THAT(error, HasSubstr("248 training questions are also in the evaluation set:\n  MATH_rldf.json record "));
  EXPECT_THAT(error, HasSubstr("… and 245 more"));
  Values dropped = held_out, other = held_out;
  dropped.emplace("overlap", "drop");
  EXPECT_EQ(open(file("MATH_rldf.json"), dropped)->training_size(), 6106 - 248);
  other.emplace("skip_bad", true);
  EXPECT_EQ(open(file("MATH_train.json"), other)->training_size(), 8521);
  EXPECT_EQ(open(file("MBPP_train.json"), {{"reference", "record"}, {"held_out_files", Files{file("MBPP.json")}}})
                ->training_size(),
            472);
}

TEST_F(Benchmarks, ProgramsBeginWithTheirPrefix) {
  const auto item = first(*open(file("HumanEval.json"), {{"reference", "record"}}));
  EXPECT_EQ(item.prompt.substr(0, 60), "You need to complete this code:\nfrom typing import List\n\n\nde");
  EXPECT_TRUE(item.response_prefix.starts_with("Here is the completed code:\n```python\nfrom typing import List\n"));
  EXPECT_TRUE(item.response_prefix.ends_with("\"\"\"\n\n"));
  EXPECT_THAT(item.reference, HasSubstr("\"test_list\":[\"\\n\\n\\nMETADATA"));
}

}  // namespace drift::dataset_selection_test
