// The responses that an evaluation keeps: what a line holds, and what is left of a file whose writer was killed.

#include <core/eval/record_file.h>

#include <drift/error.h>

#include <tests/support/support.h>

namespace drift::response_record_test {

using namespace testing;

ResponseRecord sample_record(const std::string& id) {
  ResponseRecord record;
  record.id = id;
  record.task = "sums";
  record.length = 20;
  record.schedule = "dynamic";
  record.question = "1 + 1 = ?\n\"über\"";
  record.prefix = "= ";
  record.prompt_checksum = "0123456789abcdef";
  record.reference = R"({"sum": 2})";
  record.response = "two";
  record.token_ids = {5, 6};
  record.forwards = 3;
  record.truncated = true;
  record.value = 1.0 / 3;
  record.status = RewardStatus::kParseError;
  record.reason = "no number in `two`";
  record.seconds = 0.125;
  return record;
}

TEST(ResponseRecords, AreWhatTheyWereAfterwards) {
  ResponseRecord record = sample_record("a");
  record.rewards["sum"] = {0.5, true, RewardStatus::kOk, "right"};
  record.rewards["format"] = {0, false, RewardStatus::kInfrastructure, "no sandbox"};
  const std::string line = to_json_line(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const ResponseRecord back = parse_record(line, "here");
  EXPECT_EQ(to_json_line(back), line);
  EXPECT_EQ(back.value, record.value);
  EXPECT_EQ(back.status, RewardStatus::kParseError);
  EXPECT_EQ(back.rewards.at("format").status, RewardStatus::kInfrastructure);
}

// `drift reward --in` reads these names.
TEST(ResponseRecords, HoldWhatARewardNeeds) {
  const auto json = nlohmann::json::parse(to_json_line(sample_record("a")));
  EXPECT_EQ(json.at("response"), "two");
  EXPECT_EQ(json.at("reference"), R"({"sum": 2})");
  EXPECT_EQ(json.at("question"), "1 + 1 = ?\n\"über\"");
  EXPECT_EQ(json.at("prefix"), "= ");
  EXPECT_EQ(json.at("truncated"), true);
  EXPECT_EQ(json.at("tokens"), 2);
  EXPECT_EQ(json.at("status"), "parse error");
}

class Records : public testing::Test {
 protected:
  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    const RecordFile records(file());
    for (const ResponseRecord& record : records.records()) ids.push_back(record.id);
    return ids;
  }
  std::filesystem::path file() const { return folder_.path() / "cell.jsonl"; }

  test::TemporaryFolder folder_;
};

TEST_F(Records, AreAppendedAndReadAgain) {
  RecordFile records(file());
  EXPECT_TRUE(records.records().empty());
  records.append({sample_record("a"), sample_record("b")});
  records.append({sample_record("c")});
  EXPECT_THAT(ids(), ElementsAre("a", "b", "c"));
}

TEST_F(Records, AHalfWrittenLastLineIsDropped) {
  RecordFile(file()).append({sample_record("a"), sample_record("b")});
  const std::string whole = test::read_file(file());
  const std::string first = whole.substr(0, whole.find('\n') + 1);
  for (const std::size_t cut : {first.size(), first.size() + 1, whole.size() - 20, whole.size() - 1}) {
    test::write_file(file(), whole.substr(0, cut));
    EXPECT_THAT(ids(), ElementsAre("a")) << cut;
    RecordFile(file()).append({sample_record("b")});
    EXPECT_EQ(test::read_file(file()), whole) << cut;
  }
}

TEST_F(Records, AnotherBrokenLineIsAnErrorThatNamesIt) {
  RecordFile(file()).append({sample_record("a"), sample_record("b")});
  std::string content = test::read_file(file());
  content.insert(content.find('\n') + 1, "{\"id\": 1}\n");
  test::write_file(file(), content);
  EXPECT_THAT(test::what_of([&] { RecordFile broken(file()); }),
              AllOf(HasSubstr("cell.jsonl:2"), HasSubstr("not a record of a response")));
}

TEST_F(Records, CanBeReplacedTogether) {
  RecordFile records(file());
  records.append({sample_record("a"), sample_record("b")});
  records.replace({sample_record("c")});
  records.append({sample_record("d")});
  EXPECT_THAT(ids(), ElementsAre("c", "d"));
}

}  // namespace drift::response_record_test
