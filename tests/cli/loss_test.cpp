// `drift loss`, as an author of losses uses them.

#include <tests/support/program.h>

namespace drift::loss_test {

using namespace test;
using namespace testing;

const std::string kCase = R"({
  "loss": "rldf", "parameters": {"beta": 0, "low_prob_threshold": 0}, "values": "probabilities", "advantage": [1, -1],
  "views": [{"response": 0, "masked": "10", "current": [0.5, null]},
            {"response": 1, "masked": "11", "current": [0.25, 0.5]}],
  "expected": {"loss": -0.1732867951},
  "variants": {"larger advantage": {"advantage": [2, -1], "expected": {"loss": 0.1732867951}},
               "mistaken": {"expected": {"loss": 1, "metrics": {"no_such": 0}}}}
})";

struct LossCommand : public Test, public ProgramFolder {
  LossCommand() { write("case.json", kCase); }
  CommandResult loss(const std::string& arguments) const { return drift("loss " + arguments); }
  /// Exit status and message of the case with a part replaced.
  CommandResult with(const std::string& part, const std::string& replacement) const {
    std::string changed = kCase;
    changed.replace(changed.find(part), part.size(), replacement);
    write("changed.json", changed);
    return loss("rldf --case changed.json");
  }
};

TEST_F(LossCommand, PrintsTheLossItsPartsAndTheGradientPerToken) {
  // mean of -2 ln 0.5 and (ln 0.25 + ln 0.5) / 2
  EXPECT_THAT(
      loss("rldf --case case.json --variant 'larger advantage'"),
      prints("loss           0.17328680  expected  0.17328680", "token_utility",
             "response 0, forward 0:  -1.00000000           .", "response 1, forward 0:   0.25000000  0.25000000"));
}

TEST_F(LossCommand, ReportsUnexpectedValuesAndExitsWithOne) {
  EXPECT_THAT(loss("rldf --case case.json --variant mistaken"),
              finds("not as expected: the loss is -0.1732867951, but 1 was expected",
                    "not as expected: the loss reports no metric `no_such`"));
}

TEST_F(LossCommand, JsonHasOneObjectForEachVariant) {
  const auto result = loss("rldf --case case.json --json");
  EXPECT_THAT(result, fails());  // `mistaken` is among them
  const auto objects = json_lines(result.output);
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_FALSE(objects[0].contains("variant"));
  EXPECT_NEAR(objects[0]["loss"].get<double>(), -0.1732867951, 1e-9);
  EXPECT_EQ(objects[0]["gradient"][0][0], -0.5);
}

TEST_F(LossCommand, AnotherLossTakesTheNumbersWithoutParametersAndExpectations) {
  EXPECT_THAT(loss("d1 --case case.json --variant mistaken"), prints("written for loss `rldf`"));
}

TEST_F(LossCommand, SaysWhatTheLossNeedsAndTheCaseLacks) {
  const auto result = loss("d1 --case case.json --variant mistaken");
  EXPECT_THAT(result.output, HasSubstr("evaluated without `reference`, which the loss needs of each view"));
  const auto json = printed_json(loss("d1 --case case.json --variant mistaken --json"));
  EXPECT_EQ(json["missing"], nlohmann::json::array({"reference"}));
  EXPECT_THAT(loss("rldf --case case.json").output, Not(HasSubstr("evaluated without")));
}

TEST_F(LossCommand, ComparesTheGradientWithFiniteDifferences) {
  EXPECT_THAT(loss("rldf --case case.json --variant 'larger advantage' --finite-differences"),
              prints("finite differences: 3 of the gradient's values compared\n"));
  const auto json = nlohmann::json::parse(
      loss("rldf --case case.json --variant 'larger advantage' --finite-differences --json").output);
  EXPECT_EQ(json["finite_differences"]["compared"], 3);
  EXPECT_EQ(json["finite_differences"]["differences"], nlohmann::json::array());
}

TEST_F(LossCommand, FindsAGradientThatIsNotTheSlope) {
  EXPECT_THAT(drift("loss 'loses a gradient' --case case.json --variant mistaken --finite-differences",
                    "DRIFT_PLUGIN_PATH=" + (build_dir() / "tests/plugins").string()),
              finds("but its finite difference is"));
}

TEST_F(LossCommand, MistakesInTheFileAreNamedWithTheirPlace) {
  const auto expect = [&](const std::string& part, const std::string& replacement, const std::string& message) {
    EXPECT_THAT(with(part, replacement), fails(message)) << replacement;
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

}  // namespace drift::loss_test
