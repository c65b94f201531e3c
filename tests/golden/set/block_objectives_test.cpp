// Plans of DiPO, EBPO and CJ-GRPO: a golden set's step maps and random numbers go in, the masks and weights of the
// originals come out.

#include "tests/golden/set/golden_set.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

#include <drift/plan_builder.h>

#include <plugins/ebpo/ebpo.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace drift::block_objectives_test {

using namespace testing;
using Json = nlohmann::json;

/// Responses of a case's lengths behind left-padded prompts.
struct Batch {
  Trajectories trajectories;
  MaskingInput input;
};

/// @param steps  of each token, from 0; below: no token
std::unique_ptr<Batch> batch_of(const Json& variant, const std::vector<std::vector<std::int64_t>>& steps) {
  const auto prompts = variant.at("prompt_lengths").get<std::vector<std::int64_t>>();
  const auto count = static_cast<std::int64_t>(prompts.size());
  const std::int64_t width = std::ranges::max(prompts);
  std::size_t length = 0;
  for (const auto& row : steps) length = std::max(length, row.size());
  auto batch = std::make_unique<Batch>();
  Trajectories& made = batch->trajectories;
  made.prompts = {at::ones({count, width}, at::kLong), at::ones({count, width}, at::kBool),
                  at::arange(count, at::kLong)};
  made.step_BL = at::full({count, static_cast<std::int64_t>(length)}, -1, at::kInt);
  for (std::int64_t b = 0; b < count; ++b) {
    const auto& row = steps[static_cast<std::size_t>(b)];
    made.prompts.mask_BP[b].narrow(0, 0, width - prompts[static_cast<std::size_t>(b)]).fill_(false);
    for (std::size_t i = 0; i < row.size(); ++i) made.step_BL[b][static_cast<std::int64_t>(i)] = row[i];
  }
  made.valid_BL = made.step_BL >= 0;
  made.tokens_BL = at::full(made.step_BL.sizes(), test::kWordToken, at::kLong);
  made.commit_logprob_BL = at::zeros(made.step_BL.sizes(), at::kFloat);
  made.forwards_B = at::full({count}, 99, at::kLong);
  batch->input = test::masking_input(made);
  batch->input.block_size = variant.at("block");
  return batch;
}

std::string digits(const at::Tensor& rows_FL, std::int64_t view) {
  std::string text;
  for (const double bit : test::numbers(rows_FL, view)) text += bit != 0 ? '1' : '0';
  return text;
}

TEST(GoldenDipo, RoundsAreTheOriginals) {
  for (const auto& one : test::golden_cases("plans", "dipo_rounds")) {
    const Json all = one.numbers();
    for (const auto& [name, variant] : all.at("variants").items()) {
      SCOPED_TRACE(one.id + " " + name);
      auto steps = variant.at("steps").get<std::vector<std::vector<std::int64_t>>>();
      for (auto& row : steps)
        for (auto& step : row) step = std::max<std::int64_t>(step, 0) - 1;  // the original counts from 1
      const auto batch = batch_of(variant, steps);
      const std::int64_t shrink = variant.at("shrink");
      const auto strategy = test::create<MaskingStrategy>("dipo", "dipo", {{"shrink", shrink}});
      const MaskPlan plan = test::draw_plan(*strategy, batch->input);
      const Json& views = variant.at("views");
      ASSERT_EQ(plan.response_F.size(0), std::ssize(views));
      std::int64_t empty = 0;
      for (std::int64_t f = 0; f < std::ssize(views); ++f) {
        const Json& view = views[static_cast<std::size_t>(f)];
        EXPECT_EQ(plan.response_F[f].item<std::int64_t>(), view.at("response").get<std::int64_t>());
        EXPECT_EQ(plan.term_F[f].item<std::int64_t>(), view.at("forward").get<std::int64_t>());
        // Behind a response there is no text in the original, and here masks, as in the block that was decoded.
        const std::size_t length = variant.at("response_lengths")[view.at("response").get<std::size_t>()];
        EXPECT_EQ(digits(plan.masked_FL, f).substr(0, length), view.at("masked").get<std::string>().substr(0, length));
        EXPECT_EQ(digits(plan.target_FL, f), view.at("scored").get<std::string>());
        --empty;
      }
      if (shrink == 1) {
        empty += plan.terms * std::ssize(steps);
        EXPECT_EQ(empty, variant.at("empty_rows_added").get<std::int64_t>());
      }
    }
  }
}

