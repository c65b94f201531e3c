// Task `dataset`: Parquet files, where Drift was built with Arrow C++.

#include <drift/error.h>
#include <drift/task.h>

#include "tests/support/dataset_files.h"
#include "tests/support/support.h"

namespace drift::dataset_parquet_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;
using Files = std::vector<std::string>;

std::string file_of_tests(const std::string& name) { return (test::source_dir() / "tests/unit" / name).string(); }
std::string fixture() { return file_of_tests("dataset_fixture.parquet"); }

std::unique_ptr<test::DatasetTask> open(Values values, const std::string& file = fixture()) {
  values.emplace("training_files", Files{file});
  return test::open_dataset(values);
}

/// What is said against the file; "" if nothing.
std::string error_of(const Values& values, const std::string& file = fixture()) {
  return test::error_of([&] { open(values, file); });
}

class Parquet : public testing::Test {
 protected:
  void SetUp() override {
    const std::string error = error_of({});
    if (error.find("built without Parquet") != std::string::npos) GTEST_SKIP() << error;
  }

  static TaskItem item(const test::DatasetTask& task, std::int64_t index) {
    TaskItem read;
    task.listed_item(index, read);
    return read;
  }
};

// What a build without Arrow says, and one with it never does.
TEST(ParquetOrNot, AnErrorSaysWhatToDo) {
  EXPECT_THAT(error_of({}), AnyOf(HasSubstr("this Drift was built without Parquet (run scripts/setup"),
                                  HasSubstr("one of the file's columns: `task_id`")));
}

TEST_F(Parquet, RowsAreRecords) {
  const auto task = open({{"question_column", "code"}, {"reference_column", "task_id"}, {"id_column", "task_id"}});
  ASSERT_EQ(task->training_size(), 5) << "of three row groups";
  EXPECT_EQ(item(*task, 0).id, "11");
  EXPECT_EQ(item(*task, 4).id, "15");
  EXPECT_EQ(item(*task, 4).prompt, "import os\ndef f4(a):\n    return a");
  EXPECT_EQ(item(*open({{"question_column", "code"}, {"reference_column", "task_id"}}), 4).id,
            "dataset_fixture.parquet:5");
}

TEST_F(Parquet, ColumnsBecomeJson) {
  const auto record = [](std::int64_t index) {
    return item(*open({{"question_column", "code"}, {"reference", "record"}}), index).reference;
  };
  EXPECT_EQ(
      record(0),
      R"({"task_id":11,"text":"Add.","code":"import os\ndef f0(a):\n    return a",)"
      R"("test_list":["assert f0(1) == 1","assert f0(2) == 2"],"answer":27.0,"half":0.5,)"
      R"("odd":5e-05,"single":0.1,"huge":18446744073709551615,"level":"easy","info":{"numbers":[30,100,93],"target":23},"solved":true,"day":"2024-02-29"})");
  EXPECT_EQ(
      record(3),
      R"({"task_id":14,"text":null,"code":"import os\ndef f3(a):\n    return a","test_list":null,)"
      R"("answer":null,"half":3.5,"odd":null,"single":null,"huge":0,"level":null,"info":{"numbers":null,"target":1099511627776},)"
      R"("solved":true,"day":"2024-02-29"})");
}

TEST_F(Parquet, HasTheSameColumnMap) {
  const auto task = open({{"question_template", "{text|code}\n{test_list.0|task_id}\n"},
                          {"prefix_template", "{code:signature}\n"},
                          {"reference_column", "answer|info.target"}});
  EXPECT_EQ(item(*task, 0).prompt, "Add.\nassert f0(1) == 1\n");
  EXPECT_EQ(item(*task, 1).prompt, "\u03C0 \u00D7 2\nlines\nassert True\n");
  EXPECT_EQ(item(*task, 0).response_prefix, "import os\ndef f0(a):\n");
  EXPECT_EQ(item(*task, 0).reference, "27");
  EXPECT_EQ(item(*task, 3).reference, "1099511627776") << "if the first column is null";
}

TEST_F(Parquet, NumbersKeepTheirDigitsAndWhatIsNoneIsMissing) {
  const auto of_column = [](const char* column) {
    const auto task = open({{"question_column", "code"}, {"reference_column", column}, {"skip_bad", true}});
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < task->training_size(); ++i) all.push_back(item(*task, i).reference);
    return all;
  };
  EXPECT_THAT(of_column("odd"), ElementsAre("0.00005", "1e+21"));
  EXPECT_THAT(of_column("single"), ElementsAre("0.1", "0.00005", "10000000000", "16777216"));
  EXPECT_THAT(of_column("huge"), ElementsAre("18446744073709551615", "9223372036854775808", "1", "0"));
  EXPECT_THAT(of_column("odd|task_id"), ElementsAre("0.00005", "12", "13", "14", "1e+21"));
  EXPECT_THAT(error_of({{"question_column", "code"}, {"reference_column", "odd"}}),
              HasSubstr("3 bad records:\n  dataset_fixture.parquet record 2: `odd` is missing"));
}

