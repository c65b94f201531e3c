// What decoders of block models do in one forward: plans, distributions that are drawn from, LMDeploy's choice.

#include "plugins/rollouts/block/commit_rule.h"

#include <drift/commits.h>
#include <drift/sampling.h>

#include "tests/golden/set/golden_set.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>

namespace drift::decode_units_test {

using block::BlockSettings;

BlockSettings settings_of(std::int64_t size, std::int64_t steps) {
  BlockSettings settings;
  settings.block = size;
  settings.block_steps = steps;
  settings.schedule = block::Schedule::kStatic;
  return settings;
}

TEST(BlockPlans, DivideABlockOverItsSteps) {
  const auto golden = test::golden_cases("unit", "block_plans").front().numbers();
  for (const auto& [name, plan] : golden.items()) {
    const auto slash = name.find('/');
    const auto made = block_plan(settings_of(std::stol(name.substr(0, slash)), std::stol(name.substr(slash + 1))));
    for (std::size_t t = 0; t < plan.size(); ++t) EXPECT_EQ(made[t], plan[t].get<std::int64_t>()) << name;
  }
}

/// The probability of each id where it can be drawn, else 0.
at::Tensor drawn_probabilities(const at::Tensor& logits_NV, const SamplingOptions& options) {
  const std::int64_t rows = logits_NV.size(0), ids = logits_NV.size(1);
  const auto row_M = at::arange(rows, at::kLong).repeat_interleave(ids);
  const auto id_M = at::arange(ids, at::kLong).repeat({rows});
  auto low_M = at::zeros({rows * ids}, at::kDouble), high_M = at::ones({rows * ids}, at::kDouble);
  for (int halving = 0; halving < 45; ++halving) {
    const auto middle_M = (low_M + high_M) / 2;
    const auto token_M = sample_tokens(logits_NV, row_M, middle_M, options).token_M;
    low_M = at::where(token_M <= id_M, middle_M, low_M);
    high_M = at::where(token_M >= id_M, middle_M, high_M);
  }
  const auto drawn = sample_tokens(logits_NV, row_M, (low_M + high_M) / 2, options);
  return at::where(drawn.token_M == id_M, drawn.confidence_M, 0.0).view({rows, ids});
}

SamplingOptions options_of(const nlohmann::json& given) {
  SamplingOptions options;
  options.temperature = given.at("temperature").get<double>();
  options.top_k = given.value("top_k", std::int64_t{0});
  options.top_k_first = 1;
  options.confidence_of = ConfidenceOf::kDraw;
  if (options.temperature > 0) options.top_p = given.at("top_p").get<double>();
  if (options.temperature == 0) options.temperature = 1;
  return options;
}

TEST(Distributions, AreThoseThatTheOriginalsDrawFrom) {
  for (const char* id : {"unit_filters", "unit_fast_dllm_v2_top_p"}) {
    const auto golden = test::golden_cases("unit", id).front();
    const auto tensors = golden.tensors();
    for (std::size_t i = 0; i < golden.json.at("settings").size(); ++i) {
      const auto expected = tensors.tensor("probs_" + std::to_string(i));
      const auto made = drawn_probabilities(tensors.tensor("logits"), options_of(golden.json["settings"][i]));
      // Which of equal ids are drawn is nobody's business.
      const auto sorted = [](const at::Tensor& probability) { return std::get<0>(probability.sort(1)); };
      EXPECT_TRUE(at::allclose(sorted(made), sorted(expected), 0, 1e-6)) << id << " " << i;
      const auto same = (made - expected).abs().amax(1) <= 1e-6;
      EXPECT_GE(same.sum().item<std::int64_t>(), same.size(0) - (golden.id == "unit_filters" ? 2 : 0))
          << id << " " << i;
    }
  }
}

TEST(Lmdeploy, ChoosesThesePositions) {
  for (const auto& golden : test::golden_cases("unit", "unit_lmdeploy")) {
    const auto& given = golden.json.at("settings");
    const std::string strategy = given.at("strategy");
    const std::int64_t size = given.at("block_length");
    auto settings = settings_of(size, given.at("denoising_steps").get<std::int64_t>());
    settings.quirks.drops_remainder = true;
    if (strategy == "low_confidence_dynamic") {
      settings.schedule = block::Schedule::kDynamic;
      settings.block_steps = size;
      settings.threshold = given.at("confidence_threshold");
    }
    const auto tensors = golden.tensors();
    const auto in_blocks = [&](const char* name) { return tensors.tensor(name).view({-1, size}); };
    const auto probability = at::softmax(tensors.tensor("logits"), -1);
    auto score_RK = probability.gather(1, tensors.tensor("token_ids").unsqueeze(1)).view({-1, size});
    auto open_RK = in_blocks("mask") == 0;
    if (strategy == "sequential") {
      // Its window counts positions that are committed already, which no sequential decoder leaves behind a mask.
      const auto place_K = at::arange(size, at::kLong);
      score_RK = -place_K.to(at::kFloat).expand_as(score_RK);
      open_RK = open_RK & (place_K < open_RK.to(at::kInt).argmax(1, true) + block_plan(settings).front());
    }
    const auto least_R = at::full({open_RK.size(0)}, block_plan(settings).front(), at::kLong);
    const auto rule = block_rule(settings, least_R, score_RK, open_RK);
    const auto failed = at::zeros({}, at::kBool);
    const auto chosen_RK =
        choose_commits(at::where(open_RK, score_RK, -std::numeric_limits<float>::infinity()), rule, failed);
    EXPECT_TRUE(at::equal(chosen_RK, open_RK & (in_blocks("new_mask") != 0))) << golden.id;
  }
}

}  // namespace drift::decode_units_test
