// Answers that want to cost much. What they cost: bench/math_bench.

#include "extraction.h"
#include "hostile_answers.h"

#include <gmock/gmock.h>
#include <math_answers.h>

namespace math_answers::math_hostile_test {
namespace {

Options lenient() {
  Options options;
  options.lenient_boxes = true;
  return options;
}

TEST(HostileAnswers, AreJudgedRightly) {
  for (const auto& hostile : test::hostile_answers()) {
    const Verdict verdict = judge(hostile.response, hostile.truth, lenient());
    const bool cut_off = hostile.name == "9,000 boxes that are never closed after the answer";
    EXPECT_EQ(verdict.equal(), hostile.solved || cut_off) << hostile.name << ": " << verdict.reason;
    EXPECT_LT(verdict.reason.size(), 1000u) << hostile.name;
  }
}

// As truths they are no better; a response to one of them may say what it likes.
TEST(HostileAnswers, AreNoBetterAsTruths) {
  for (const auto& hostile : test::hostile_answers()) {
    EXPECT_FALSE(judge("\\boxed{17.25}", hostile.response, lenient()).equal()) << hostile.name;
    EXPECT_LE(hostile.response.size(), 64u << 10) << hostile.name;
    const Extracted swapped = extract(hostile.response, {});
    if (swapped.answer.empty()) continue;
    EXPECT_EQ(judge("\\boxed{" + hostile.truth + "}", swapped.answer, lenient()).equal(), hostile.solved)
        << hostile.name;
  }
}

TEST(HostileAnswers, DoNotStopTheRulesOfRldfRelease) {
  for (const auto& hostile : test::hostile_answers()) {
    EXPECT_FALSE(judge_as_rldf_release(hostile.response, hostile.truth + " or so").equal()) << hostile.name;
  }
}

}  // namespace
}  // namespace math_answers::math_hostile_test