TEST_F(Parquet, BadRecordsAndFilesAreReported) {
  const std::string error = error_of({{"question_column", "text"}, {"reference_column", "answer"}});
  EXPECT_THAT(error, HasSubstr("2 bad records:\n  dataset_fixture.parquet record 3: `text` is empty\n"
                               "  dataset_fixture.parquet record 4: `text` is missing"));
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& content) {
    test::write_file(folder.path() / name, content);
    return (folder.path() / name).string();
  };
  const std::string whole = test::read_file(fixture());
  for (const std::string& content : {std::string(), std::string("[]"), whole.substr(0, whole.size() / 2),
                                     whole.substr(0, 4) + std::string(200, '\xFF') + whole.substr(204)}) {
    EXPECT_THAT(error_of({{"reference", "record"}}, write("broken.parquet", content)),
                HasSubstr("broken.parquet cannot be read as Parquet: "));
  }
  EXPECT_THAT(error_of({}, (folder.path() / "missing.parquet").string()), HasSubstr("missing.parquet"));
}

// A few kilobytes that hold many megabytes.
class DenseParquet : public Parquet {
 protected:
  static Values values(std::int64_t mib, const std::string& question, const std::string& answer = "answer") {
    return {{"question_column", question}, {"reference_column", answer}, {"parquet_mib", mib}};
  }
  static std::string error(std::int64_t mib, const std::string& question, const std::string& answer = "answer") {
    return error_of(values(mib, question, answer), file_of_tests("dataset_dense.parquet"));
  }
};

TEST_F(DenseParquet, OfColumnsThatAreNotInUseNothingIsRead) {
  const auto task = open(values(1, "question"), file_of_tests("dataset_dense.parquet"));
  EXPECT_EQ(task->training_size(), 4) << "some have columns that are no text";
  EXPECT_EQ(item(*task, 3).reference, "4");
}

TEST_F(DenseParquet, MoreThanAFileMayTakeIsAnErrorThatNamesTheKey) {
  const char* const says =
      "dataset_dense.parquet takes more than 8 MiB decompressed; if it is to be trusted, raise "
      "task.parquet_mib";
  EXPECT_THAT(error(8, "page"), HasSubstr(says)) << "one page";
  EXPECT_THAT(error(8, "question", "page"), HasSubstr(says));
  EXPECT_THAT(error(8, "repeated"), HasSubstr(says)) << "equal values, stored once";
  EXPECT_THAT(error(20, "repeated"), HasSubstr("more than 20 MiB")) << "all of them together";
  EXPECT_THAT(error(64, "question", "zeros"), HasSubstr("more than 64 MiB")) << "a list, by what it is as JSON";
  EXPECT_THAT(error_of({{"reference_column", "question"}, {"parquet_mib", 64}}, file_of_tests("dataset_rows.parquet")),
              HasSubstr("more than 64 MiB"))
      << "short rows, many";
  EXPECT_EQ(error(128, "page"), "");
  EXPECT_EQ(error(128, "repeated"), "");
}

TEST_F(DenseParquet, TheBoundIsAPositiveNumber) {
  EXPECT_THROW(open(values(0, "question")), Error);
  EXPECT_THROW(open(values(std::int64_t{1} << 50, "question")), Error);
}

TEST_F(DenseParquet, WhatIsNoTextIsABadRecordOnlyWhereItIsAskedFor) {
  EXPECT_THAT(error(64, "picture"),
              HasSubstr("3 bad records:\n  dataset_dense.parquet record 1: a text is not valid UTF-8\n"
                        "  dataset_dense.parquet record 3: `picture` is missing, which task.question_column names\n"
                        "  dataset_dense.parquet record 4: a text is not valid UTF-8"));
  EXPECT_THAT(error(64, "question", "image.bytes"), HasSubstr("4 bad records:"));
  Values whole = values(1024, "question");
  whole["reference"] = "record";
  const auto task = open(whole, file_of_tests("dataset_dense.parquet"));
  const std::string record = item(*task, 1).reference;
  EXPECT_THAT(record, HasSubstr(R"({"question":"b","answer":"2","picture":"fine","image":null,"page":"x",)"));
  EXPECT_THAT(item(*task, 3).reference, HasSubstr(R"("answer":"4","picture":null,"image":null)"));
}

}  // namespace drift::dataset_parquet_test
