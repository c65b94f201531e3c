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

/// Who has a GPU of its own, whose sums NCCL makes, and who shares one.
class RanksTrainOnGpus : public RanksCuda, public testing::WithParamInterface<const char*> {};

TEST_P(RanksTrainOnGpus, TogetherWhateverTheyDivide) {
  const test::TrainingRuns runs;
  const auto train = [&](const std::string& name, const std::string& count, const std::string& options) {
    const auto result = test::run_command("cd " + runs.path().string() + " && " + GetParam() + test::mpirun() + "-n " +
                                          count + " " + test::program().string() +
                                          " train run.toml --device cuda --steps 2 --out " + name + " " + options);
    EXPECT_EQ(result.status, 0) << result.output << result.error;
    return test::metrics_of(runs.run(name));
  };
  const auto whole = train("whole", "1", "");
  for (const std::string& count : {std::string("1"), gpus()}) {
    for (const char* shard : {"none", "optimizer", "gradients", "parameters"}) {
      SCOPED_TRACE(count + " ranks, " + shard);
      const auto lines = train(shard + count, count, std::string("--set distributed.shard=") + shard);
      ASSERT_EQ(lines.back().at("step"), 2);
      ASSERT_EQ(lines.size(), whole.size());
      for (std::size_t i = 1; i < lines.size(); ++i) {  // before the first step there is no reward and no loss
        for (const char* metric : {"reward", "loss", "grad_norm"}) {
          const double expected = whole[i].at(metric).get<double>();
          EXPECT_NEAR(lines[i].at(metric).get<double>(), expected, 1e-3 * (1 + std::abs(expected)))
              << metric << ' ' << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, RanksTrainOnGpus, testing::Values("", "CUDA_VISIBLE_DEVICES=0 "),
                         [](const auto& way) { return *way.param == '\0' ? "WithGpusOfTheirOwn" : "OnOneGpu"; });

}  // namespace drift::ranks_cuda_test
