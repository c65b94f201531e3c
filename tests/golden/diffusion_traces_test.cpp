// The diffusion rollout with the quirks of Dream against the greedy traces and the schedules of Dream's
// diffusion_generate.

#include <drift/rollout.h>

#include <core/boundary/model_policy.h>
#include <core/io/safetensors.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"

namespace drift::diffusion_traces_test {

using Json = nlohmann::json;
using Values = std::map<std::string, Parameter::Value>;

const std::vector<std::string> kDream{"counts_batch", "writes_any_id", "time_grid"};

std::filesystem::path data() { return test::source_dir() / "tests/golden/data"; }

Trajectories decode(const Model& model, const Values& settings, const at::Tensor& prompt_ids,
                    const at::Tensor& prompt_mask) {
  return test::roll_out("diffusion", settings, model,
                        {prompt_ids, prompt_mask, at::arange(prompt_ids.size(0), at::kLong)});
}

/// The original's settings in the names of the rollout.
Values settings_of(const Json& original) {
  const auto number = [&](const char* name, double otherwise) {
    return original.at(name).is_null() ? otherwise : original.at(name).get<double>();
  };
  return {{"length", original.at("gen_length").get<std::int64_t>()},
          {"steps", original.at("steps").get<std::int64_t>()},
          {"order", original.at("alg").get<std::string>()},
          {"order_temperature", number("alg_temp", 0)},
          {"temperature", original.at("temperature").get<double>()},
          {"top_p", number("top_p", 1)},
          {"top_k", static_cast<std::int64_t>(number("top_k", 0))},
          {"eps", original.at("eps").get<double>()},
          {"quirks", kDream}};
}

TEST(DiffusionTraces, AreWrittenTokenByTokenStepByStep) {
  int compared = 0;
  const Json manifest = Json::parse(test::read_file(data() / "manifest.json"));
  for (const Json& entry : manifest.at("cases")) {
    if (entry.value("algorithm", "") != "dream_generate") continue;
    SCOPED_TRACE(entry.at("id").get<std::string>());
    const auto model = test::open_checkpoint("dream", data() / "ckpt" / entry.at("checkpoint").get<std::string>());
    const SafetensorsFile file(data() / entry.at("file").get<std::string>());
    const auto prompt = file.tensor("prompt_ids"), tokens = file.tensor("tokens");
    const auto mask = entry.at("mask_passed").get<bool>() ? file.tensor("attention_mask").to(at::kBool)
                                                          : at::ones_like(prompt, at::kBool);
    const auto got = decode(*model, settings_of(entry.at("settings")), prompt, mask);
    EXPECT_TRUE(at::equal(got.tokens_BL, tokens.narrow(1, prompt.size(1), tokens.size(1) - prompt.size(1))));
    EXPECT_TRUE(at::equal(got.step_BL.to(at::kLong), file.tensor("commit_step")));
    EXPECT_TRUE(at::allclose(got.commit_logprob_BL.exp(), file.tensor("commit_prob"), 0, 1e-4));
    EXPECT_TRUE((got.forwards_B == entry.at("nfe").get<std::int64_t>()).all().item<bool>());
    ++compared;
  }
  EXPECT_EQ(compared, 9);
}

TEST(DiffusionTraces, CommitTheOriginalsNumberOfTokensAtEachStep) {
  const test::TinyModel model(9, 6, at::kFloat);
  int compared = 0;
  const Json schedules = Json::parse(test::read_file(data() / "unit/schedules.json"));
  for (const Json& entry : schedules.at("dream")) {
    const auto masks = entry.at("masks").get<std::int64_t>(), steps = entry.at("steps").get<std::int64_t>();
    if (masks > 60) continue;  // the model's context
    SCOPED_TRACE(std::to_string(masks) + " masks, " + std::to_string(steps) + " steps");
    const auto prompt = at::full({1, 2}, 3, at::kLong);
    const auto got = decode(model,
                            {{"length", masks},
                             {"steps", steps},
                             {"temperature", 0.0},
                             {"eps", entry.at("eps").get<double>()},
                             {"quirks", kDream}},
                            prompt, at::ones_like(prompt, at::kBool));
    std::vector<std::int64_t> commits;
    for (std::int64_t step = 0; step < steps; ++step)
      commits.push_back((got.step_BL == step).sum().item<std::int64_t>());
    EXPECT_EQ(commits, entry.at("diffusion_generate").get<std::vector<std::int64_t>>());
    EXPECT_EQ(got.forwards_B.item<std::int64_t>(), steps);
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

}  // namespace drift::diffusion_traces_test
