// TraceRL on blocks: its plans, the rows in which they are scored, its losses and its value model.

#include "tests/golden/set/golden_set.h"

#include <plugins/tracerl/tracerl.h>

#include <core/lab/loss_case.h>
#include <core/update/block_rows.h>
#include <core/update/generalised_advantages.h>
#include <core/update/policy_update.h>
#include <core/update/value_model.h>

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <torch/csrc/autograd/autograd.h>

namespace drift::tracerl_block_test {

using nlohmann::json;
using Settings = std::map<std::string, Parameter::Value>;

at::Tensor digits(const std::vector<std::string>& rows) {
  const auto bits = at::zeros({std::ssize(rows), static_cast<std::int64_t>(rows.at(0).size())}, at::kBool);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < rows[r].size(); ++i)
      bits[static_cast<std::int64_t>(r)][static_cast<std::int64_t>(i)] = rows[r][i] == '1';
  }
  return bits;
}

/// Numbers in rows; null is 0.
at::Tensor reals(const json& rows) {
  std::vector<double> values;
  for (const json& row : rows) {
    for (const json& one : row) values.push_back(one.is_null() ? 0 : one.get<double>());
  }
  return test::vector_tensor(values).view({std::ssize(rows), -1});
}

/// The responses of a plan's variant; token 1 with padding 0.
Trajectories responses_of(const json& variant) {
  Trajectories made;
  made.step_BL = reals(variant.at("steps")).to(at::kInt);
  const std::int64_t responses = made.step_BL.size(0);
  made.valid_BL = digits(variant.at("pad").get<std::vector<std::string>>()).logical_not();
  made.tokens_BL = made.valid_BL.to(at::kLong);
  made.commit_logprob_BL = at::zeros(made.step_BL.sizes(), at::kFloat);
  made.forwards_B = at::full({responses}, made.step_BL.max().item<std::int64_t>() + 1, at::kLong);
  const std::int64_t padded = variant.value("L0", std::int64_t{4});
  made.prompts.tokens_BP = at::full({responses, padded}, 3, at::kLong);
  made.prompts.mask_BP = at::ones({responses, padded}, at::kBool);
  made.prompts.group_B = at::arange(responses, at::kLong);
  for (std::int64_t b = 0; b < responses && variant.contains("prompt_lengths"); ++b) {
    const std::int64_t prompt = variant.at("prompt_lengths").at(static_cast<std::size_t>(b));
    made.prompts.mask_BP[b].slice(0, 0, padded - prompt).fill_(false);
  }
  return made;
}

MaskingInput input_of(const json& variant, const Trajectories& responses) {
  MaskingInput input = test::masking_input(responses);
  input.block_size = variant.at("block");
  input.pad_id = test::kPadToken;
  return input;
}

std::int64_t post_num(const json& variant) {
  return variant.at("post_num").is_null() ? -1 : variant.at("post_num").get<std::int64_t>();
}

MaskPlan rounds_of(const json& variant, const Trajectories& responses) {
  const auto strategy = test::create<MaskingStrategy>(
      "tracerl", "tracerl", {{"shrink", variant.at("shrink").get<std::int64_t>()}, {"post_num", post_num(variant)}});
  return test::draw_plan(*strategy, input_of(variant, responses));
}

ModelTraits traits_of(const json& variant) {
  ModelTraits traits;
  traits.mask_id = test::kMaskToken;
  traits.block_size = variant.at("block");
  return traits;
}

/// Where the original's row [prompt | response | noisy response] has each token of ours.
std::vector<std::int64_t> places_in_original(const BlockRow& row, std::int64_t padded, std::int64_t prompt,
                                             std::int64_t length) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < row.tokens.size(); ++i)
    places.push_back(padded - prompt + row.positions[i] + (row.copy[i] > 0 ? length : 0));
  return places;
}

void expect_views(const json& variant, const MaskPlan& plan, const Trajectories& responses) {
  const json& views = variant.at("views");
  ASSERT_EQ(plan.response_F.size(0), std::ssize(views));
  for (std::int64_t f = 0; f < plan.response_F.size(0); ++f) {
    const json& view = views[static_cast<std::size_t>(f)];
    SCOPED_TRACE(view.dump());
    EXPECT_EQ(plan.response_F[f].item<std::int64_t>(), view.at("response"));
    EXPECT_EQ(plan.term_F[f].item<std::int64_t>(), view.at("forward"));
    EXPECT_TRUE(at::equal(plan.masked_FL[f], digits({view.at("masked")})[0]));
    EXPECT_TRUE(at::equal(plan.target_FL[f], digits({view.at("scored")})[0]));
    if (!view.contains("position_ids")) continue;
    const auto row = block_rows(traits_of(variant), responses, plan, {f}, 0).at(0);
    const std::int64_t padded = variant.at("L0"),
                       prompt = variant.at("prompt_lengths").at(view.at("response").get<std::size_t>());
    const auto places = places_in_original(row, padded, prompt, variant.at("L1"));
    for (std::size_t i = 0; i < places.size(); ++i)
      EXPECT_EQ(row.positions[i], view.at("position_ids").at(static_cast<std::size_t>(places[i])).get<std::int64_t>())
          << i;
  }
}

TEST(TracerlBlockSet, RoundsAreTheOriginals) {
  for (const auto& one : test::golden_cases("plans", "tracerl_rounds")) {
    for (const auto& [name, variant] : one.numbers().at("variants").items()) {
      SCOPED_TRACE(name);
      const Trajectories responses = responses_of(variant);
      expect_views(variant, rounds_of(variant, responses), responses);
    }
  }
}

