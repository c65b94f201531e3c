// The small models under assets/: bases that solve some of their task's held-out items and leave room to learn.

#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/support.h"

namespace drift {
namespace {

test::CommandResult drift(const std::string& arguments) {
  return test::run_command(test::program().string() + " " + arguments);
}

std::string source(const std::string& path) { return (test::source_dir() / path).string(); }

struct Shipped {
  std::string model;
  std::string task;
};

class ShippedModel : public testing::TestWithParam<Shipped> {};

TEST_P(ShippedModel, SolvesSomeHeldOutItems) {
  const auto result = drift("eval " + source("assets/" + GetParam().model) + " --config " +
                            source("configs/tasks/" + GetParam().task + ".toml") + " --set evaluation.items=200");
  ASSERT_EQ(result.status, 0) << result.error;
  const auto at = result.output.find("solved");
  ASSERT_NE(at, std::string::npos) << result.output;
  const double solved = std::strtod(result.output.c_str() + at + std::string("solved").size(), nullptr);
  EXPECT_GT(solved, 15) << result.output;
  EXPECT_LT(solved, 50) << result.output;
}

INSTANTIATE_TEST_SUITE_P(All, ShippedModel,
                         testing::Values(Shipped{"sudoku-llada", "sudoku"}, Shipped{"sudoku-dream", "sudoku"},
                                         Shipped{"countdown-llada", "countdown"},
                                         Shipped{"countdown-dream", "countdown"}),
                         [](const auto& each) {
                           std::string name = each.param.model;
                           name[name.find('-')] = '_';
                           return name;
                         });

// An answer's length varies: the end token comes once, after it there is padding, which is another token.
TEST(ShippedCountdownModels, EndTheirAnswersBeforeThePadding) {
  for (const std::string model : {"countdown-llada", "countdown-dream"}) {
    const std::string folder = source("assets/" + model);
    const auto config = nlohmann::json::parse(test::read_file(folder + "/config.json"));
    const auto end = config.at("eos_token_id").get<std::int64_t>(), pad = config.at("pad_token_id").get<std::int64_t>();
    ASSERT_NE(end, pad);
    const auto result = drift("generate " + folder + " --config " + source("configs/tasks/countdown.toml") +
                              " --set rollout.temperature=0 --json --prompt '<|startoftext|>9,5,2=16<|sep|>'");
    ASSERT_EQ(result.status, 0) << result.error;
    const auto answer = nlohmann::json::parse(result.output);
    const auto ids = answer.at("token_ids").get<std::vector<std::int64_t>>();
    const auto length = answer.at("text").get<std::string>().size();
    ASSERT_GT(length, 0u);
    ASSERT_EQ(ids.size(), 12u);
    for (std::size_t i = length; i < ids.size(); ++i) EXPECT_EQ(ids[i], i == length ? end : pad) << answer;
  }
}

}  // namespace
}  // namespace drift
