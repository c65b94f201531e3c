// The small models under assets/: bases that solve a known share of their task's held-out items and leave room to
// learn.

#include <tests/support/program.h>

namespace drift::shipped_models_test {

using namespace test;
using namespace testing;

CommandResult drift(const std::string& arguments) { return run_command(program().string() + " " + arguments); }

/// Percent of the held-out items that greedy decoding solved when the model was shipped, and the forwards that a
/// response took. README.md and docs/paper.md begin at the first one.
struct Shipped {
  std::string model;
  std::string task;
  int items;
  double solved;
  double forwards;
  std::string options = {};
};

class ShippedModel : public TestWithParam<Shipped> {};

double number_behind(const std::string& word, const std::string& text) {
  const auto at = text.find(word);
  return at == std::string::npos ? std::nan("") : std::strtod(text.c_str() + at + word.size(), nullptr);
}

// Another processor adds in another order, and a token that is as likely as the next may become that one: six items may
// come out otherwise. Another model, prompt, rollout or set of items is much further off.
TEST_P(ShippedModel, SolvesTheKnownShareOfTheHeldOutItems) {
  const auto result = drift("eval " + source("assets/" + GetParam().model) + " --config " +
                            source("configs/tasks/" + GetParam().task + ".toml") +
                            " --set evaluation.items=" + std::to_string(GetParam().items) + GetParam().options);
  ASSERT_THAT(result, prints());
  EXPECT_EQ(number_behind("held-out items", result.output), GetParam().items) << result.output;
  EXPECT_NEAR(number_behind("solved", result.output), GetParam().solved, 100.0 * 6 / GetParam().items) << result.output;
  EXPECT_NEAR(number_behind("forwards / response", result.output), GetParam().forwards, 0.02 * GetParam().forwards)
      << result.output;
}

INSTANTIATE_TEST_SUITE_P(All, ShippedModel,
                         Values(Shipped{"sudoku-llada", "sudoku", 400, 28.5, 6.76},
                                Shipped{"sudoku-dream", "sudoku", 400, 27.8, 8.58},
                                Shipped{"sudoku-sdar", "sudoku", 400, 30.8, 14.61, " --set rollout.block=4"},
                                Shipped{"countdown-llada", "countdown", 400, 22.0, 3.34},
                                Shipped{"countdown-dream", "countdown", 400, 22.0, 3.35},
                                Shipped{"word-problems-llada", "word-problems", 100, 40.0, 23.97}),
                         [](const auto& each) {
                           std::string name = each.param.model;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// An answer's length varies: the end token comes once, after it there is padding, which is another token.
TEST(ShippedCountdownModels, EndTheirAnswersBeforeThePadding) {
  for (const std::string model : {"countdown-llada", "countdown-dream"}) {
    const std::string folder = source("assets/" + model);
    const auto config = nlohmann::json::parse(read_file(folder + "/config.json"));
    const auto end = config.at("eos_token_id").get<std::int64_t>(), pad = config.at("pad_token_id").get<std::int64_t>();
    ASSERT_NE(end, pad);
    const auto answer =
        printed_json(drift("generate " + folder + " --config " + source("configs/tasks/countdown.toml") +
                           " --set rollout.temperature=0 --json --prompt '<|startoftext|>9,5,2=16<|sep|>'"));
    const auto ids = answer.at("token_ids").get<std::vector<std::int64_t>>();
    const auto length = answer.at("text").get<std::string>().size();
    ASSERT_GT(length, 0u);
    ASSERT_EQ(ids.size(), 12u);
    for (std::size_t i = length; i < ids.size(); ++i) EXPECT_EQ(ids[i], i == length ? end : pad) << answer;
  }
}

}  // namespace drift::shipped_models_test
