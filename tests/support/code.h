#pragma once

// Responses of Python code and the items that judge them.

#include <drift/reward.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

#include "sandbox.h"
#include "tests/support/plugins.h"

namespace drift::test {

using ParamValues = std::map<std::string, Parameter::Value>;

/// Empty if programs can be kept in a sandbox; else why not.
inline std::string missing_sandbox() {
  static const auto here = code::probe_sandbox();
  return here.works ? "" : here.why;
}

/// A test that is skipped where programs cannot be kept in a sandbox.
template <class Test = testing::Test>
class NeedsSandbox : public Test {
 protected:
  void SetUp() override {
    if (!missing_sandbox().empty()) GTEST_SKIP() << missing_sandbox();
  }
};

/// The reward of the plugin with all parameters as they are, made once.
inline const Reward& shared_code_reward() {
  static const auto reward = create<Reward>("code", "code");
  return *reward;
}

inline TaskItem code_item(const nlohmann::json& reference, const std::string& response_prefix = "") {
  TaskItem item;
  item.id = "sample";
  item.reference = reference.dump();
  item.response_prefix = response_prefix;
  return item;
}

inline std::string in_block(const std::string& code) { return "Here it is:\n```python\n" + code + "\n```\n"; }

inline RewardResult judge_response(const std::string& response, const TaskItem& item,
                                   const Reward& reward = shared_code_reward()) {
  RewardResult result;
  result.reason = "left over";
  reward.score({response, &item}, result);
  return result;
}

/// `code` against a list of asserts.
inline RewardResult judge_code(const std::string& code, const std::vector<std::string>& asserts,
                               const Reward& reward = shared_code_reward()) {
  return judge_response(in_block(code), code_item({{"test_list", asserts}}), reward);
}

/// Solved is what has the value 1; the reason begins like this.
inline void expect(const RewardResult& result, double value, RewardStatus status, const std::string& reason) {
  EXPECT_DOUBLE_EQ(result.value, value) << result.reason;
  EXPECT_EQ(result.solved, value == 1) << result.reason;
  EXPECT_EQ(result.status, status) << result.reason;
  EXPECT_THAT(result.reason, testing::StartsWith(reason));
}

}  // namespace drift::test
