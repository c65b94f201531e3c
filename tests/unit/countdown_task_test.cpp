// Task `countdown`: where the puzzles come from.

#include <core/text/tokenizer.h>
#include <drift/error.h>
#include <drift/reward.h>
#include <drift/task.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/plugins.h"
#include "tests/support/support.h"

namespace drift {
namespace {

using testing::HasSubstr;
using Values = std::map<std::string, ParamValue>;

// Puzzles for small models; a demonstration is a solution.
Values small_and_correct() {
  return {{"number_high", std::int64_t{20}},
          {"target_high", std::int64_t{50}},
          {"correct_sums", 1.0},
          {"correct_products", 1.0}};
}

Values with(Values values, const std::string& name, const ParamValue& value) {
  values[name] = value;
  return values;
}

std::unique_ptr<Task> make_task(const Values& values = {}) {
  return test::create<Task>("countdown", "countdown", values);
}

std::vector<TaskItem> training_items(const Task& task, std::int64_t count, std::uint64_t seed = 1) {
  const RandomStream random(seed, "items");
  std::vector<TaskItem> items(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) task.training_item(i, random, items[static_cast<std::size_t>(i)]);
  return items;
}

std::vector<TaskItem> held_out_items(const Task& task) {
  std::vector<TaskItem> items(static_cast<std::size_t>(task.held_out_size()));
  for (std::int64_t i = 0; i < task.held_out_size(); ++i) task.held_out_item(i, items[static_cast<std::size_t>(i)]);
  return items;
}

struct Puzzle {
  std::vector<std::int64_t> numbers;
  std::int64_t target = 0;

  explicit Puzzle(const TaskItem& item) {
    const auto reference = nlohmann::json::parse(item.reference);
    numbers = reference["numbers"].get<std::vector<std::int64_t>>();
    target = reference["target"];
  }
  std::pair<std::vector<std::int64_t>, std::int64_t> without_order() const {
    auto sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    return {sorted, target};
  }
};

std::string joined(const std::vector<std::int64_t>& numbers, const std::string& separator) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : separator) + std::to_string(number);
  return text;
}

