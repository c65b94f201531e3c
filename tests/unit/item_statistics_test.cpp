// What `drift data check --stats` says of a task's items.

#include <core/base/item_statistics.h>

#include <gmock/gmock.h>

namespace drift::item_statistics_test {

using namespace testing;

TaskItem item(const std::string& question, const std::string& reference) {
  TaskItem made;
  made.prompt = question;
  made.reference = reference;
  return made;
}

TEST(Spread, OfNothingIsNothing) {
  const Spread spread = Spread::of({});
  EXPECT_EQ(spread.count, 0);
  EXPECT_THAT(spread.bins, IsEmpty());
}

TEST(Spread, HasPercentilesThatAreValues) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 100; i >= 1; --i) values.push_back(i);
  const Spread spread = Spread::of(values);
  EXPECT_EQ(spread.minimum, 1);
  EXPECT_EQ(spread.p5, 5);
  EXPECT_EQ(spread.median, 50);
  EXPECT_EQ(spread.p95, 95);
  EXPECT_EQ(spread.maximum, 100);
  EXPECT_DOUBLE_EQ(spread.mean, 50.5);
  const Spread one = Spread::of({7});
  EXPECT_EQ(one.p5, 7);
  EXPECT_EQ(one.p95, 7);
}

TEST(Spread, HasBinsOfARoundWidth) {
  const Spread spread = Spread::of({3, 19, 20, 47, 47}, 3);
  EXPECT_EQ(spread.bin_width, 20);
  EXPECT_EQ(spread.first_bin, 0);
  EXPECT_THAT(spread.bins, ElementsAre(2, 1, 2));
  EXPECT_THAT(Spread::of({5, 5, 6}, 10).bins, ElementsAre(2, 1));
}

TEST(ItemStatistics, CountCharactersAndNotBytes) {
  const auto found = item_statistics({item("\u03C0 = ?", "3,14")}, {});
  EXPECT_EQ(found.question_characters.maximum, 5);
  EXPECT_FALSE(found.prompt_tokens.has_value());
}

TEST(ItemStatistics, CountTokensWhereThatIsPossible) {
  const auto found = item_statistics({item("a", "1"), item("b", "2")}, [](const TaskItem& i) {
    return i.prompt == "a" ? std::int64_t{10} : std::int64_t{30};
  });
  EXPECT_EQ(found.prompt_tokens->minimum, 10);
  EXPECT_EQ(found.prompt_tokens->maximum, 30);
}

TEST(ItemStatistics, AQuestionIsRepeatedOrSharedWhateverItsSpelling) {
  EXPECT_EQ(item_statistics({item("1 + 1", "2"), item("1+1\n", "2"), item("1 + 2", "3")}, {}).repeated_questions, 1);
  const std::vector<TaskItem> training = {item("a b", "1"), item("c", "1"), item("ab", "1")};
  EXPECT_EQ(shared_questions(training, {item("a\nb", "2")}), 2);
  EXPECT_EQ(shared_questions(training, {item("\uFF21 \u200BB\u00A0", "2")}), 2) << "whatever its spelling";
  EXPECT_EQ(shared_questions(training, {}), 0);
}

TEST(ItemStatistics, TellTheShapesOfAnswers) {
  EXPECT_THAT(item_statistics({item("a", "1"), item("b", "x + 1"), item("c", "-2")}, {}).answer_shapes,
              ElementsAre(Pair("integer", 2), Pair("text", 1)));
  EXPECT_EQ(answer_shape(" 1,450,000 "), "integer");
  EXPECT_EQ(answer_shape("-0.5"), "decimal");
  EXPECT_EQ(answer_shape(".5"), "decimal");
  EXPECT_EQ(answer_shape("3/4"), "fraction");
  EXPECT_EQ(answer_shape("\\frac{3}{4}"), "LaTeX");
  EXPECT_EQ(answer_shape("x^2"), "LaTeX");
  EXPECT_EQ(answer_shape("(1,2)"), "list");
  EXPECT_EQ(answer_shape("C"), "letter");
  EXPECT_EQ(answer_shape("Monday"), "text");
  EXPECT_EQ(answer_shape("{\"target\": 23}"), "JSON");
  EXPECT_EQ(answer_shape("{not JSON}"), "text");
  EXPECT_EQ(answer_shape(" "), "empty");
}

}  // namespace drift::item_statistics_test
