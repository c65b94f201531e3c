#include <core/record/metrics_reader.h>
#include <core/report/profile.h>

#include <drift/error.h>

#include "tests/support/support.h"

namespace drift::metrics_reader_test {

using ::testing::HasSubstr;

std::vector<StepRecord> steps_of(const std::string& metrics) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "metrics.jsonl", metrics);
  return read_metrics(folder.path() / "metrics.jsonl");
}

std::string line(int step, const std::string& more = "") { return "{\"step\":" + std::to_string(step) + more + "}\n"; }

TEST(Metrics, NullAndMissingValuesAreUnknown) {
  const auto steps = steps_of(
      line(1, R"(,"reward":0.5,"loss/kl":null,"seconds":{"rollout":0.3,"update":0.1,"other":0.1,"total":0.5})"));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].value("reward"), 0.5);
  EXPECT_TRUE(std::isnan(steps[0].value("loss/kl")));
  EXPECT_TRUE(std::isnan(steps[0].value("never_heard_of")));
  ASSERT_TRUE(steps[0].seconds);
  EXPECT_EQ(steps[0].seconds->total, 0.5);
  EXPECT_EQ(steps[0].seconds->phases().size(), 3u);
  EXPECT_FALSE(steps[0].held_out);
}

TEST(Metrics, ALineThatIsNotAStepIsNamedUnlessAKillCutOffTheLast) {
  for (const char* bad : {"{\"step\":2,", "{\"loss\":1}", "[]", "{\"step\":2,\"seconds\":{\"rollout\":\"fast\"}}",
                          "{\"step\":2,\"held_out\":{}}"}) {
    EXPECT_THAT(test::what_of([&] { steps_of(line(1) + bad + "\n" + line(3)); }), HasSubstr("metrics.jsonl:2:"));
  }
  EXPECT_EQ(steps_of(line(1) + "{\"step\":2,\"loss\":0.").size(), 1u);
}

TEST(Metrics, AfterAResumeTheLaterLinesCount) {
  const auto steps = steps_of(line(1) + line(2) + line(3) + line(2, ",\"again\":1") + line(3));
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[1].value("loss/again"), 1);
}

TEST(Profile, SharesOfAStepLongestFirstOtherLast) {
  const auto steps = steps_of(line(1, R"(,"seconds":{"other":0.1,"old":0.1,"rollout":0.2,"total":0.4})") +
                              line(2, R"(,"seconds":{"other":0.1,"old":0.1,"rollout":0.4,"total":0.6})"));
  EXPECT_EQ(profile_table(steps),
            "rollout     0.30 s   60.0 %\n"
            "old policy  0.10 s   20.0 %\n"
            "other       0.10 s   20.0 %\n"
            "a step      0.50 s  100.0 %\n");
  EXPECT_EQ(profile_table({}), "");
}

}  // namespace drift::metrics_reader_test
