// Task `word_problems`: the stories, their worked solutions, and the slips of a careless solver.

#include <core/text/tokenizer.h>
#include <drift/error.h>
#include <drift/reward.h>
#include <drift/task.h>

#include <regex>

#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/tasks.h"

namespace drift::word_problems_test {

using test::held_out_items;
using test::training_items;
using testing::HasSubstr;
using Values = std::map<std::string, Parameter::Value>;

std::unique_ptr<Task> make_task(const Values& values = {}) {
  return test::create<Task>("word_problems", "word_problems", values);
}

/// Demonstrations with these shares of slips; of carries, in sums, differences and products.
std::unique_ptr<Task> with_slips(const std::vector<double>& forgotten_carries, double mistaken_references) {
  return make_task({{"forgotten_carries", forgotten_carries}, {"mistaken_references", mistaken_references}});
}

const std::vector<double> kNone = {0, 0, 0};

std::string error_of(const Values& values) {
  return test::error_of([&] { make_task(values); });
}

int apply(int value, char sign, int operand) {
  return sign == '+' ? value + operand : sign == '-' ? value - operand : value * operand;
}

/// A sentence "Cid has 17 more than Ann." in signs.
struct Sentence {
  std::string person;
  int operand = 0;
  char sign = '+';
  std::string from;
};

/// What a story says, read word by word.
struct Story {
  std::map<std::string, int> coins;  ///< what everybody has
  std::vector<Sentence> sentences;   ///< all but the first
  std::string asked;

  explicit Story(const std::string& prompt) {
    static const std::regex shape(R"((\w+) has (\d+)( coins| more than | fewer than | times as many as )(\w*)\. )");
    for (std::sregex_iterator at(prompt.begin(), prompt.end(), shape), end; at != end; ++at) {
      const auto& match = *at;
      const std::string words = match[3];
      if (words == " coins") {
        coins[match[1]] = std::stoi(match[2]);
      } else {
        const char sign = words == " more than " ? '+' : words == " fewer than " ? '-' : '*';
        sentences.push_back({match[1], std::stoi(match[2]), sign, match[4]});
        coins[match[1]] = apply(coins.at(match[4]), sign, std::stoi(match[2]));
      }
    }
    static const std::regex question(R"(How many has (\w+)\?<\|sep\|>$)");
    std::smatch match;
    EXPECT_TRUE(std::regex_search(prompt, match, question)) << prompt;
    asked = match[1];
  }
};

/// One line of a solution, "Ann+17=34+17,4+7=11,3+1+1=5,Ben=51".
struct Line {
  std::string from, person;
  char sign = '+';
  int value = 0, operand = 0;
  int ones = 0;             ///< as calculated: 11
  int carry = 0, tens = 0;  ///< as calculated
  int result = 0;

  explicit Line(const std::string& text) {
    static const std::regex shape(
        R"((\w+)([-+*])(\d+)=(\d\d)([-+*])(\d+),(\d+)([-+*])(\d)=(\d+),(\d)([-+*])(\d)([-+])(\d)=(\d),(\w+)=(\d\d))");
    std::smatch match;
    EXPECT_TRUE(std::regex_match(text, match, shape)) << text;
    from = match[1], sign = match[2].str()[0], person = match[17];
    operand = std::stoi(match[3]), value = std::stoi(match[4]), result = std::stoi(match[18]);
    ones = std::stoi(match[10]), carry = std::stoi(match[15]), tens = std::stoi(match[16]);
    // The operands of the columns are the digits of the numbers.
    EXPECT_EQ(match[5].str() + match[6].str(), match[2].str() + match[3].str()) << text;
    EXPECT_EQ(match[7].str().back(), match[4].str().back()) << text;
    EXPECT_EQ(match[9].str().front(), match[3].str().back()) << text;
    EXPECT_EQ(match[11].str().front(), match[4].str().front()) << text;
    EXPECT_EQ(match[13].str().front(), match[3].str().front()) << text;
    EXPECT_EQ(ones, apply(std::stoi(match[7]), sign, std::stoi(match[9]))) << text;
    EXPECT_EQ(tens, apply(apply(std::stoi(match[11]), sign, std::stoi(match[13])), match[14].str()[0], carry)) << text;
    EXPECT_EQ(result, 10 * tens + ones % 10) << text;
  }

