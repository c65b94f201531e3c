// Every algorithm that ships trains, with its own masks, loss and preset.

#include <tests/support/plugins.h>
#include <tests/support/training_run.h>

namespace drift::algorithms_test {

using namespace test;
using namespace testing;

TEST(Algorithms, EachTrainsTheSmallModelForTwoSteps) {
  TrainingRuns runs;
  for (const auto& file : std::filesystem::directory_iterator(build_dir() / "lib/drift/plugins")) {
    if (file.path().extension() != ".so") continue;
    const std::string plugin = file.path().stem().string().substr(3);  // libNAME.so
    for (const Algorithm& algorithm : load_plugin(plugin).algorithms()) {
      SCOPED_TRACE(algorithm.name);
      ASSERT_THAT(runs.train(algorithm.name, "--algorithm " + algorithm.name +
                                                 " --steps 2 --set train.inner_iterations=2"
                                                 " --set filter.success_low=0.0 --set filter.success_high=1.0"),
                  prints());
      const std::string page = read_file(source_dir() / "docs/algorithms" / (algorithm.name + ".md"));
      double gradients = 0;  // a step without a group whose rewards differ has none
      for (const auto& step : metrics_of(runs.path(algorithm.name))) {
        for (const auto& [name, value] : step.items()) {
          if (name.starts_with("loss/"))
            EXPECT_THAT(page, HasSubstr("\n| `" + name.substr(5) + "` | ")) << "Metrics of its page";
        }
        if (step.contains("grad_norm") && step.at("grad_norm").is_number()) {
          EXPECT_TRUE(step.at("loss").is_number());
          gradients += step.at("grad_norm").get<double>();
        }
      }
      EXPECT_GT(gradients, 0);
    }
  }
}

}  // namespace drift::algorithms_test
