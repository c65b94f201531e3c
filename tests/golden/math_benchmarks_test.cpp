// The truths of the published data sets: each equals itself however it is spelled, and nothing that is a little
// different.

#include <gmock/gmock.h>
#include <reward.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>

#include "tests/support/math_spellings.h"
#include "tests/support/support.h"

namespace drift {
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
    const std::string file = GetParam() + ".json";
    if (const auto missing = test::missing_data({file}); !missing.empty()) GTEST_SKIP() << missing;
    for (const auto& record : nlohmann::json::parse(test::read_file(test::data_file(file)))) {
      const auto truth = record.at("ground_truth_answer").get<std::string>();
      if (!truth.empty()) truths_.insert(truth);
    }
    ASSERT_GT(truths_.size(), 200u);
  }

  RewardResult judge(const std::string& answer, const std::string& truth) const {
    TaskItem item;
    item.reference = nlohmann::json{{"ground_truth_answer", truth}}.dump();
    RewardResult result;
    const std::string response = "So we have found it: \\boxed{" + answer + "}";
    reward_.score({response, &item}, result);
    return result;
  }

  std::set<std::string> truths_;
  math_reward::MathReward reward_{Params(math_reward::MathReward::parameters())};
};

TEST_P(Truths, AreRead) {
  Strings unread;
  for (const std::string& truth : truths_) {
    if (!math_reward::compare_answers(truth, truth).truth_parsed) unread.push_back(truth);
  }
  EXPECT_THAT(unread, IsEmpty());
}

TEST_P(Truths, EqualThemselvesInEverySpelling) {
  Strings refused;
  std::size_t count = 0;
  for (const std::string& truth : truths_) {
    for (const std::string& spelling : test::spellings_of(truth).equal) {
      ++count;
      const RewardResult result = judge(spelling, truth);
      if (!result.solved) refused.push_back(spelling + "   for   " + truth + "   : " + result.reason);
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
      if (judge(other, truth).solved) accepted.push_back(other + "   for   " + truth);
    }
  }
  EXPECT_TRUE(accepted.empty()) << accepted.size() << " of " << count << some_of(accepted);
  RecordProperty("changes", static_cast<int>(count));
}

INSTANTIATE_TEST_SUITE_P(Files, Truths, testing::Values("MATH500", "MATH_train", "MATH_rldf", "gsm8k_test"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace drift
