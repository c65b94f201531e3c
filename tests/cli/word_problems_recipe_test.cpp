// The recipe for the small model of word problems, a step of each part: from random weights to reinforcement learning.

#include <tests/support/program.h>

namespace drift::word_problems_recipe_test {

using namespace test;
using namespace testing;

TEST(WordProblemsRecipe, TrainingStartsFromWhatPretrainingMakes) {
  const ProgramFolder folder;
  const auto drift = [&](const std::string& command, const std::string& file, const std::string& name,
                         const std::string& options) {
    EXPECT_THAT(folder.drift(command + " " + source("configs/" + file) + " --out " + name +
                             " --set evaluation.items=1 --set run.threads=1 " + options),
                prints());
    const auto checkpoint = folder.path(name) / "checkpoints/step-000001";
    EXPECT_TRUE(std::filesystem::exists(checkpoint / "model.safetensors"));
    return checkpoint.string();
  };
  std::string model;
  for (const std::string part : {"1", "2", "3", "4"}) {
    const std::string from = model.empty() ? "" : " --model " + model;
    model = drift("pretrain", "pretrain/word-problems-" + part + ".toml", "part" + part,
                  "--set pretrain.steps=1 --set pretrain.batch_size=2" + from);
  }
  drift("train", "word-problems.toml", "run",
        "--set train.steps=1 --set train.prompts_per_step=1 --set train.group_size=2 --set evaluation.before=false "
        "--set filter.require_variance=false --model " +
            model);
}

}  // namespace drift::word_problems_recipe_test
