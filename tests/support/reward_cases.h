#pragma once

#include <drift/reward.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "tests/support/plugins.h"
#include "tests/support/support.h"

namespace drift::test {

/// Judges what tests/unit/NAME_reward.jsonl holds: a line {"group": …, "reward": parameters, "reference": …}, where not
/// given those of the reward and of `usual`, then lines [response, value, status, part of the reason].
inline void check_reward_cases(const std::string& name, const TaskItem& usual) {
  static const std::map<std::string, RewardStatus> kStatuses = {{"ok", RewardStatus::kOk},
                                                                {"wrong", RewardStatus::kWrong},
                                                                {"parse_error", RewardStatus::kParseError},
                                                                {"no_answer", RewardStatus::kNoAnswer}};
  std::istringstream lines(read_file(source_dir() / "tests/unit" / (name + "_reward.jsonl")));
  std::unique_ptr<Reward> reward;
  TaskItem item;
  std::string group;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const auto json = nlohmann::json::parse(line);
    if (json.is_object()) {
      std::map<std::string, Parameter::Value> values;
      const auto parameters = json.value("reward", nlohmann::json::object());
      for (const auto& [key, value] : parameters.items()) values[key] = value.get<std::string>();
      reward = create<Reward>(name, name, values);
      item = usual;
      if (json.contains("reference")) item.reference = json["reference"].dump();
      group = json.at("group");
      continue;
    }
    SCOPED_TRACE(group + ": " + line);
    const std::string response = json.at(0);
    const RewardStatus status = kStatuses.at(json.at(2));
    RewardResult result;
    result.reason = "left over from the response before";
    reward->score({response, &item}, result);
    EXPECT_DOUBLE_EQ(result.value, json.at(1).get<double>()) << result.reason;
    EXPECT_EQ(result.solved, status == RewardStatus::kOk) << result.reason;
    EXPECT_EQ(result.status, status) << result.reason;
    EXPECT_THAT(result.reason, testing::HasSubstr(json.at(3).get<std::string>()));
  }
}

}  // namespace drift::test
