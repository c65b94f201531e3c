// `drift loss`, as an author of losses uses them.

#include "tests/support/support.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>

namespace drift::loss_test {
namespace {

using testing::HasSubstr;

const std::string kCase = R"({
  "loss": "rldf", "parameters": {"beta": 0, "low_prob_threshold": 0}, "values": "probabilities", "advantage": [1, -1],
  "views": [{"response": 0, "masked": "10", "current": [0.5, null]},
            {"response": 1, "masked": "11", "current": [0.25, 0.5]}],
  "expected": {"loss": -0.1732867951},
  "variants": {"larger advantage": {"advantage": [2, -1], "expected": {"loss": 0.1732867951}},
               "mistaken": {"expected": {"loss": 1, "metrics": {"no_such": 0}}}}
})";

struct LossCommand : ::testing::Test {
  LossCommand() { test::write_file(folder.path() / "case.json", kCase); }
  test::CommandResult loss(const std::string& arguments) const {
    return test::run_command("cd " + folder.path().string() + " && " + test::program().string() + " loss " + arguments);
  }
  /// Exit status and message of the case with a part replaced.
  test::CommandResult with(const std::string& part, const std::string& replacement) const {
    std::string changed = kCase;
    changed.replace(changed.find(part), part.size(), replacement);
    test::write_file(folder.path() / "changed.json", changed);
    return loss("rldf --case changed.json");
  }
  test::TemporaryFolder folder;
};

TEST_F(LossCommand, PrintsTheLossItsPartsAndTheGradientPerToken) {
  const auto result = loss("rldf --case case.json --variant 'larger advantage'");
  EXPECT_EQ(result.status, 0) << result.error;
  // mean of -2 ln 0.5 and (ln 0.25 + ln 0.5) / 2
  EXPECT_THAT(result.output, HasSubstr("loss           0.17328680  expected  0.17328680"));
  EXPECT_THAT(result.output, HasSubstr("token_utility"));
  EXPECT_THAT(result.output, HasSubstr("response 0, forward 0:  -1.00000000           ."));
  EXPECT_THAT(result.output, HasSubstr("response 1, forward 0:   0.25000000  0.25000000"));
}

TEST_F(LossCommand, ReportsUnexpectedValuesAndExitsWithOne) {
  const auto result = loss("rldf --case case.json --variant mistaken");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("not as expected: the loss is -0.1732867951, but 1 was expected"));
  EXPECT_THAT(result.output, HasSubstr("not as expected: the loss reports no metric `no_such`"));
}

TEST_F(LossCommand, JsonHasOneObjectForEachVariant) {
  const auto result = loss("rldf --case case.json --json");
  EXPECT_EQ(result.status, 1);  // `mistaken` is among them
  std::istringstream lines(result.output);
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_FALSE(objects[0].contains("variant"));
  EXPECT_NEAR(objects[0]["loss"].get<double>(), -0.1732867951, 1e-9);
  EXPECT_EQ(objects[0]["gradient"][0][0], -0.5);
}

TEST_F(LossCommand, AnotherLossTakesTheNumbersWithoutParametersAndExpectations) {
  const auto result = loss("d1 --case case.json --variant mistaken");
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("written for loss `rldf`"));
}

TEST_F(LossCommand, SaysWhatTheLossNeedsAndTheCaseLacks) {
  const auto result = loss("d1 --case case.json --variant mistaken");
  EXPECT_THAT(result.output, HasSubstr("evaluated without `reference`, which the loss needs of each view"));
  const auto json = nlohmann::json::parse(loss("d1 --case case.json --variant mistaken --json").output);
  EXPECT_EQ(json["missing"], nlohmann::json::array({"reference"}));
  EXPECT_THAT(loss("rldf --case case.json").output, testing::Not(HasSubstr("evaluated without")));
}

TEST_F(LossCommand, ComparesTheGradientWithFiniteDifferences) {
  const auto result = loss("rldf --case case.json --variant 'larger advantage' --finite-differences");
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("finite differences: 3 of the gradient's values compared\n"));
  const auto json = nlohmann::json::parse(
      loss("rldf --case case.json --variant 'larger advantage' --finite-differences --json").output);
  EXPECT_EQ(json["finite_differences"]["compared"], 3);
  EXPECT_EQ(json["finite_differences"]["differences"], nlohmann::json::array());
}

TEST_F(LossCommand, FindsAGradientThatIsNotTheSlope) {
  const auto result = test::run_command(
      "cd " + folder.path().string() + " && DRIFT_PLUGIN_PATH=" + (test::build_dir() / "tests/plugins").string() + " " +
      test::program().string() + " loss 'loses a gradient' --case case.json --variant mistaken --finite-differences");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("but its finite difference is"));
}

TEST_F(LossCommand, MistakesInTheFileAreNamedWithTheirPlace) {
  const auto expect = [&](const std::string& part, const std::string& replacement, const std::string& message) {
    const auto result = with(part, replacement);
    EXPECT_EQ(result.status, 1) << replacement;
    EXPECT_THAT(result.error, HasSubstr(message));
  };
  expect("\"beta\"", "\"bta\"", "has no parameter `bta`, did you mean `beta`?");
  expect("\"beta\": 0", "\"beta\": \"none\"", "parameters.beta: must be of type number");
  expect("\"masked\": \"11\"", "\"masked\": \"111\"", "views[1].masked: must be 2 digits");
  expect("\"response\": 1", "\"response\": 2", "views[1].response: there are 2 responses");
  expect("[0.25, 0.5]", "[0.25, null]", "views[1].current[1]: must be a number");
  expect("[0.25, 0.5]", "[0.25, 1.5]", "must be a probability");
  expect("\"advantage\": [1, -1]", "\"advantages\": [1, -1]", "unknown key `advantages`, did you mean `advantage`?");
  expect("\"views\": [", "\"views\": [[], ", "views[0]");
}

TEST_F(LossCommand, UnknownNamesGetTheNearestOne) {
  EXPECT_THAT(loss("rlfd --case case.json").error, HasSubstr("did you mean `rldf`?"));
  EXPECT_THAT(loss("rldf --case case.json --variant mistake").error, HasSubstr("did you mean `mistaken`?"));
  EXPECT_EQ(loss("rldf").status, 2);
  EXPECT_EQ(loss("rldf --case nowhere.json").status, 1);
}

}  // namespace
}  // namespace drift::loss_test