  int true_carry() const { return sign == '-' ? value % 10 < operand % 10 : ones / 10; }
};

std::vector<Line> lines_of(const std::string& demonstration) {
  std::vector<Line> lines;
  std::istringstream stream(demonstration);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("\\boxed{")) break;
    lines.emplace_back(line);
  }
  return lines;
}

TEST(WordProblems, AnItemIsAStoryAndAQuestionBetweenTwoSpecialTokens) {
  TaskItem item;
  make_task()->held_out_item(1, item);
  EXPECT_EQ(item.id, "96,0-33,0-28,1+33,2-10");
  EXPECT_EQ(item.prompt,
            "<|startoftext|>Ann has 96 coins. Ben has 33 fewer than Ann. Cid has 28 fewer than Ann. Dan has 33 more "
            "than Ben. Eve has 10 fewer than Cid. How many has Eve?<|sep|>");
  EXPECT_EQ(item.reference, "58");
  EXPECT_EQ(item.demonstration, "") << "no held-out problem may have a solution to imitate";
}

TEST(WordProblems, TheReferenceIsWhatTheStorySays) {
  std::set<std::size_t> sentences;
  for (const auto& items : {training_items(*make_task(), 1000), held_out_items(*make_task())}) {
    for (const TaskItem& item : items) {
      const Story story(item.prompt);
      EXPECT_EQ(item.reference, std::to_string(story.coins.at(story.asked))) << item.prompt;
      EXPECT_EQ(story.asked, story.sentences.back().person);
      for (const auto& [person, coins] : story.coins) EXPECT_TRUE(10 <= coins && coins <= 99) << item.prompt;
      sentences.insert(story.sentences.size());
    }
  }
  EXPECT_THAT(sentences, testing::ElementsAre(4, 5));
}

TEST(WordProblems, ACarefulSolutionIsRightInEveryColumn) {
  const auto reward = test::create<Reward>("math", "math", {{"extraction", std::string("boxed")}});
  for (const TaskItem& item : training_items(*with_slips(kNone, 0), 1000)) {
    const Story story(item.prompt);
    const auto lines = lines_of(item.demonstration);
    ASSERT_EQ(lines.size(), story.sentences.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(lines[i].from, story.sentences[i].from) << item.demonstration;
      EXPECT_EQ(lines[i].carry, lines[i].true_carry()) << item.demonstration;
      EXPECT_EQ(lines[i].result, story.coins.at(lines[i].person)) << item.demonstration;
    }
    RewardResult result;
    reward->score({item.demonstration, &item}, result);
    EXPECT_TRUE(result.solved) << item.demonstration << ": " << result.reason;
  }
}

// A careless solution is wrong only where the slip is: what follows is calculated from what was written.
TEST(WordProblems, SlipsAreAsFrequentAsTheirShares) {
  std::map<std::string, double> slips, chances;
  for (const TaskItem& item : training_items(*with_slips({0.3, 0.5, 0.8}, 0.4), 4000)) {
    const Story story(item.prompt);
    std::map<std::string, int> written = {{"Ann", story.coins.at("Ann")}};
    std::string latest = "Ann";
    const auto lines = lines_of(item.demonstration);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Line& line = lines[i];
      const std::string& named = story.sentences[i].from;
      EXPECT_EQ(line.value, written.at(line.from)) << item.demonstration;
      EXPECT_THAT(line.from, testing::AnyOf(named, latest)) << item.demonstration;
      EXPECT_THAT(line.carry, testing::AnyOf(line.true_carry(), 0)) << item.demonstration;
      if (named != latest) slips["reference"] += line.from != named, ++chances["reference"];
      const std::string sign(1, line.sign);
      if (line.true_carry() != 0) slips[sign] += line.carry == 0, ++chances[sign];
      written[line.person] = line.result;
      latest = line.person;
    }
    EXPECT_THAT(item.demonstration, testing::EndsWith("\\boxed{" + std::to_string(lines.back().result) + "}"));
  }
  // Fewer than drawn: many would lead to a number without two digits.
  for (const auto& [kind, share] :
       std::map<std::string, double>{{"+", 0.3}, {"-", 0.5}, {"*", 0.8}, {"reference", 0.4}}) {
    ASSERT_GT(chances[kind], 500) << kind;
    EXPECT_LT(slips[kind] / chances[kind], share + 0.02) << kind;
    EXPECT_GT(slips[kind] / chances[kind], share / 3) << kind;
  }
}

