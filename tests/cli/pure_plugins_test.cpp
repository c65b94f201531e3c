// Plugins over plain arrays in the real program.

#include <tests/support/support.h>
#include <tests/support/training_run.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

namespace drift::pure_plugins_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;

class PurePlugins : public testing::Test {
 protected:
  static fs::path file(const std::string& name) {
    return test::build_dir() / "tests/plugins" / ("libtest_" + name + ".so");
  }

  test::CommandResult drift(const std::string& arguments) const {
    return test::run_command("export DRIFT_PLUGIN_PATH=" + file("").parent_path().string() + "; " +
                             runs_.command(arguments));
  }
  /// In the second pass over the responses of a step the ratios are not 1.
  void train(const std::string& loss) const {
    const auto result = drift("train run.toml --out " + loss + " --set algorithm.loss.name=" + loss +
                              " --set algorithm.loss.width=2.0 --set train.inner_iterations=2");
    ASSERT_EQ(result.status, 0) << result.error;
  }

  test::TrainingRuns runs_;
};

// Arrays are float64, the tensors of a run float32: the gradients differ by rounding.
TEST_F(PurePlugins, TensorsTrainToTheSameUpToRounding) {
  train("soft_clip_c");
  train("soft_clip");
  const auto arrays = test::metrics_of(runs_.run("soft_clip_c")), tensors = test::metrics_of(runs_.run("soft_clip"));
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
  for (const auto& plugin : nlohmann::json::parse(test::read_file(runs_.run("soft_clip_c") / "plugins.json")))
    is_recorded = is_recorded || (plugin.at("name") == "soft_clip_c" && plugin.at("tier") == "pure");
  EXPECT_TRUE(is_recorded);

  for (const std::string name : {"soft_clip_c", "near_match_c"}) {
    const auto result = drift("plugin check " + file(name).string());
    EXPECT_EQ(result.status, 0) << result.output << result.error;
  }
}

TEST_F(PurePlugins, AMistakeInTheTomlIsFoundByTheDeclaration) {
  const auto result =
      drift("train run.toml --out run --set algorithm.loss.name=soft_clip_c --set algorithm.loss.width=-1");
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.error, HasSubstr("must be >= 0"));
}

TEST_F(PurePlugins, AForgottenGradientIsAFinding) {
  const auto result = drift("plugin check " + file("pure_faults").string() + " --component loss/forgets_gradient");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("its gradient by the current value")) << result.error;
}

TEST_F(PurePlugins, AnArrayThatWasNotAskedForIsNamed) {
  const auto result = drift("plugin check " + file("pure_faults").string() + " --component loss/reads_reference");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("SIGSEGV at a null pointer: a loss in C has `old_FL`, `reference_FL` and "
                                       "`entropy_FL` only if its needs() asks"));
}

}  // namespace
}  // namespace drift::pure_plugins_test