TEST(TracerlBlockSet, RandomMasksAreTheOriginalsOfTheSameNumbers) {
  for (const auto& one : test::golden_cases("plans", "block_random")) {
    for (const auto& [name, variant] : one.numbers().at("variants").items()) {
      SCOPED_TRACE(name);
      const Trajectories responses = responses_of(variant);
      const auto uniform = reals(variant.at("uniform")), threshold = reals(variant.at("threshold"));
      const auto is_masked = [&](std::int64_t b, std::int64_t, std::int64_t i) {
        return uniform[b][i].item<double>() <= threshold[b][i].item<double>();
      };
      const MaskPlan plan =
          tracerl::random_block_masks(input_of(variant, responses), 1, variant.at("method") == "coupled",
                                      post_num(variant), BlockOrigin::kResponse, is_masked);
      expect_views(variant, plan, responses);
    }
  }
}

TEST(TracerlBlockSet, RowsSeeWhatTheOriginalsSee) {
  for (const auto& one : test::golden_cases("plans", "attention_masks")) {
    for (const auto& [name, variant] : one.numbers().at("variants").items()) {
      SCOPED_TRACE(name);
      const std::int64_t padded = variant.at("L0"), length = variant.at("L1"), prompt = variant.at("prompt_length");
      json written = {{"steps", {std::vector<int>(static_cast<std::size_t>(length), 1)}},
                      {"pad", {std::string(static_cast<std::size_t>(length), '0')}},
                      {"L0", padded},
                      {"prompt_lengths", {prompt}},
                      {"shrink", 1},
                      {"post_num", 0},
                      {"block", variant.at("block")}};
      const Trajectories responses = responses_of(written);
      const BlockRow row = block_rows(traits_of(variant), responses, rounds_of(written, responses), {0}, 0).at(0);
      const auto places = places_in_original(row, padded, prompt, length);
      EXPECT_GT(std::ssize(places), prompt + length);
      for (std::size_t q = 0; q < places.size(); ++q) {
        for (std::size_t k = 0; k < places.size(); ++k) {
          const bool sees = row.copy[k] == row.copy[q]
                                ? (row.copy[q] == 0 ? row.block[k] <= row.block[q] : row.block[k] == row.block[q])
                                : row.copy[k] == 0 && row.block[k] < row.block[q];
          const std::string seen = variant.at("rows").at(static_cast<std::size_t>(places[q]));
          EXPECT_EQ(sees, seen.at(static_cast<std::size_t>(places[k])) == '1') << places[q] << " sees " << places[k];
        }
      }
    }
  }
}

TEST(TracerlBlockSet, LossesAreTheOriginals) {
  for (const auto& one : test::golden_cases("losses", "tracerl_block")) {
    const ComponentEntry* entry = test::load_plugin("tracerl").find(ComponentKind::kLossEstimator, "tracerl");
    for (const LossCase& variant : read_loss_cases(one.path(), *entry)) {
      SCOPED_TRACE(one.id + ", " + variant.variant);
      const auto loss = test::create<LossEstimator>("tracerl", "tracerl", variant.parameters);
      EXPECT_THAT(differences(evaluate_case(*loss, variant.input), variant.expected), testing::IsEmpty());
    }
  }
}

TEST(TracerlBlockSet, TheValueModelLearnsWhatTheOriginalLearns) {
  for (const auto& one : test::golden_cases("losses", "value_block")) {
    for (const auto& [name, of_file] : one.numbers().at("variants").items()) {
      SCOPED_TRACE(name);
      json variant = of_file;
      variant["shrink"] = 1;  // the file's steps are those after it
      const Trajectories responses = responses_of(variant);
      const MaskPlan plan = rounds_of(variant, responses);
      expect_views(variant, plan, responses);
      const auto of_views = [&](const char* key) {
        json rows;
        for (const json& view : variant.at("views")) rows.push_back(view.at(key));
        return reals(rows);
      };
      const auto old_FL = of_views("old_value");
      const auto reward_BL = variant.contains("token_reward") ? reals(variant.at("token_reward")) : at::Tensor();
      const auto tokens =
          generalised_advantages(plan, old_FL, test::vector_tensor(variant.at("reward").get<std::vector<double>>()),
                                 {.gamma = variant.at("gamma"), .lambda = variant.at("lambda")}, reward_BL);
      const auto of_plan = [&](const at::Tensor& all_BL) {
        return all_BL.index_select(0, plan.response_F) * plan.target_FL;
      };
      EXPECT_TRUE(at::allclose(of_plan(tokens.return_BL), of_views("return"), 1e-6, 1e-6));
      EXPECT_TRUE(at::allclose(of_plan(tokens.advantage_BL), of_views("advantage"), 1e-6, 1e-6));

      const at::AutoGradMode with_gradient(true);
      const auto value_FL = of_views("value").set_requires_grad(true);
      const auto loss = (clipped_value_loss(value_FL, old_FL, of_plan(tokens.return_BL), variant.at("clip")) *
                         value_weights(plan.target_FL, ValueNorm::kLength))
                            .sum();
      EXPECT_NEAR(loss.item<double>(), variant.at("expected").at("value_loss").get<double>(), 1e-6);
      EXPECT_TRUE(at::allclose(torch::autograd::grad({loss}, {value_FL})[0], of_views("gradient"), 1e-6, 1e-6));
    }
  }
}

}  // namespace drift::tracerl_block_test
