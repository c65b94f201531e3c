// Claims as data: what a file may say, when a claim holds, and that the files that ship can be measured.

#include <core/lab/claims/claim_result.h>
#include <core/lab/claims/claims_file.h>
#include <core/lab/claims/claims_page.h>
#include <core/lab/claims/run_quantities.h>
#include <core/lab/claims/token_quantities.h>
#include <core/lab/claims/update_quantities.h>

#include "tests/support/support.h"

#include <drift/error.h>

namespace drift::claims_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kClaim = R"(
paper = "P"
[[claim]]
name = "a"
title = "A"
statement = "More is more."
source = "table 1"
measure = "updates"
quantities = ["loss", "gradient_norm"]
settings = [{ name = "one", set = { algorithm.masking.k = 1 }, x = 1 }, { name = "two" }]
published = [{ quantity = "loss", setting = "one", of = "7B", value = 0.5 }]
expect = [{ quantity = "loss", more = "one", less = "two", times = 2 }]
)";

ClaimsFile read(const std::string& text) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "claims.toml", text);
  return read_claims_file(folder.path() / "claims.toml");
}

TEST(ClaimsFiles, SayWhatIsComparedAndWhatWasPublished) {
  const ClaimsFile file = read(kClaim);
  ASSERT_EQ(file.claims.size(), 1u);
  const Claim& claim = file.claims[0];
  EXPECT_EQ(claim.measure, ClaimMeasure::kUpdates);
  ASSERT_EQ(claim.settings.size(), 2u);
  EXPECT_EQ(claim.settings[0].set.at(0).key, "algorithm.masking.k");
  EXPECT_EQ(claim.settings[0].set.at(0).value, "1");
  EXPECT_EQ(claim.settings[0].x, 1);
  EXPECT_EQ(claim.published.at(0).value, 0.5);
  EXPECT_EQ(claim.expect.at(0).text(), "loss (one) > 2 times loss (two)");
}

void expect_mistake(const std::string& before, const std::string& after, const std::string& message) {
  std::string text = kClaim;
  const auto place = text.find(before);
  ASSERT_NE(place, text.npos) << before;
  text.replace(place, before.size(), after);
  EXPECT_THAT(test::error_of([&] { read(text); }), testing::AllOf(HasSubstr(message), HasSubstr("claims.toml:")))
      << after;
}

TEST(ClaimsFiles, MistakesComeWithTheNearestName) {
  expect_mistake("title", "titel", "did you mean `title`?");
  expect_mistake("\"updates\"", "\"update\"", "did you mean `updates`?");
  expect_mistake("more = \"one\"", "more = \"oen\"", "did you mean `one`?");
  expect_mistake("quantity = \"loss\", more", "quantity = \"los\", more", "did you mean `loss`?");
  expect_mistake(", less = \"two\"", "", "has `more` and `less`, or `above` or `below`");
  expect_mistake("algorithm.masking.k", "train.steps", "changes the masking strategy or the loss");
  expect_mistake("value = 0.5", "value = \"x\"", "`value` is not a number");
  expect_mistake("paper = \"P\"", "paper = [", "not valid TOML");
}

ClaimResult measured(const std::vector<double>& one, const std::vector<double>& two) {
  std::vector<ClaimResult> results = {{read(kClaim).claims[0]}};
  results[0].measured = {{"one", "loss", one}, {"two", "loss", two}};
  judge_claims(results);
  return results[0];
}

// The mean of more - 2 * less over the batches, by Student's t.
TEST(Verdicts, ComeFromPairedDifferencesAndTheirError) {
  EXPECT_EQ(measured({3, 3.1, 2.9}, {1, 1, 1}).verdict(), Verdict::kHolds);
  EXPECT_EQ(measured({1, 1.1, 0.9}, {1, 1, 1}).verdict(), Verdict::kFails);
  EXPECT_EQ(measured({1, 5, 0}, {1, 1, 1}).verdict(), Verdict::kUndecided);
  const auto paired = measured({2.1, 20.1, 200.1}, {1, 10, 100});
  EXPECT_EQ(paired.verdict(), Verdict::kHolds) << "batches differ by far more than settings do";
  EXPECT_NEAR(paired.judged[0].margin.mean, 0.1, 1e-9);
}