// A model of the small vocabulary reads and writes every item, within the lengths of the task's README.md.
TEST(WordProblems, TheShippedTokenizerSpellsEveryItem) {
  const auto tokenizer = Tokenizer::open(test::source_dir() / "assets/word-problems-llada");
  std::size_t shortest = 1000, longest = 0;
  for (const TaskItem& item : training_items(*with_slips(kNone, 0), 1000)) {
    const auto prompt = tokenizer.encode(item.prompt), response = tokenizer.encode(item.demonstration);
    EXPECT_EQ(tokenizer.decode(prompt, false), item.prompt);
    EXPECT_EQ(tokenizer.decode(response, true), item.demonstration);
    EXPECT_LE(prompt.size(), 49u);
    shortest = std::min(shortest, response.size() + 1);  // the end token
    longest = std::max(longest, response.size() + 1);
  }
  EXPECT_GE(shortest, 116u);
  EXPECT_EQ(longest, 160u);
}

// The split looks at numbers, operations and references: no parameter and no seed moves a problem to the other side.
TEST(WordProblems, NoProblemIsOnBothSides) {
  const Values few = {{"steps_low", std::int64_t{1}}, {"steps_high", std::int64_t{1}}};
  std::set<std::string> held_out;
  for (const TaskItem& item : held_out_items(*make_task(few))) {
    EXPECT_TRUE(held_out.insert(item.id).second) << "the held-out problems are distinct";
  }
  ASSERT_EQ(held_out.size(), 400u);
  Values careful = few;
  careful["forgotten_carries"] = kNone;
  for (const std::uint64_t seed : {1, 2}) {
    for (const TaskItem& item : training_items(*make_task(careful), 10000, seed)) {
      EXPECT_EQ(held_out.count(item.id), 0u);
    }
  }
}

TEST(WordProblems, ItemsAreAFunctionOfSeedAndIndexAndHeldOutOnesGrowAtTheEnd) {
  test::expect_items_of_seed_and_index(*make_task(), *make_task({{"held_out_size", std::int64_t{1}}}));
  EXPECT_EQ(make_task()->held_out_size(), 400);
  test::expect_held_out_items_to_grow(*make_task(), *make_task({{"held_out_size", std::int64_t{100}}}));
}

// The items of configs/tasks/word-problems.toml, to the last byte: other ones make published figures incomparable.
TEST(WordProblems, TheSmallModelsItemsArePinned) {
  const auto task = make_task({{"steps_low", std::int64_t{4}}, {"steps_high", std::int64_t{4}}});
  std::vector<std::string> texts;
  for (const auto& items : {training_items(*task, 2000), held_out_items(*task)}) {
    for (const TaskItem& item : items) texts.push_back(test::text_of(item));
  }
  EXPECT_EQ(test::hash_of(texts), 16612878582609938048u);
}

TEST(WordProblems, ImpossibleParametersAreErrors) {
  const std::int64_t one = 1, three = 3, many = 10000;
  EXPECT_THAT(error_of({{"steps_low", three}, {"steps_high", one}}), HasSubstr("steps_low = 3 is more than"));
  EXPECT_THAT(error_of({{"forgotten_carries", std::vector<double>{0.5}}}), HasSubstr("has 1 shares, not 3"));
  EXPECT_THAT(error_of({{"steps_low", one}, {"steps_high", one}, {"held_out_size", many}}),
              HasSubstr("different held-out problems, not 10000"));
}

}  // namespace drift::word_problems_test
