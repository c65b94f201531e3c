// Task `dataset`: from files to items, and what is wrong with the files.

#include <core/base/limits.h>

#include <sys/stat.h>

#include "tests/support/dataset_files.h"
#include "tests/support/support.h"

namespace drift::dataset_task_test {

using namespace testing;
using Dataset = test::DatasetFiles;

TEST_F(Dataset, ReadsAnArrayOfRecords) {
  const auto task = open(write("sums.json", R"([
    {"question": "1 + 1?", "ground_truth_answer": "2", "level": 3},
    {"question": "π, [\"{\\", "ground_truth_answer": "3,14", "prefix": "It is "}
  ])"));
  const auto items = training(*task);
  ASSERT_THAT(items, SizeIs(2));
  EXPECT_EQ(items[0].id, "sums.json:1");
  EXPECT_EQ(items[0].prompt, "1 + 1?");
  EXPECT_EQ(items[0].reference, "2");
  EXPECT_EQ(items[0].response_prefix, "");
  EXPECT_EQ(items[0].demonstration, "");
  EXPECT_EQ(items[1].id, "sums.json:2");
  EXPECT_EQ(items[1].prompt, "π, [\"{\\");
  EXPECT_EQ(items[1].response_prefix, "It is ");
  EXPECT_EQ(task->held_out_size(), 0);
}

TEST_F(Dataset, ReadsALineForEachRecord) {
  const auto task = open(write("sums.jsonl",
                               "\xEF\xBB\xBF{\"question\": \"a\", \"ground_truth_answer\": \"1\"}\r\n\n"
                               "{\"question\": \"b\", \"ground_truth_answer\": \"2\"}"));
  EXPECT_THAT(prompts(*task), ElementsAre("a", "b"));
  EXPECT_EQ(training(*task)[1].id, "sums.jsonl:2") << "the empty line is not a record";
}

TEST_F(Dataset, SeveralFilesAreOneSet) {
  const auto a = write("a.json", R"([{"question": "a", "ground_truth_answer": "1"}])");
  const auto b = write("b.jsonl", R"({"question": "b", "ground_truth_answer": "1"})");
  const auto task = test::open_dataset({{"training_files", Files{b, a}}});
  EXPECT_THAT(prompts(*task), ElementsAre("b", "a"));
}

TEST_F(Dataset, HeldOutItemsAreAnotherSet) {
  const auto held_out = write("held_out.json", R"([{"question": "c", "ground_truth_answer": "3"}])");
  const auto task = open(numbered(2), {{"held_out_files", Files{held_out}}});
  ASSERT_EQ(task->held_out_size(), 1);
  TaskItem item;
  item.demonstration = "of the item before";
  task->held_out_item(0, item);
  EXPECT_EQ(item.id, "held_out.json:1");
  EXPECT_EQ(item.reference, "3");
  EXPECT_EQ(item.demonstration, "");
  EXPECT_THROW(task->held_out_item(1, item), Error);
}

// ---- what is wrong -------------------------------------------------------------------------------------------------

TEST_F(Dataset, BadRecordsAreReportedTogether) {
  const std::string error = error_of(write("bad.json", R"([
{"question": "good", "ground_truth_answer": "1"},
{"question": "no truth"},
{"question": "empty", "ground_truth_answer": " \n"},
{"question": "null", "ground_truth_answer": null},
{"question": "", "ground_truth_answer": "1"},
{"question": 7, "ground_truth_answer": "1"},
["no", "record"],
{"question": "x" "ground_truth_answer": "1"},
{"question": ")"
                                                       "\xFF"
                                                       R"(", "ground_truth_answer": "1"},
,
{"question": "x", "ground_truth_answer": "1", "prefix": 3}
])"));
  for (const char* line :
       {"10 bad records:\n", "bad.json record 2 (line 3): `ground_truth_answer` is missing",
        "bad.json record 3 (line 4): `ground_truth_answer` is empty",
        "bad.json record 4 (line 5): `ground_truth_answer` is missing",
        "bad.json record 5 (line 6): `question` is empty", "bad.json record 6 (line 7): `question` is not a text",
        "bad.json record 7 (line 8): this is not a JSON object", "bad.json record 8 (line 9): not valid JSON: ",
        "bad.json record 9 (line 10): not valid JSON: invalid string: ill-formed UTF-8 byte",
        "bad.json record 10 (line 11): not valid JSON: ", "bad.json record 11 (line 12): `prefix` is not a text",
        "task.skip_bad = true"}) {
    EXPECT_THAT(error, HasSubstr(line));
  }
  EXPECT_THAT(error, Not(HasSubstr("record 1 ")));
}

TEST_F(Dataset, BadRecordsMayBeLeftOutAndAreCounted) {
  const auto file = write("some_bad.jsonl",
                          "{\"question\": \"a\", \"ground_truth_answer\": \"1\"}\nrubbish\n"
                          "{\"question\": \"b\"}\n{\"question\": \"c\", \"ground_truth_answer\": 1}");
  testing::internal::CaptureStderr();
  const auto task = open(file, {{"skip_bad", true}});
  open(file, {{"skip_bad", true}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "note: task `dataset`: training: 4 records, 2 items; left out: 2 bad\n")
      << "said once, however often the task is made";
  EXPECT_THAT(prompts(*task), ElementsAre("a", "c"));
  EXPECT_EQ(training(*task)[1].id, "some_bad.jsonl:4") << "ids do not move";
}

TEST_F(Dataset, ALongListOfBadRecordsIsCut) {
  std::string lines;
  for (int i = 0; i < 60; ++i) lines += "{}\n";
  EXPECT_THAT(error_of(write("bad.jsonl", lines)), AllOf(HasSubstr("60 bad records:"), HasSubstr("record 50 "),
                                                         Not(HasSubstr("record 51 ")), HasSubstr("… and 10 more")));
}

TEST_F(Dataset, FilesThatCannotBeReadAreReportedTogether) {
  const std::string text = write("data.txt", "[]"), object = write("object.json", "{}"),
                    open = write("open.json", "[{},");
  const std::string cut = write("cut.json", R"([{"question": "a)"), tail = write("tail.json", "[] []");
  const std::string missing = (folder_.path() / "missing.json").string(), folder = folder_.path().string() + "/f.json";
  std::filesystem::create_directory(folder);
  const std::string error = error_of({{"training_files", Files{text, object, open, cut, missing}},
                                      {"held_out_files", Files{tail, folder}},
                                      {"skip_bad", true}});
  EXPECT_THAT(error, HasSubstr("data.txt: the name must end in .json, .jsonl or .parquet"));
  EXPECT_THAT(error_of(write("packed.jsonl.gz", "")), HasSubstr("compressed files are not read"));
  EXPECT_THAT(error_of(write("table.csv", "a,b")), HasSubstr("CSV is not read: docs/data.md"));
  EXPECT_THAT(error, HasSubstr("object.json: not a JSON array of records"));
  EXPECT_THAT(error, HasSubstr("open.json record 1 (line 1): the file ends before the array is closed"));
  EXPECT_THAT(error, HasSubstr("cut.json record 1 (line 1): the file ends before the array is closed"));
  EXPECT_THAT(error, HasSubstr("cannot read " + missing + ": No such file"));
  EXPECT_THAT(error, HasSubstr("tail.json: something follows the end of the array"));
  EXPECT_THAT(error, HasSubstr("cannot read " + folder + ": Is a directory"));
}

TEST_F(Dataset, ANumberBeyondADoubleIsABadRecordAndNotRepeated) {
  const std::string record = R"({"question": "a", "ground_truth_answer": )" + std::string(1'000'000, '9') + "}";
  const std::string error = error_of(write("long.jsonl", record));
  EXPECT_THAT(error, HasSubstr("long.jsonl record 1 (line 1): not valid JSON: number overflow"));
  EXPECT_THAT(error, Not(HasSubstr("json.exception")));
  EXPECT_LT(error.size(), 1'000u);
}

TEST_F(Dataset, APipeIsNotWaitedFor) {
  for (const char* name : {"pipe.json", "pipe.jsonl", "pipe.parquet"}) {
    const auto pipe = folder_.path() / name;
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT(error_of(pipe.string()), HasSubstr(pipe.string() + ": it is no regular file"));
  }
}

TEST_F(Dataset, AnEmptyFileIsAMistake) {
  EXPECT_THAT(error_of(write("empty.json", "")), HasSubstr("not a JSON array"));
  EXPECT_THAT(error_of(Values{}), HasSubstr("neither `training_files` nor `held_out_files` names a file"));
  const auto good = numbered(1), none = write("none.json", "[]");
  for (const auto& file :
       {none, write("none.jsonl", ""), write("blank.jsonl", "\n \n\xE2\x80\x8B"), write("blank.json", " [ ] ")}) {
    EXPECT_THAT(error_of(file), AnyOf(HasSubstr(file + ": it holds no record"), HasSubstr("bad record")));
    EXPECT_THAT(error_of(file, {{"skip_bad", true}}), HasSubstr("the data cannot be used:"));
  }
  for (const char* set : {"held_out_files", "dedupe_against_files"})
    EXPECT_THAT(error_of(good, {{set, Files{none}}}), HasSubstr("none.json: it holds no record")) << set;
  EXPECT_THAT(error_of(Values{{"training_files", Files{good, none}}}), HasSubstr("none.json: it holds no record"));
}

TEST_F(Dataset, ASetOfWhichNothingIsLeftIsAMistake) {
  const auto good = numbered(2), bad = write("bad.jsonl", "{}\nrubbish\n");
  EXPECT_THAT(error_of(bad, {{"skip_bad", true}}),
              HasSubstr("no training item is left: training: 2 records, 0 items; left out: 2 bad"));
  EXPECT_THAT(error_of(good, {{"skip_bad", true}, {"held_out_files", Files{bad}}}),
              HasSubstr("no held-out item is left: held-out: 2 records, 0 items; left out: 2 bad"));
  EXPECT_THAT(error_of(good, {{"minimum_characters", 100}}), HasSubstr("left out: 2 too short"));
  EXPECT_THAT(error_of(good, {{"overlap", "drop"}, {"dedupe_against_files", Files{good}}}),
              HasSubstr("left out: 2 in an evaluation set"));
  EXPECT_EQ(error_of(Values{{"held_out_files", Files{good}}}), "")
      << "without training files there is nothing to train on";
}

TEST_F(Dataset, DeepNestingIsABadRecord) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  const auto record = [](int lists) {  // the record is one level
    return R"({"question": "a", "ground_truth_answer": "1", "x": )" +
           std::string(static_cast<std::size_t>(lists), '[') + std::string(static_cast<std::size_t>(lists), ']') + "}";
  };
  EXPECT_EQ(error_of(write("limit.jsonl", record(kDeepestNesting - 1))), "");
  EXPECT_THAT(error_of(write("over.jsonl", record(kDeepestNesting))), HasSubstr("nested deeper"));
  EXPECT_THAT(error_of(write("deep.json", R"([{"question": )" + deep + "}]")),
              HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(error_of(write("deep.jsonl", std::string(100000, '['))), HasSubstr("nested deeper than 64 levels"));
}

// Looking for each name among all before it would take this record an hour.
TEST_F(Dataset, ARecordMayHaveAnyNumberOfMembersAndTheLastOfEqualNamesCounts) {
  std::string members;
  for (int i = 0; i < 1'000'000; ++i) members += "\"k" + std::to_string(i) + "\": 1, ";
  const auto file = write("wide.jsonl", R"({"question": "a", )" + members +
                                            R"("ground_truth_answer": "1", "question": "b"})"
                                            "\n");
  EXPECT_EQ(first(*open(file)).prompt, "b");
}

TEST_F(Dataset, IdsAreUnique) {
  const auto file = write("ids.jsonl", R"({"question": "a", "ground_truth_answer": "1", "name": 7}
{"question": "b", "ground_truth_answer": "1", "name": "seven"}
{"question": "c", "ground_truth_answer": "1", "name": 7})"
                                       "\n");
  EXPECT_THAT(error_of(file, {{"id_column", "name"}}),
              HasSubstr("record 3 (line 3): its id `7` is also that of ids.jsonl record 1 (line 1)"));
  EXPECT_EQ(first(*open(file)).id, "ids.jsonl:1");
  std::filesystem::create_directory(folder_.path() / "other");
  const auto other = write("other/ids.jsonl", "");
  EXPECT_THAT(error_of(Values{{"training_files", Files{file, other}}}), HasSubstr("two files have the same name"));
}

// ---- the column map ------------------------------------------------------------------------------------------------

TEST_F(Dataset, ColumnsAreNamed) {
  const auto file = write(
      "hub.jsonl", R"({"problem": "p", "answer": 27.0, "unique_id": "test/1.json", "solution": "so \\boxed{27}"})");
  const auto item = first(*open(file, {{"question_column", "question|problem"},
                                       {"reference_column", "answer"},
                                       {"id_column", "unique_id"},
                                       {"demonstration_column", "solution"}}));
  EXPECT_EQ(item.prompt, "p");
  EXPECT_EQ(item.reference, "27") << "some mirrors hold numbers";
  EXPECT_EQ(item.id, "test/1.json");
  EXPECT_EQ(item.demonstration, "so \\boxed{27}");
  EXPECT_THAT(error_of(file, {{"question_column", "question|text"}}), HasSubstr("`question|text` is missing"));
  EXPECT_THAT(error_of(file, {{"question_template", "{problem} {level}"}, {"reference_column", "answer"}}),
              HasSubstr("`level` is missing, which task.question_template names"));
}

TEST_F(Dataset, AColumnThatNoRecordHasIsSaidOnceWithThoseThatThereAre) {
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines += R"({"question": "q)" + std::to_string(i) + R"(", "answer": "#### 1", "info": {"level": 2}})" + "\n";
  const std::string error = error_of(write("gsm8k.jsonl", lines));
  EXPECT_THAT(error, HasSubstr("gsm8k.jsonl: `ground_truth_answer` is missing, which task.reference_column names; set "
                               "it to one of the file's columns: `question`, `answer`, `info.level`"));
  EXPECT_THAT(error, AllOf(Not(HasSubstr("record")), Not(HasSubstr("skip_bad"))));
  EXPECT_THAT(error_of(write("some.jsonl", lines + R"({"question": "q", "ground_truth_answer": "1"})")),
              HasSubstr("40 bad records:"))
      << "one record has it";
}

// ---- conversations -------------------------------------------------------------------------------------------------

class Conversations : public Dataset {
 protected:
  /// One record with these messages, of which every other is the user's.
  std::string file(const std::vector<std::string>& messages, const std::string& first_role = "user") const {
    std::string list;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const std::string role = i == 0 ? first_role : (i % 2 == 0) == (first_role == "user") ? "user" : "assistant";
      list += (i == 0 ? "" : ", ") + (R"({"role": ")" + role + R"(", "content": ")" + messages[i] + R"("})");
    }
    return write("chat.jsonl", R"({"prompt": [)" + list + R"(], "reward_model": {"ground_truth": "5"}})");
  }
  static Values columns(const std::string& question) {
    return {{"question_column", question}, {"reference_column", "reward_model.ground_truth"}};
  }
};

TEST_F(Conversations, AreTakenAsTheyAre) {
  const auto item = first(*open(file({"1 + 1?", "2", "2 + 3?", "5"}), columns("prompt")));
  EXPECT_EQ(item.prompt, "2 + 3?");
  EXPECT_EQ(item.earlier_turns, R"([{"role":"user","content":"1 + 1?"},{"role":"assistant","content":"2"}])");
  EXPECT_EQ(item.reference, "5");
  const auto with_system = first(*open(file({"Be brief.", "2 + 3?"}, "system"), columns("question|prompt")));
  EXPECT_EQ(with_system.prompt, "2 + 3?");
  EXPECT_EQ(with_system.earlier_turns, R"([{"role":"system","content":"Be brief."}])");
  EXPECT_EQ(first(*open(file({"2 + 3?"}), columns("prompt"))).earlier_turns, "");
  EXPECT_EQ(first(*open(file({"2 + 3?"}), columns("prompt.0.content"))).prompt, "2 + 3?");
}

TEST_F(Conversations, AnEarlierTurnIsNotTheQuestion) {
  const auto shots = file({"1 + 1?", "2", "2 + 3?"});
  const auto said = [&](const std::string& question) {
    auto values = columns("question");
    values["question_template"] = question;
    return error_of(shots, values);
  };
  const std::string refused = "take the conversation as it is: task.question_column = \"prompt\"";
  EXPECT_THAT(error_of(shots, columns("prompt.0.content")), HasSubstr(refused));
  EXPECT_THAT(error_of(shots, columns("question|prompt.1.content")), HasSubstr(refused));
  EXPECT_EQ(error_of(shots, columns("prompt.2.content")), "");
  EXPECT_THAT(said("Q: {prompt.0.content}"), HasSubstr(refused));
  EXPECT_THAT(said("Q: {prompt}"), HasSubstr("`prompt` is a list of messages, which task.question_column takes"));
  EXPECT_EQ(said("Q: {prompt.0.content} A: {prompt.1.content} Q: {prompt.2.content}"), "") << "all turns, as text";
  EXPECT_THAT(error_of(file({"Be brief.", "2 + 3?"}, "system"), columns("prompt.0.content")), HasSubstr(refused));
}

TEST_F(Conversations, SayWhatIsWrongWithThem) {
  const auto said = [&](const std::string& list) {
    return error_of(write("chat.jsonl", R"({"question": )" + list + R"(, "ground_truth_answer": "1"})"));
  };
  EXPECT_THAT(said(R"([{"role": "system", "content": "a"}])"), HasSubstr("`question` has no user turn"));
  EXPECT_THAT(said(R"([{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}])"),
              HasSubstr("message 2 of `question` has the role \"tool\""));
  EXPECT_THAT(said(R"([{"role": "user", "content": "a"}, {"role": "system", "content": "b"}])"),
              HasSubstr("message 2"));
  EXPECT_THAT(said(R"([{"role": "user", "content": ["a"]}])"), HasSubstr("has a content that is not a text"));
  EXPECT_THAT(said(R"([{"role": "user", "content": "a"}, "b"])"),
              HasSubstr("message 2 of `question` is not {\"role\""));
  EXPECT_THAT(said(R"([{"role": "user", "content": " "}])"), HasSubstr("`question` is empty"));
  EXPECT_THAT(said(R"([{"from": "human", "value": "a"}])"), HasSubstr("`question` is not a text"));
}

TEST_F(Dataset, ReferencesAreText) {
  const auto reference = [&](const std::string& json) {
    return first(*open(write("a.jsonl", R"({"question": "q", "ground_truth_answer": )" + json + "}"))).reference;
  };
  EXPECT_EQ(reference(R"("1,450,000")"), "1,450,000");
  EXPECT_EQ(reference("27"), "27");
  EXPECT_EQ(reference("-3.0"), "-3");
  EXPECT_EQ(reference("0.1"), "0.1");
  EXPECT_EQ(reference("true"), "true");
  EXPECT_EQ(reference("[3, 0.5]"), R"(["3","0.5"])") << "a list of numbers is not the interval [3, 0.5]";
  EXPECT_EQ(reference(R"(["3", "4"])"), R"(["3","4"])");
  EXPECT_EQ(reference(R"({"target": 23, "numbers": [30, 100, 93]})"), R"({"target":23,"numbers":[30,100,93]})");
}

TEST_F(Dataset, NumbersKeepTheirDigits) {
  const auto open_one = [&](const std::string& number, const Values& values = {}) {
    const auto file = write("a.jsonl", R"({"question": "q", "ground_truth_answer": )" + number + "}");
    return first(*open(file, values)).reference;
  };
  for (const char* written :
       {"0.00005", "-0.000001234", "123456789.12345678", "9007199254740993", "18446744073709551615"})
    EXPECT_EQ(open_one(written), written);
  for (const char* beyond_double :
       {"18446744073709551616", "-9223372036854775809", "12345678901234567890.5", "12345678901234567.0",
        "0.1234567890123456789", "1.00000000000000000001e-7", "1e-400"})
    EXPECT_EQ(open_one(beyond_double), beyond_double);
  EXPECT_EQ(open_one("5e-05"), "0.00005");
  EXPECT_EQ(open_one("1.0E2"), "100");
  EXPECT_EQ(open_one("0.50"), "0.5");
  EXPECT_EQ(open_one("0.10000000000000001"), "0.1") << "all digits of a double, as %.17g writes it";
  EXPECT_EQ(open_one("0.0e7"), "0");
  EXPECT_EQ(open_one("1e21"), "1e+21");
  EXPECT_EQ(open_one("1" + std::string(21, '0') + ".0"), "1e+21") << "the same number";
  const Values record = {{"reference", "record"}};
  EXPECT_EQ(open_one("0.5", record), R"({"question":"q","ground_truth_answer":0.5})");
  EXPECT_EQ(open_one("18446744073709551616", record),
            R"({"question":"q","ground_truth_answer":"18446744073709551616"})");
  EXPECT_EQ(open_one("{\"value\": [18446744073709551616]}", {{"reference_column", "ground_truth_answer.value.0"}}),
            "18446744073709551616");
}

TEST_F(Dataset, TheEntireRecordMayBeTheReference) {
  const std::string record =
      R"({"question":"q","test_list":["assert f(1) == 2"],"test_time_limit":1,"test_method":"function","extra":null})";
  const auto item = first(*open(write("code.jsonl", record), {{"reference", "record"}}));
  EXPECT_EQ(item.reference, record) << "fields that are not known are kept";
}

TEST_F(Dataset, AnswersAreFoundInSolutions) {
  const auto reference = [&](const std::string& solution, const Values& values) {
    return first(*open(write("a.jsonl", R"({"question": "q", "ground_truth_answer": ")" + solution + "\"}"), values))
        .reference;
  };
  EXPECT_EQ(reference("She has 9 * 2 = $<<9*2=18>>18.\\n#### 2,125 ", {{"answer_after", "####"}}), "2,125");
  const Values boxed = {{"answer_boxed", true}};
  EXPECT_EQ(reference("\\\\boxed{1} or \\\\boxed{\\\\frac{1}{2}}.", boxed), "\\frac{1}{2}");
  EXPECT_EQ(reference("\\\\fbox{ \\\\{1, 2\\\\} }", boxed), "\\{1, 2\\}");
  const auto file = write("b.jsonl", R"({"question": "q", "ground_truth_answer": "\\boxed{1"})");
  EXPECT_THAT(error_of(file, boxed), HasSubstr("`ground_truth_answer` has no answer in \\boxed{}"));
  EXPECT_THAT(error_of(file, {{"answer_after", "####"}}), HasSubstr("has nothing after `####`"));
}

TEST_F(Dataset, QuestionsAndPrefixesAreMadeOfColumns) {
  const auto file =
      write("mbpp.jsonl", R"({"text": "Add {x}.", "code": "import os\r\nR = 1\ndef add(a, b):\n  return a + b",)"
                          R"( "test_list": ["assert add(1, 2) == 3", "…"], "info": {"by": "us"}})");
  const Values values = {{"question_template", "{text}\nYour code should pass the test:\n{test_list.0}\n"},
                         {"prefix_template", "```python\n{code:signature}\n    {{\"{info.by}\"}}\n"},
                         {"reference", "record"}};
  const auto item = first(*open(file, values));
  EXPECT_EQ(item.prompt, "Add {x}.\nYour code should pass the test:\nassert add(1, 2) == 3\n");
  EXPECT_EQ(item.response_prefix, "```python\nimport os\r\nR = 1\ndef add(a, b):\n    {\"us\"}\n");
  EXPECT_THAT(error_of(file, {{"question_template", "{text} {test_list.2}"}}), HasSubstr("`test_list.2` is missing"));
  EXPECT_THAT(error_of(file, {{"question_template", "{text:signature}"}}), HasSubstr("no line that begins with `def`"));
  EXPECT_THAT(error_of(file, {{"question_template", "{text"}}), HasSubstr("`question_template` has a single brace"));
  EXPECT_THAT(error_of(file, {{"prefix_template", "{text:upper}"}}), HasSubstr("has a place {text:upper}"));
}

TEST_F(Dataset, ATypeSaysWhatARecordNeeds) {
  const auto error = [&](const std::string& fields, const std::string& type = "") {
    return error_of(write("a.jsonl", R"({"question": "q", )" + fields + "}"),
                    {{"reference", "record"}, {"data_type", type}});
  };
  EXPECT_EQ(error(R"("test_list": ["assert True"], "test_time_limit": 1, "test_method": "function")", "code_function"),
            "");
  EXPECT_THAT(error(R"("test_list": [])", "code_function"), HasSubstr("`test_list` is not a list"));
  EXPECT_THAT(error(R"("test_list": [" "])", "code_function"), HasSubstr("a text of `test_list` is empty"));
  EXPECT_THAT(error(R"("test_list": ["x"], "test_time_limit": 0)", "code_function"), HasSubstr("`test_time_limit`"));
  EXPECT_THAT(error(R"("test_list": ["x"], "test_method": "stdio")", "code_function"),
              HasSubstr(R"(`test_method` is "stdio", not "function")"));
  EXPECT_EQ(error(R"("test_input": ["1"], "test_output": ["2"])", "code_stdio"), "");
  EXPECT_THAT(error(R"("test_input": ["1"], "test_output": ["2", "3"])", "code_stdio"),
              HasSubstr("`test_input` has 1 texts, `test_output` 2"));
  EXPECT_EQ(error(R"("ground_truth_answer": {"target": 23, "numbers": [30, 100, 93]})", "countdown"), "");
  EXPECT_THAT(error(R"("ground_truth_answer": "23")", "countdown"), HasSubstr("the truth is not {\"target\": 23"));
  EXPECT_THAT(error(R"("data_type": "code_function", "ground_truth_answer": "2")"), HasSubstr("`test_list`"))
      << "a record may say it itself";
  EXPECT_EQ(error(R"("data_type": "of another program", "ground_truth_answer": "2")"), "");
}

}  // namespace drift::dataset_task_test
