#include "tests/support/rollouts.h"

#include <core/base/response_end.h>
#include <core/rollout/truncation.h>

#include <ATen/ops/full.h>
#include <gmock/gmock.h>

namespace drift::truncation_test {

using testing::ElementsAre;

TEST(Truncation, AResponseFillsItsLengthIfAtMostTheMarginIsLeft) {
  const auto valid = test::matrix_tensor({{1, 1, 1, 1}, {1, 1, 1, 0}, {1, 1, 0, 0}, {0, 1, 1, 1}, {0, 0, 0, 0}});
  const auto filled = [&](std::int64_t margin) { return test::numbers(fills_its_length(valid.to(at::kBool), margin)); };
  EXPECT_THAT(filled(0), ElementsAre(1, 0, 0, 0, 0));
  EXPECT_THAT(filled(1), ElementsAre(1, 1, 0, 1, 0)) << "padding within a response is also removed";
  EXPECT_THAT(filled(2), ElementsAre(1, 1, 1, 1, 0));
  EXPECT_THAT(filled(5), ElementsAre(1, 1, 1, 1, 1)) << "no response is shorter than that";
}

TEST(Truncation, AResponseWithoutAnEndOrAPadIsCutOff) {
  ModelTraits traits;
  traits.end_id = 7;
  traits.pad_id = 0;
  const auto tokens_BL = test::matrix_tensor({{1, 2, 3}, {1, 2, 7}, {1, 7, 3}, {1, 0, 0}}).to(at::kLong);
  EXPECT_THAT(test::numbers(never_ends(tokens_BL, traits).to(at::kDouble)), ElementsAre(1, 0, 0, 0));
}

TEST(Truncation, WhatStandsBehindTheFirstEndIsNotValid) {
  ModelTraits traits;
  traits.end_id = 7;
  traits.pad_id = 0;
  Trajectories made;
  made.tokens_BL = test::matrix_tensor({{1, 7, 3, 7}, {1, 0, 3, 2}, {7, 7, 0, 1}, {1, 2, 3, 4}}).to(at::kLong);
  made.valid_BL = made.tokens_BL != traits.pad_id;
  drop_after_end(traits, made);
  EXPECT_THAT(test::numbers(made.valid_BL.to(at::kDouble)),
              ElementsAre(1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1));
}

TEST(Truncation, AnyOfSeveralEndTokensEndsAResponse) {
  ModelTraits traits;
  traits.end_id = 7;
  traits.pad_id = 5;
  traits.further_end_ids = {3, 9};
  EXPECT_THAT(end_ids(traits), ElementsAre(7, 3, 9));
  const auto tokens_BL = test::matrix_tensor({{0, 1, 2}, {1, 2, 3}, {9, 1, 0}, {7, 0, 0}, {1, 5, 5}}).to(at::kLong);
  EXPECT_THAT(test::numbers(never_ends(tokens_BL, traits).to(at::kDouble)), ElementsAre(1, 0, 0, 0, 0));
  for (std::int64_t token = 0; token < 12; ++token)
    EXPECT_EQ(ends_response(token, traits), ends_response(at::full({1}, token), traits).item<bool>()) << token;
  traits.further_end_ids = {};
  EXPECT_FALSE(ends_response(0, traits)) << "an unused place names no token";
  traits.end_id = -1;
  EXPECT_TRUE(end_ids(traits).empty());
}

}  // namespace drift::truncation_test
