// Supervised training on block models: from given random numbers the masks, the loss and a gradient.

#include "tests/golden/set/golden_set.h"
#include "tests/support/alone.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/train/pretraining.h>
#include <core/update/policy_gradient.h>

namespace drift::sft_test {

using namespace test;

/// Texts cut out of rows that may hold several, and what a case gives for each of their tokens.
class Texts {
 public:
  /// @param place_BS  of each token in its text
  explicit Texts(const at::Tensor& place_BS) {
    const auto place_N = place_BS.reshape({-1});
    for (std::int64_t i = 0; i < place_N.numel(); ++i) {
      if (place_N[i].item<std::int64_t>() == 0) begin_.push_back(i);
    }
    begin_.push_back(place_N.numel());
  }

  std::int64_t count() const { return std::ssize(begin_) - 1; }
  std::vector<std::vector<std::int64_t>> tokens(const at::Tensor& of_BS) const {
    std::vector<std::vector<std::int64_t>> texts;
    for (std::size_t t = 0; t + 1 < begin_.size(); ++t) {
      const auto own = of_BS.reshape({-1}).slice(0, begin_[t], begin_[t + 1]).contiguous();
      texts.emplace_back(own.const_data_ptr<std::int64_t>(), own.const_data_ptr<std::int64_t>() + own.numel());
    }
    return texts;
  }
  /// Numbers of the rows' tokens, a row for each text, filled with 0.
  at::Tensor rows(const at::Tensor& of_BS) const {
    std::int64_t longest = 0;
    for (std::size_t t = 0; t + 1 < begin_.size(); ++t) longest = std::max(longest, begin_[t + 1] - begin_[t]);
    const auto rows = at::zeros({count(), longest}, of_BS.options());
    for (std::size_t t = 0; t + 1 < begin_.size(); ++t)
      rows[static_cast<std::int64_t>(t)].slice(0, 0, begin_[t + 1] - begin_[t]) =
          of_BS.reshape({-1}).slice(0, begin_[t], begin_[t + 1]);
    return rows;
  }

 private:
  std::vector<std::int64_t> begin_;
};

struct Given {
  Texts texts;
  NoiseRule rule;
  at::Tensor level_BS;    ///< which of the draws of a mask ratio a token has
  at::Tensor learned_BS;  ///< bool
};

Given given_by(const GoldenCase& golden, const SafetensorsFile& file) {
  const auto tokens_BS = file.tensor("input_ids");
  const std::int64_t block = golden.json.at("block");
  const auto place_BS = at::arange(tokens_BS.size(1), at::kLong).expand_as(tokens_BS).contiguous();
  const auto text = [](const at::Tensor& place) { return (place == 0).view({-1}).cumsum(0).sub(1).view_as(place); };
  if (golden.mode == "sft_sdar") {
    const auto packed_BS = file.tensor("position_ids");
    return {Texts(packed_BS), {PretrainNoise::kText, 0.001, 1, block}, text(packed_BS), file.tensor("labels") != -100};
  }
  if (golden.mode == "sft_fast_dllm_v2") {
    return {Texts(place_BS),
            {PretrainNoise::kComplementary, 0.001, 1, block, /*scores_first=*/false},
            at::arange(tokens_BS.numel(), at::kLong).view_as(tokens_BS).div(block, "floor"),
            file.tensor("labels") != -100};
  }
  return {Texts(place_BS),
          {PretrainNoise::kMean, 0.3, 0.8, block},
          text(place_BS),
          place_BS >= file.tensor("prompt_length").view({-1, 1})};
}

void check_log_probabilities(const SafetensorsFile& file, const at::Tensor& logprob_FL, const at::Tensor& target_FL,
                             double tolerance) {
  const std::int64_t length = target_FL.size(1) - 1;  // row j - 1 is of token j
  const auto token_FL1 = file.tensor("input_ids").repeat({2, 1}).narrow(1, 1, length).unsqueeze(2);
  const auto logits_FLV = file.tensor("noisy_logits").narrow(1, 0, length);
  const auto expected_FL = logits_FLV.log_softmax(-1).gather(2, token_FL1).squeeze(2);
  const auto scored_FL = target_FL.narrow(1, 1, length);
  EXPECT_TRUE(at::allclose(logprob_FL.narrow(1, 1, length).masked_select(scored_FL),
                           expected_FL.masked_select(scored_FL), 1e-5, tolerance));
}

/// @param packed_tokens  UpdateBatch::packed_tokens
void check(const GoldenCase& golden, std::int64_t packed_tokens) {
  const auto file = golden.tensors();
  const auto [texts, rule, level_BS, learned_BS] = given_by(golden, file);
  auto batch = responses_to_learn(no_prompts(texts.count()), texts.tokens(file.tensor("input_ids")), 0, 0);
  batch.texts.label_BL = texts.rows(learned_BS);
  const auto level_N = file.tensor("draw_t").to(at::kDouble).view({-1}).index_select(0, level_BS.reshape({-1}));
  const auto chance_BS = file.tensor("draw_u").to(at::kDouble).view_as(level_BS);
  auto plan = rule.plan(batch.texts, {texts.rows(level_N), texts.rows(chance_BS)});
  auto masked_FL = texts.rows(file.tensor("masked"));
  if (file.find("masked_complement") != nullptr)
    masked_FL = at::cat({masked_FL, texts.rows(file.tensor("masked_complement"))});
  EXPECT_TRUE(at::equal(plan.masked_FL, masked_FL != 0));

  const auto model = golden.model();
  auto update = update_batch(batch.trajectories, at::ones({texts.count()}), plan, /*group_size=*/1);
  update.packed_tokens = packed_tokens;
  const auto computed = policy_gradient(alone, *model, PretrainingLoss(), update, std::int64_t{1} << 30);
  EXPECT_NEAR(computed.loss, golden.json.at("loss").get<double>(), 1e-3);
  if (file.find("noisy_logits") != nullptr)
    check_log_probabilities(file, computed.current_FL, plan.target_FL, golden.json.at("atol"));
  std::size_t compared = 0;
  const auto tolerances = golden.json.value("grad_atol", nlohmann::json::object());
  for (std::size_t p = 0; p < computed.gradients.size(); ++p) {
    const auto name = model->parameters()[p].name;
    if (!tolerances.contains(name)) continue;
    EXPECT_TRUE(at::allclose(computed.gradients[p], file.tensor("grad." + name), 1e-5, tolerances[name].get<double>()))
        << name;
    ++compared;
  }
  EXPECT_EQ(compared, tolerances.size());
}

TEST(GoldenSft, MasksLossesAndGradientsAreTheOriginals) {
  for (const auto& golden : golden_cases("sft")) {
    for (const std::int64_t packed_tokens : {0, 64, 4096}) {
      SCOPED_TRACE(golden.id + ", packed to " + std::to_string(packed_tokens));
      check(golden, packed_tokens);
    }
  }
}

}  // namespace drift::sft_test
