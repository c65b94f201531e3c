// Task `countdown`: where the puzzles come from.

#include <core/text/tokenizer.h>
#include <drift/error.h>
#include <drift/reward.h>
#include <drift/task.h>

#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/tasks.h"

namespace drift::countdown_task_test {

using test::held_out_items;
using test::training_items;
using testing::HasSubstr;
using Values = std::map<std::string, Parameter::Value>;

// Puzzles for small models; a demonstration is a solution.
Values small_and_correct() {
  return {{"number_high", std::int64_t{20}},
          {"target_high", std::int64_t{50}},
          {"correct_sums", 1.0},
          {"correct_products", 1.0}};
}

Values with(Values values, const std::string& name, const Parameter::Value& value) {
  values[name] = value;
  return values;
}

std::unique_ptr<Task> make_task(const Values& values = {}) {
  return test::create<Task>("countdown_task", "countdown", values);
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
  return test::error_of([&] { make_task(values); });
}

TEST(CountdownTask, AnItemIsNumbersAndATargetBetweenTwoSpecialTokens) {
  TaskItem item;
  make_task()->held_out_item(0, item);
  const Puzzle puzzle(item);
  EXPECT_EQ(puzzle.numbers.size(), 3u);
  EXPECT_EQ(item.id, joined(puzzle.numbers, ",") + "=" + std::to_string(puzzle.target));
  EXPECT_EQ(item.prompt, "<|startoftext|>" + item.id + "<|sep|>");
  EXPECT_EQ(item.demonstration, "") << "no held-out puzzle may have an answer to imitate";
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

TEST(CountdownTask, ItemsAreAFunctionOfSeedAndIndexAndHeldOutOnesGrowAtTheEnd) {
  test::expect_items_of_seed_and_index(*make_task(), *make_task({{"held_out_size", std::int64_t{1}}}));
  EXPECT_EQ(make_task()->held_out_size(), 400);
  test::expect_held_out_items_to_grow(*make_task(), *make_task({{"held_out_size", std::int64_t{100}}}));
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

// A solution by the chosen rules, found the long way round: the reward judges every expression over the numbers.
bool has_a_solution(const TaskItem& item, const Reward& reward) {
  auto numbers = Puzzle(item).numbers;
  std::sort(numbers.begin(), numbers.end());
  const auto solves = [&](const std::string& text) {
    RewardResult result;
    reward.score({text, &item}, result);
    return result.solved;
  };
  const std::string operators = "+-*/";
  do {
    const auto a = std::to_string(numbers[0]), b = std::to_string(numbers[1]), c = std::to_string(numbers[2]);
    if (solves(a)) return true;
    for (const char first : operators) {
      if (solves(a + first + b)) return true;
      for (const char second : operators) {
        if (solves("(" + a + first + b + ")" + second + c) || solves(a + first + "(" + b + second + c + ")")) {
          return true;
        }
      }
    }
  } while (std::next_permutation(numbers.begin(), numbers.end()));
  return false;
}

TEST(CountdownTask, PuzzlesHaveASolutionByTheChosenRules) {
  std::map<std::string, double> rates;
  for (const char* use : {"at_most_once", "exactly_once"}) {
    for (const char* intermediates : {"any", "positive_integer"}) {
      const Values rules = {{"use", use}, {"intermediates", intermediates}};
      const auto reward = test::create<Reward>("countdown", "countdown", rules);
      const auto strict = test::create<Reward>("countdown", "countdown",
                                               {{"use", "exactly_once"}, {"intermediates", "positive_integer"}});
      auto values = with(rules, "target_high", std::int64_t{12});
      values["number_high"] = std::int64_t{6};
      values["held_out_size"] = std::int64_t{10};
      int strictly = 0;
      for (const TaskItem& item : training_items(*make_task(values), 100)) {
        EXPECT_TRUE(has_a_solution(item, *reward)) << use << " " << intermediates << " " << item.id;
        strictly += has_a_solution(item, *strict);
      }
      rates[std::string(use) + " " + intermediates] = strictly;
    }
  }
  EXPECT_EQ(rates.at("exactly_once positive_integer"), 100);
  EXPECT_LT(rates.at("at_most_once any"), 100) << "looser rules let more puzzles in";
  EXPECT_LT(rates.at("at_most_once positive_integer"), 100);
  EXPECT_EQ(rates.at("exactly_once any"), 100) << "of three numbers, none needs a fraction or a negative step";
}

// 7 * (4 - 4 / 7) is the only way.
TEST(CountdownTask, OfFourNumbersSomeNeedFractions) {
  const auto seen = [](const char* intermediates) {
    const std::int64_t one = 1, four = 4, low = 3, high = 7, target = 24;
    const auto task = make_task({{"count", four},
                                 {"number_low", low},
                                 {"number_high", high},
                                 {"target_low", target},
                                 {"target_high", target},
                                 {"intermediates", intermediates},
                                 {"held_out_size", one}});
    std::set<std::vector<std::int64_t>> numbers;
    for (const TaskItem& item : training_items(*task, 1000)) numbers.insert(Puzzle(item).without_order().first);
    return numbers;
  };
  const std::vector<std::int64_t> hard = {4, 4, 7, 7};
  EXPECT_EQ(seen("any").count(hard), 1u);
  EXPECT_EQ(seen("positive_integer").count(hard), 0u);
}

// The file's puzzles are held out as they come, and neither they nor others in their order are trained on.
TEST(CountdownTask, AFileOfPuzzlesIsHeldOut) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "puzzles.jsonl";
  std::string lines;
  std::set<std::pair<std::vector<std::int64_t>, std::int64_t>> held_out;
  Values small = {
      {"number_high", std::int64_t{4}}, {"target_high", std::int64_t{12}}, {"held_out_size", std::int64_t{1}}};
  std::vector<std::string> ids;
  for (const TaskItem& item : training_items(*make_task(small), 300)) {
    const Puzzle puzzle(item);
    if (held_out.size() == 10 || !held_out.insert(puzzle.without_order()).second) continue;
    lines +=
        R"({"input": ")" + joined(puzzle.numbers, ",") + R"(", "output": ")" + std::to_string(puzzle.target) + "\"}\n";
    ids.push_back(item.id);
  }
  test::write_file(file, lines);
  small["held_out_file"] = file.string();
  EXPECT_EQ(held_out_items(*make_task(small)).size(), 1u) << "at most held_out_size";
  for (const TaskItem& item : training_items(*make_task(small), 2000)) {
    EXPECT_EQ(held_out.count(Puzzle(item).without_order()), 0u) << "but all of them are kept out of training";
  }
  small["held_out_size"] = std::int64_t{400};
  std::vector<std::string> read;
  for (const TaskItem& item : held_out_items(*make_task(small))) read.push_back(item.id);
  EXPECT_EQ(read, ids);
}

TEST(CountdownTask, AFileOfPuzzlesIsReadWithCare) {
  const test::TemporaryFolder folder;
  const auto with = [&](const std::string& content) {
    const auto path = folder.path() / "puzzles.jsonl";
    test::write_file(path, content);
    return error_of({{"held_out_file", path.string()}});
  };
  const std::string good = R"({"input": "30,100,93", "output": "23"})";
  EXPECT_EQ(with(good), "");
  EXPECT_EQ(with(good + "\r\n"), "");
  for (const std::string bad : {"", "[]", R"({"input": "", "output": "23"})", R"({"input": "30,", "output": "23"})",
                                R"({"input": "30,-1", "output": "23"})", R"({"input": "30,1 ", "output": "23"})",
                                R"({"input": "30,100", "output": "0"})", R"({"input": "30,100", "output": 23})",
                                R"({"input": "30,1000000001", "output": "23"})", R"({"input": "30,100"})"}) {
    EXPECT_THAT(with(good + "\n" + bad + "\n"), HasSubstr(":2: this is not a puzzle of positive numbers")) << bad;
  }
  EXPECT_THAT(with(good + "\n" + R"({"input": "93,100,30", "output": "23"})"),
              HasSubstr(":2: the puzzle of line 1 again"));
  EXPECT_THAT(with(""), HasSubstr("is empty"));
  EXPECT_THAT(error_of({{"held_out_file", (folder.path() / "missing").string()}}), HasSubstr("cannot open"));
}

// Published with d1 and ESPO: 256 puzzles, all solvable by the strictest rules.
TEST(CountdownTask, TheTestFileIsHeldOutWholly) {
  if (const auto missing = test::missing_data({"countdown_3_test.jsonl"}); !missing.empty()) GTEST_SKIP() << missing;
  const auto file = test::data_file("countdown_3_test.jsonl").string();
  const auto task = make_task({{"held_out_file", file}});
  const auto items = held_out_items(*task);
  ASSERT_EQ(items.size(), 256u);
  EXPECT_EQ(items[0].id, "30,100,93=23");
  std::set<std::pair<std::vector<std::int64_t>, std::int64_t>> held_out;
  const auto strict =
      test::create<Reward>("countdown", "countdown", {{"use", "exactly_once"}, {"intermediates", "positive_integer"}});
  const auto published = test::create<Reward>("countdown", "countdown", {{"answer", "boxed"}});
  for (const TaskItem& item : items) {
    held_out.insert(Puzzle(item).without_order());
    EXPECT_TRUE(has_a_solution(item, *strict)) << item.id;
    RewardResult result;
    const std::string target = "\\boxed{" + std::to_string(Puzzle(item).target) + "}";
    published->score({target, &item}, result);
    const auto numbers = Puzzle(item).numbers;
    EXPECT_EQ(result.solved, std::count(numbers.begin(), numbers.end(), Puzzle(item).target) > 0) << item.id;
  }
  for (const TaskItem& item : training_items(*task, 3000)) {
    EXPECT_EQ(held_out.count(Puzzle(item).without_order()), 0u);
  }
}

// The items of configs/tasks/countdown.toml, to the last byte: other ones make published figures incomparable.
TEST(CountdownTask, TheSmallModelsItemsArePinned) {
  const auto task = make_task(
      {{"number_high", std::int64_t{20}}, {"target_high", std::int64_t{50}}, {"sorted", true}, {"operators", "+-*"}});
  std::vector<std::string> texts;
  for (const auto& items : {training_items(*task, 2000), held_out_items(*task)}) {
    for (const TaskItem& item : items) texts.push_back(test::text_of(item));
  }
  EXPECT_EQ(test::hash_of(texts), 11120339746128861047u);
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
}

}  // namespace drift::countdown_task_test
