// `drift pretrain` with the noises of block-diffusion models.

#include <tests/support/training_run.h>

namespace drift::pretraining_command_test {

using namespace test;
using namespace testing;

class PretrainingCommand : public Test, public TrainingRuns {
 protected:
  CommandResult pretrain(const std::string& out, const std::string& model, const std::string& options) {
    return drift("pretrain " + source("configs/pretrain/sudoku" + model + ".toml") + " --out " + out +
                 " --steps 2 --set evaluation.every=0 --set evaluation.items=4 --set pretrain.batch_size=4 " + options);
  }
  double loss(const std::string& run) { return metrics_in(run).back().at("loss").get<double>(); }
};

TEST_F(PretrainingCommand, EachLearnsABlockModelAndAnotherOne) {
  for (const std::string model : {"-sdar", ""}) {
    for (const std::string noise : {"likelihood", "text", "semi_ar", "complementary", "mean"}) {
      const std::string run = noise + model;
      ASSERT_THAT(pretrain(run, model, "--set pretrain.noise=" + noise), prints());
      EXPECT_GT(loss(run), 0.1) << run;
    }
    ASSERT_THAT(pretrain("prompts" + model, model, "--set pretrain.noise=text --set pretrain.mask_prompts=true"),
                prints());
  }
}

TEST_F(PretrainingCommand, APackedRowTeachesWhatItsTextsDo) {
  ASSERT_THAT(pretrain("alone", "-sdar", ""), prints());
  ASSERT_THAT(pretrain("packed", "-sdar", "--set pretrain.packed_length=200"), prints());
  EXPECT_NEAR(loss("packed"), loss("alone"), 1e-5);
  EXPECT_EQ(metrics_in("alone").back().at("update_forwards_per_response"), 1);
  EXPECT_EQ(metrics_in("packed").back().at("update_forwards_per_response"), 0.5);
}

TEST_F(PretrainingCommand, SaysWhatDoesNotGoTogether) {
  EXPECT_THAT(pretrain("a", "", "--set pretrain.packed_length=200"),
              fails("packed_length packs rows of models with block attention"));
  EXPECT_THAT(pretrain("b", "-sdar", "--set pretrain.noise=likelihood --set pretrain.mask_prompts=true"),
              fails("noise likelihood masks responses alone"));
  EXPECT_THAT(pretrain("c", "-sdar", "--set pretrain.minimum_mask_ratio=0.5 --set pretrain.maximum_mask_ratio=0.4"),
              fails("maximum_mask_ratio is below minimum_mask_ratio"));
}

}  // namespace drift::pretraining_command_test
