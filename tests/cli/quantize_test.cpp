// `[model] quantize` from outside: what opens, what is refused, what a run saves.

#include <tests/support/program.h>

namespace drift::quantize_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

class Quantize : public Test, public ProgramFolder {
 protected:
  /// A short quickstart.
  std::string train(const std::string& settings) const {
    return "train " + source("configs/quickstart.toml") +
           " --steps 2 --set train.prompts_per_step=2 --set evaluation.items=4 --set model.quantize=nf4 " + settings;
  }
};

TEST_F(Quantize, LogitsAreNearTheOriginals) {
  const std::string verify = "model verify " + source("tests/golden/data/ckpt/dream_a") + " --reference " +
                             source("tests/golden/data/forward/fwd_dream_a_plain.safetensors") + " --json";
  const auto difference = [&](const std::string& setting) {
    return nlohmann::json::parse(drift(verify + setting).output)["mean_difference"].get<double>();
  };
  const double wide = difference(""), four_bits = difference(" --set model.quantize=nf4");
  EXPECT_LT(wide, 1e-4);
  EXPECT_GT(four_bits, 0.01) << "nothing was packed";
  EXPECT_LT(four_bits, 2.0) << "random weights: the mean size of a logit is 3";
  EXPECT_NE(difference(" --set model.quantize=nf4_single"), four_bits);
}

TEST_F(Quantize, AnAdapterIsTrainedAndSavedAlone) {
  ASSERT_THAT(drift(train("--set adapter.kind=lora --set adapter.rank=4 --out run")), prints());
  const fs::path last = path("run/checkpoints/last");
  EXPECT_TRUE(fs::exists(last / "adapter_model.safetensors"));
  EXPECT_FALSE(fs::exists(last / "model.safetensors"));
  EXPECT_THAT(drift("eval " + source("assets/sudoku-llada") + " --adapter run/checkpoints/last --config " +
                    source("configs/quickstart.toml") + " --set model.quantize=nf4 --set evaluation.items=4"),
              prints());
  EXPECT_THAT(drift("train run/config.toml --out run --resume --set train.steps=3"), prints());
}

TEST_F(Quantize, AllWeightsAreNotTrained) {
  for (const std::string dry : {"", " --dry-run"}) {
    const auto refused = drift(train("--out run" + dry));
    EXPECT_NE(refused.status, 0);
    EXPECT_THAT(refused.error, AllOf(HasSubstr("[model] quantize = \"nf4\" freezes the weights"),
                                     HasSubstr("[adapter] kind = \"lora\"")));
  }
  EXPECT_FALSE(fs::exists(path("run")));
}

TEST_F(Quantize, ThePlanCountsFourBits) {
  const auto bytes = [&](const std::string& quantize) {
    const auto plan = drift(train("--set adapter.kind=lora --dry-run --json --set model.quantize=" + quantize));
    return nlohmann::json::parse(plan.output)["memory"]["weights"].get<double>();
  };
  EXPECT_LT(bytes("nf4"), 0.3 * bytes("none"));
}

TEST_F(Quantize, RandomWeightsAreNotPacked) {
  const auto refused = drift(train("--set adapter.kind=lora --set model.initialize=random --out run"));
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.error, HasSubstr("[model] quantize needs a checkpoint to read"));
}

}  // namespace drift::quantize_test