std::string error_of(const Values& values) {
  try {
    make_task(values);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(CountdownTask, AnItemIsNumbersAndATargetBetweenTwoSpecialTokens) {
  TaskItem item;
  make_task()->held_out_item(0, item);
  const Puzzle puzzle(item);
  EXPECT_EQ(puzzle.numbers.size(), 3u);
  EXPECT_EQ(item.id, joined(puzzle.numbers, ",") + "=" + std::to_string(puzzle.target));
  EXPECT_EQ(item.prompt, "<|startoftext|>" + item.id + "<|sep|>");
  EXPECT_EQ(item.demonstration, "") << "nobody may imitate an answer to a held-out puzzle";
}

TEST(CountdownTask, EveryPuzzleHasASolutionByTheStrictestRules) {
  const auto reward =
      test::create<Reward>("countdown", "countdown", {{"use", "exactly_once"}, {"intermediates", "positive_integer"}});
  for (const std::int64_t count : {2, 3, 4}) {
    auto values = with(small_and_correct(), "count", count);
    values["held_out_size"] = std::int64_t{50};
    for (TaskItem item : training_items(*make_task(values), 300)) {
      RewardResult result;
      reward->score({item.demonstration, &item}, result);
      EXPECT_TRUE(result.solved) << item.id << ": " << item.demonstration << ": " << result.reason;
    }
  }
}

TEST(CountdownTask, NumbersAndTargetsKeepTheirRanges) {
  const auto task = make_task({{"number_low", std::int64_t{3}},
                               {"number_high", std::int64_t{9}},
                               {"target_low", std::int64_t{20}},
                               {"target_high", std::int64_t{40}},
                               {"held_out_size", std::int64_t{20}}});
  std::set<std::int64_t> numbers, targets;
  for (const TaskItem& item : training_items(*task, 2000)) {
    const Puzzle puzzle(item);
    numbers.insert(puzzle.numbers.begin(), puzzle.numbers.end());
    targets.insert(puzzle.target);
  }
  EXPECT_EQ(*numbers.begin(), 3);
  EXPECT_EQ(*numbers.rbegin(), 9);
  EXPECT_EQ(*targets.begin(), 20);
  EXPECT_EQ(*targets.rbegin(), 40);
}

TEST(CountdownTask, SortedNumbersComeFromTheLargestDown) {
  for (const TaskItem& item : training_items(*make_task(with(small_and_correct(), "sorted", true)), 200)) {
    const Puzzle puzzle(item);
    EXPECT_TRUE(std::is_sorted(puzzle.numbers.rbegin(), puzzle.numbers.rend())) << item.id;
  }
}

TEST(CountdownTask, SolutionsAreWrittenInTheSimplestWay) {
  std::map<std::string, std::string> seen;
  const auto task = make_task({{"number_high", std::int64_t{6}},
                               {"target_high", std::int64_t{40}},
                               {"held_out_size", std::int64_t{20}},
                               {"correct_sums", 1.0},
                               {"correct_products", 1.0}});
  for (const TaskItem& item : training_items(*task, 20000)) seen[item.id] = item.demonstration;
  EXPECT_EQ(seen.at("2,3,6=11"), "2+3+6");
  EXPECT_EQ(seen.at("6,2,3=7"), "6+3-2") << "+ before -";
  EXPECT_EQ(seen.at("2,6,3=7"), "6+3-2") << "2-6 is not positive";
  EXPECT_EQ(seen.at("2,3,6=36"), "2*3*6");
  EXPECT_EQ(seen.at("6,5,3=12"), "6*(5-3)");
  EXPECT_EQ(seen.at("5,3,6=12"), "(5-3)*6") << "the number that is given first comes first";
}

// The split looks at the numbers in any order and at the target, at nothing else: no parameter and no seed moves a
// puzzle to the other side.
TEST(CountdownTask, NoPuzzleIsOnBothSides) {
  std::set<std::pair<std::vector<std::int64_t>, std::int64_t>> held_out;
  for (const TaskItem& item :
       held_out_items(*make_task(with(small_and_correct(), "held_out_size", std::int64_t{1500})))) {
    EXPECT_TRUE(held_out.insert(Puzzle(item).without_order()).second) << "the held-out puzzles are distinct";
  }
  ASSERT_EQ(held_out.size(), 1500u);
  for (const std::uint64_t seed : {1, 2}) {
    for (const bool sorted : {false, true}) {
      const auto task = make_task(with(with(small_and_correct(), "sorted", sorted), "number_high", std::int64_t{15}));
      for (const TaskItem& item : training_items(*task, 10000, seed)) {
        EXPECT_EQ(held_out.count(Puzzle(item).without_order()), 0u) << item.id;
      }
    }
  }
}

TEST(CountdownTask, ItemsAreAFunctionOfSeedAndIndex) {
  const auto task = make_task();
  const auto other_instance = make_task({{"held_out_size", std::int64_t{1}}});
  const auto items = training_items(*task, 50);
  const RandomStream same_seed(1, "items");
  for (std::int64_t i = 49; i >= 0; --i) {
    TaskItem again;
    other_instance->training_item(i, same_seed, again);
    EXPECT_EQ(again.prompt, items[static_cast<std::size_t>(i)].prompt);
    EXPECT_EQ(again.demonstration, items[static_cast<std::size_t>(i)].demonstration);
  }
  EXPECT_NE(training_items(*task, 1, 2)[0].prompt, items[0].prompt);
  TaskItem far;
  task->training_item((std::int64_t{1} << 32) + 7, same_seed, far);
  EXPECT_NE(far.prompt, items[7].prompt) << "items go on beyond 2^32";
}

TEST(CountdownTask, HeldOutPuzzlesGrowAtTheEnd) {
  const auto items = held_out_items(*make_task());
  const auto fewer = held_out_items(*make_task({{"held_out_size", std::int64_t{100}}}));
  ASSERT_EQ(items.size(), 400u);
  for (std::size_t i = 0; i < fewer.size(); ++i) EXPECT_EQ(fewer[i].id, items[i].id);
}

// Two of three signs say whether + and - suffice: three numbers have at most eight sums.
bool has_a_sum(const Puzzle& puzzle) {
  for (int signs = 0; signs < 8; ++signs) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += (signs >> i & 1 ? -1 : 1) * puzzle.numbers[i];
    if (sum == puzzle.target) return true;
  }
  return false;
}

TEST(CountdownTask, DemonstrationsAreCarelessMostlyWhereProductsAreNeeded) {
  auto values = small_and_correct();
  values["correct_sums"] = 0.8;
  values["correct_products"] = 0.3;
  const auto solutions = training_items(*make_task(small_and_correct()), 6000);
  const auto mixed = training_items(*make_task(values), 6000);
  std::map<bool, double> correct, judged;  // by whether a sum solves the puzzle
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    const Puzzle puzzle(mixed[i]);
    const std::string careless = joined(puzzle.numbers, "+");
    EXPECT_THAT(mixed[i].demonstration, testing::AnyOf(solutions[i].demonstration, careless));
    if (solutions[i].demonstration == careless) continue;
    const bool sum = has_a_sum(puzzle);
    EXPECT_EQ(solutions[i].demonstration.find_first_of("*/") == std::string::npos, sum) << mixed[i].id;
    ++judged[sum];
    correct[sum] += mixed[i].demonstration == solutions[i].demonstration;
  }
  for (const auto& [sum, share] : std::map<bool, double>{{true, 0.8}, {false, 0.3}}) {
    ASSERT_GT(judged[sum], 500);
    EXPECT_NEAR(correct[sum] / judged[sum], share, 4 * std::sqrt(share * (1 - share) / judged[sum]));
  }
}

TEST(CountdownTask, ImpossibleParametersAreErrors) {
  const std::int64_t one = 1, two = 2, nine = 9;
  EXPECT_THAT(error_of({{"number_low", nine}, {"number_high", two}}), HasSubstr("number_low = 9 is more than"));
  EXPECT_THAT(error_of({{"target_low", nine}, {"target_high", two}}), HasSubstr("target_low = 9 is more than"));
  for (const char* operators : {"", "x", "++", "+ -"}) {
    EXPECT_THAT(error_of({{"operators", operators}}), HasSubstr("is not a choice of + - * /"));
  }
  EXPECT_THAT(error_of({{"number_high", one}, {"target_low", nine}, {"target_high", nine}}), HasSubstr("hold none"));
  EXPECT_THAT(error_of({{"number_high", nine}, {"target_high", nine}}),
              HasSubstr("different held-out puzzles, not 400"));
  TaskItem item;
  EXPECT_THROW(make_task()->held_out_item(400, item), Error);
  EXPECT_THROW(make_task()->held_out_item(-1, item), Error);
}

}  // namespace
}  // namespace drift
