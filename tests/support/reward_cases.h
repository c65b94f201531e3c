#pragma once

#include <core/text/utf8.h>

#include <drift/random.h>
#include <drift/reward.h>

#include <thread>

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

/// Nothing that a model can write breaks the judge, every reason is one printable line, and threads agree. Responses
/// are bytes, any of the words, or any of the first `plain`; at most `longest` of them.
/// @return the reasons
inline std::vector<std::string> judge_any_bytes(const Reward& reward, const TaskItem& item,
                                                const std::vector<std::string>& words, std::int64_t plain,
                                                std::int64_t longest) {
  const RandomStream random(7, "bytes");
  const auto judge_all = [&](std::vector<std::string>& reasons) {
    for (std::int64_t i = 0; i < 5000; ++i) {
      std::string response;
      const std::int64_t length = random.below(longest, {.step = i});
      for (std::int64_t j = 1; j <= length; ++j) {
        const RandomPoint point{.step = i, .position = j};
        const auto count = i % 4 == 1 ? plain : static_cast<std::int64_t>(words.size());
        response += i % 4 == 0 ? std::string(1, static_cast<char>(random.below(256, point)))
                               : words[static_cast<std::size_t>(random.below(count, point))];
      }
      RewardResult result;
      reward.score({response, &item}, result);
      EXPECT_TRUE(result.value >= 0 && result.value <= 1);
      reasons.push_back(result.reason);
    }
  };
  std::vector<std::string> alone;
  judge_all(alone);
  for (const std::string& reason : alone) {
    EXPECT_EQ(valid_utf8(reason), reason);
    EXPECT_THAT(reason, testing::Not(testing::HasSubstr("\n")));
    EXPECT_NE(reason, "");
  }
  std::vector<std::vector<std::string>> together(3);
  std::vector<std::thread> threads;
  for (auto& reasons : together) threads.emplace_back([&] { judge_all(reasons); });
  for (auto& thread : threads) thread.join();
  for (const auto& reasons : together) EXPECT_EQ(reasons, alone);
  return alone;
}

}  // namespace drift::test
