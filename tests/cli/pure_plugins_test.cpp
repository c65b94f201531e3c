// Plugins over plain arrays in the real program.

#include <tests/support/training_run.h>

namespace drift::pure_plugins_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

class PurePlugins : public Test, public TrainingRuns {
 protected:
  static fs::path file(const std::string& name) { return build_dir() / "tests/plugins" / ("libtest_" + name + ".so"); }

  CommandResult drift(const std::string& arguments) const {
    return run_command("export DRIFT_PLUGIN_PATH=" + file("").parent_path().string() + "; " + command(arguments));
  }
  /// In the second pass over the responses of a step the ratios are not 1.
  void train(const std::string& loss) const {
    ASSERT_THAT(drift("train run.toml --out " + loss + " --set algorithm.loss.name=" + loss +
                      " --set algorithm.loss.width=2.0 --set train.inner_iterations=2"),
                prints());
  }
};

// Arrays are float64, the tensors of a run float32: the gradients differ by rounding.
TEST_F(PurePlugins, TensorsTrainToTheSameUpToRounding) {
  train("soft_clip_c");
  train("soft_clip");
  const auto arrays = metrics_in("soft_clip_c"), tensors = metrics_in("soft_clip");
  ASSERT_THAT(arrays, SizeIs(5));
  ASSERT_THAT(tensors, SizeIs(5));
  for (std::size_t step = 1; step < arrays.size(); ++step) {
    SCOPED_TRACE(step);
    EXPECT_EQ(arrays[step].at("reward"), tensors[step].at("reward"));
    for (const char* metric : {"loss", "grad_norm"}) {
      ASSERT_EQ(arrays[step].at(metric).is_number(), tensors[step].at(metric).is_number());
      if (!arrays[step].at(metric).is_number()) continue;  // no group to learn from
      const double expected = tensors[step].at(metric).get<double>();
      EXPECT_NEAR(arrays[step].at(metric).get<double>(), expected, 1e-5 * std::max(1.0, std::abs(expected))) << metric;
    }
  }
}

TEST_F(PurePlugins, AreListedRecordedAndChecked) {
  const auto list = drift("plugin list");
  EXPECT_THAT(list.output, HasSubstr("soft_clip_c")) << list.error;
  const auto info = drift("plugin info soft_clip_c");
  EXPECT_THAT(info.output, HasSubstr("soft_clip_c 1.0.0 (Apache-2.0, tier pure)")) << info.error;
  EXPECT_THAT(info.output, HasSubstr("curvature of the weight"));

  train("soft_clip_c");
  bool is_recorded = false;
  for (const auto& plugin : read_json("soft_clip_c/plugins.json"))
    is_recorded = is_recorded || (plugin.at("name") == "soft_clip_c" && plugin.at("tier") == "pure");
  EXPECT_TRUE(is_recorded);

  for (const std::string name : {"soft_clip_c", "near_match_c"})
    EXPECT_THAT(drift("plugin check " + file(name).string()), prints());
}

TEST_F(PurePlugins, AMistakeInTheTomlIsFoundByTheDeclaration) {
  const auto result =
      drift("train run.toml --out run --set algorithm.loss.name=soft_clip_c --set algorithm.loss.width=-1");
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.error, HasSubstr("must be >= 0"));
}

TEST_F(PurePlugins, AForgottenGradientIsAFinding) {
  EXPECT_THAT(drift("plugin check " + file("pure_faults").string() + " --component loss/forgets_gradient"),
              finds("its gradient by the current value"));
}

TEST_F(PurePlugins, AnArrayThatWasNotAskedForIsNamed) {
  EXPECT_THAT(drift("plugin check " + file("pure_faults").string() + " --component loss/reads_reference"),
              finds("SIGSEGV at a null pointer: a loss in C has `old_FL`, `reference_FL` and "
                    "`entropy_FL` only if its needs() asks"));
}

}  // namespace drift::pure_plugins_test
