// The truths of the published data sets: each equals itself however it is spelled, and nothing that is a little
// different.

#include "comparison.h"
#include "files.h"
#include "spellings.h"

#include <gmock/gmock.h>
#include <math_answers.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace math_answers::math_truths_test {
namespace {

using testing::IsEmpty;
using Strings = std::vector<std::string>;

std::string some_of(const Strings& failures) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(failures.size(), 20); ++i) text += "\n  " + failures[i];
  return text;
}

class Truths : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto file = test::data_file(GetParam() + ".json");
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
    for (const auto& record : nlohmann::json::parse(test::read_file(file))) {
      const auto truth = record.at("ground_truth_answer").get<std::string>();
      if (!truth.empty()) truths_.insert(truth);
    }
    ASSERT_GT(truths_.size(), 200u);
  }

  static Verdict judged(const std::string& answer, const std::string& truth) {
    return judge("So we have found it: \\boxed{" + answer + "}", truth);
  }

  std::set<std::string> truths_;
};

TEST_P(Truths, AreRead) {
  Strings unread;
  for (const std::string& truth : truths_) {
    if (!compare_answers(truth, truth).truth_parsed) unread.push_back(truth);
  }
  EXPECT_THAT(unread, IsEmpty());
}

TEST_P(Truths, EqualThemselvesInEverySpelling) {
  Strings refused;
  std::size_t count = 0;
  for (const std::string& truth : truths_) {
    for (const std::string& spelling : test::spellings_of(truth).equal) {
      ++count;
      const Verdict verdict = judged(spelling, truth);
      if (!verdict.equal()) refused.push_back(spelling + "   for   " + truth + "   : " + verdict.reason);
    }
  }
  EXPECT_TRUE(refused.empty()) << refused.size() << " of " << count << some_of(refused);
  RecordProperty("spellings", static_cast<int>(count));
}

TEST_P(Truths, DoNotEqualWhatIsALittleDifferent) {
  Strings accepted;
  std::size_t count = 0;
  for (const std::string& truth : truths_) {
    for (const std::string& other : test::spellings_of(truth).unequal) {
      ++count;
      if (judged(other, truth).equal()) accepted.push_back(other + "   for   " + truth);
    }
  }
  EXPECT_TRUE(accepted.empty()) << accepted.size() << " of " << count << some_of(accepted);
  RecordProperty("changes", static_cast<int>(count));
}

INSTANTIATE_TEST_SUITE_P(Files, Truths, testing::Values("MATH500", "MATH_train", "MATH_rldf", "gsm8k_test"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace math_answers::math_truths_test