TEST(GoldenCjGrpo, WeightsOfTokensAreTheOriginals) {
  for (const auto& one : test::golden_cases("plans", "cj_weights")) {
    const Json all = one.numbers();
    for (const auto& [name, variant] : all.at("variants").items()) {
      SCOPED_TRACE(one.id + " " + name);
      const auto batch = batch_of(variant, variant.at("local_step"));
      const std::string origin = variant.at("block_origin") == "global" ? "text" : "response";
      const auto strategy = test::create<MaskingStrategy>(
          "dipo", "dipo", {{"token_weights", std::string("transition")}, {"blocks_from", origin}});
      const MaskPlan plan = test::draw_plan(*strategy, batch->input);
      EXPECT_EQ(plan.block_origin, origin == "text" ? BlockOrigin::kText : BlockOrigin::kResponse);
      at::Tensor weight_BL = at::zeros(batch->trajectories.step_BL.sizes(), at::kFloat);
      weight_BL.index_add_(0, plan.response_F, plan.token_weight_FL * plan.target_FL);
      const auto mass_F = (plan.token_weight_FL * plan.target_FL).sum(1);
      for (std::int64_t b = 0; b < weight_BL.size(0); ++b) {
        auto expected = variant.at("token_weight")[static_cast<std::size_t>(b)].get<std::vector<double>>();
        expected.resize(static_cast<std::size_t>(weight_BL.size(1)));
        EXPECT_THAT(test::numbers(weight_BL, b), Pointwise(DoubleNear(1e-6), expected));
      }
      std::vector<double> masses(variant.at("step_masses").size());
      for (std::int64_t f = 0; f < mass_F.size(0); ++f)
        masses[static_cast<std::size_t>(plan.term_F[f].item<std::int64_t>())] += mass_F[f].item<double>();
      EXPECT_THAT(masses, Pointwise(DoubleNear(1e-6), variant.at("step_masses").get<std::vector<double>>()));
    }
  }
}

TEST(GoldenEbpo, MasksOfGivenDrawsAreTheOriginals) {
  for (const auto& one : test::golden_cases("plans", "ebpo_masks")) {
    const Json all = one.numbers();
    for (const auto& [name, variant] : all.at("variants").items()) {
      SCOPED_TRACE(one.id + " " + name);
      std::vector<std::vector<std::int64_t>> steps;
      for (const std::size_t length : variant.at("response_lengths")) steps.emplace_back(length, 0);
      const auto batch = batch_of(variant, steps);
      const auto blocks =
          ebpo::tokens_of_blocks(Responses(batch->input), batch->input.block_size,
                                 variant.at("block_origin") == "global" ? BlockOrigin::kText : BlockOrigin::kResponse);
      std::int64_t count = 0;
      for (const auto& of_response : blocks) count += std::ssize(of_response);
      EXPECT_EQ(count, variant.at("blocks_in_batch").get<std::int64_t>());
      const Json& levels = variant.at("levels");
      for (const Json& forward : variant.at("forwards")) {
        std::size_t i = 0;
        for (std::size_t b = 0; b < blocks.size(); ++b) {
          std::string masked(forward.at("masked")[b].get<std::string>().size(), '0');
          std::vector<double> share(masked.size());
          for (const std::vector<std::int64_t>& tokens : blocks[b]) {
            const double level = levels.is_null() ? ebpo::level_of_block(forward.at("offset")[0].get<double>(),
                                                                         static_cast<std::int64_t>(i), count)
                                                  : levels[i].get<double>();
            const std::int64_t masks = ebpo::masks_of_block(level, std::ssize(tokens));
            for (std::int64_t k = 0; k < masks; ++k) {
              const auto token = static_cast<std::size_t>(
                  tokens[forward.at("permutations")[i][static_cast<std::size_t>(k)].get<std::size_t>()]);
              masked[token] = '1';
              share[token] = static_cast<double>(masks) / static_cast<double>(tokens.size());
            }
            ++i;
          }
          EXPECT_EQ(masked, forward.at("masked")[b].get<std::string>());
          EXPECT_THAT(share, Pointwise(DoubleNear(1e-6), forward.at("p")[b].get<std::vector<double>>()));
        }
      }
    }
  }
}

}  // namespace drift::block_objectives_test
