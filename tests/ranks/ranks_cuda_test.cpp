// Several processes with GPUs: as many as there are GPUs, and two on one, whose sums go through the host.

#include "tests/gpu/on_the_gpu.h"
#include "tests/ranks/mpirun.h"
#include "tests/support/support.h"
#include "tests/support/training_run.h"

#include <ATen/Context.h>

namespace drift::ranks_cuda_test {

using testing::HasSubstr;

class RanksCuda : public test::OnTheGpu<> {
 protected:
  void SetUp() override {
    OnTheGpu::SetUp();
    if (const auto missing = test::missing_ranks(); !IsSkipped() && !missing.empty()) GTEST_SKIP() << missing;
  }

  static std::string gpus() { return std::to_string(std::max<int>(2, at::detail::getCUDAHooks().deviceCount())); }

  static void expect_that_they_agree(const std::string& variables, const std::string& count) {
    const auto result = test::run_command(variables + test::mpirun() + "-n " + count + " " +
                                          (test::build_dir() / "tests/on_gpus").string() + " --gtest_color=no");
    EXPECT_EQ(result.status, 0) << result.output << result.error;
    EXPECT_THAT(result.output, HasSubstr("[  PASSED  ] 5 tests"));
  }
};

TEST_F(RanksCuda, EachWithAGpu) { expect_that_they_agree("", gpus()); }

TEST_F(RanksCuda, TwoOnOne) { expect_that_they_agree("CUDA_VISIBLE_DEVICES=0 ", "2"); }

TEST_F(RanksCuda, TrainTogetherWhateverTheyDivide) {
  const test::TrainingRuns runs;
  for (const std::string shard : {"none", "optimizer", "gradients", "parameters"}) {
    SCOPED_TRACE(shard);
    const auto result = test::run_command(
        "cd " + runs.path().string() + " && " + test::mpirun() + "-n " + gpus() + " " + test::program().string() +
        " train run.toml --device cuda --steps 2 --set distributed.shard=" + shard + " --out " + shard);
    ASSERT_EQ(result.status, 0) << result.output << result.error;
    const auto lines = test::metrics_of(runs.run(shard)), whole = test::metrics_of(runs.run("none"));
    ASSERT_EQ(lines.back().at("step"), 2);
    ASSERT_EQ(lines.size(), whole.size());
    for (const auto& line : lines) EXPECT_TRUE(std::isfinite(line.value("reward", 0.0)));
    for (std::size_t i = 1; i < lines.size(); ++i) {  // before the first step nothing is lost
      for (const char* metric : {"loss", "grad_norm"}) {
        const double expected = whole[i].at(metric).get<double>();
        EXPECT_NEAR(lines[i].at(metric).get<double>(), expected, 1e-3 * (1 + std::abs(expected))) << metric << ' ' << i;
      }
    }
  }
}

}  // namespace drift::ranks_cuda_test