// Differences 1, 2, 1 have t = 4, which two standard errors would pass; with 2 degrees of freedom p = 0.057.
// 1, 1.5, 1 have t = 7 and p = 0.0198: below 0.05 alone, and 0.0594 beside two others.
TEST(Verdicts, UseStudentsTAndHolmsCorrectionForAllThatIsTestedAtOnce) {
  const auto three = measured({3, 4, 3}, {1, 1, 1});
  EXPECT_EQ(three.verdict(), Verdict::kUndecided);
  EXPECT_NEAR(three.judged[0].p, 1 - 4 / std::sqrt(2 + 16.0), 1e-12);
  const auto alone = measured({3, 3.5, 3}, {1, 1, 1});
  EXPECT_EQ(alone.verdict(), Verdict::kHolds);
  std::vector<ClaimResult> several = {alone, alone, alone};
  judge_claims(several);
  EXPECT_EQ(several[1].verdict(), Verdict::kUndecided);
  EXPECT_NEAR(several[1].judged[0].corrected_p, 3 * alone.judged[0].p, 1e-12);
  EXPECT_THAT(sentence_of_verdicts(several), HasSubstr("below 0.05; p: two-sided t-test"));
  EXPECT_THAT(sentence_of_verdicts(several), HasSubstr("corrected over the 3 expectations"));
}

TEST(Verdicts, OfEqualNumbersOfOneBatchOrOfNoneAreNotThatItHolds) {
  EXPECT_EQ(measured({2, 2, 2}, {1, 1, 1}).verdict(), Verdict::kFails);
  const auto once = measured({3}, {1});
  EXPECT_EQ(once.verdict(), Verdict::kUndecided);
  EXPECT_THAT(once.reason, HasSubstr("one value has no standard error"));
  const auto nothing = measured({kUnknown, kUnknown}, {1, 1});
  EXPECT_EQ(nothing.verdict(), Verdict::kUntestable);
  EXPECT_THAT(nothing.reason, HasSubstr("nothing was measured of loss (one)"));
}

TEST(Verdicts, OfAClaimAreTheWorstOfItsExpectations) {
  ClaimResult result{read(kClaim).claims[0]};
  result.claim.expect.push_back({.quantity = "gradient_norm", .setting = "two", .below = 4.0});
  result.measured = {{"one", "loss", {3, 3.1, 3}}, {"two", "loss", {1, 1, 1}}, {"two", "gradient_norm", {5, 5.1, 5}}};
  std::vector<ClaimResult> results = {result};
  judge_claims(results);
  result = results[0];
  EXPECT_EQ(result.judged[0].verdict, Verdict::kHolds);
  EXPECT_EQ(result.judged[1].verdict, Verdict::kFails);
  EXPECT_EQ(result.verdict(), Verdict::kFails);
}

TEST(ClaimsPages, ShowPublishedBesideMeasured) {
  ClaimsReport report{"P <1>", "somewhere", {{"batches", "3"}}, {measured({3, 3.2, 3.1}, {1, 1, 1})}};
  const std::string html = claims_html(report, [](ClaimMeasure, const std::string&) { return "what it is"; });
  EXPECT_THAT(html, HasSubstr("P &lt;1&gt;"));
  EXPECT_THAT(html, HasSubstr("published, 7B"));
  EXPECT_THAT(html, HasSubstr("3.100 ± 0.058"));
  const auto json = nlohmann::json::parse(claims_json(report));
  EXPECT_EQ(json["level"], 0.05);
  EXPECT_EQ(json["claims"][0]["verdict"], "holds");
  EXPECT_LT(json["claims"][0]["expected"][0]["p_holm"], 0.05);
  EXPECT_EQ(json["claims"][0]["measured"][0]["values"][1], 3.2);
  EXPECT_EQ(json["claims"][0]["published"][0]["value"], 0.5);
  const TextTable numbers = numbers_table(report.results[0], "loss");
  EXPECT_THAT(numbers.rows[0], testing::ElementsAre("one", "3.100 ± 0.058", "0.5 (7B)"));
}

TEST(ShippedClaims, NameQuantitiesThatCanBeMeasured) {
  int claims = 0;
  for (const auto& entry : fs::directory_iterator(test::source_dir() / "configs/claims")) {
    for (const Claim& claim : read_claims_file(entry.path()).claims) {
      ++claims;
      for (const std::string& quantity : claim.quantities) {
        const bool known = claim.measure == ClaimMeasure::kTokens ? token_quantities().contains(quantity)
                           : claim.measure == ClaimMeasure::kUpdates
                               ? update_quantities().contains(quantity) || quantity.starts_with("loss/")
                               : !run_quantity_doc(quantity).empty();
        EXPECT_TRUE(known) << claim.name << ": " << quantity;
      }
      if (claim.measure == ClaimMeasure::kRuns) EXPECT_TRUE(fs::is_regular_file(claim.sweep)) << claim.sweep;
    }
  }
  EXPECT_GT(claims, 0);
}

}  // namespace drift::claims_test
