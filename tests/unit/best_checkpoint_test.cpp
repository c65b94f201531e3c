// [train] keep_best: which step checkpoints/best holds. The loop is the real one, and accuracies are given.

#include "tests/support/tensors.h"

#include <core/io/checkpoint.h>
#include <core/train/loop.h>

#include <tests/support/support.h>
#include <tests/support/tiny_model.h>

namespace drift::best_checkpoint_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

void fill(const Model& model, std::int64_t step) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& one : model.parameters()) at::Tensor(one.tensor).fill_(step);
}

std::size_t step_of(const Model& model) {
  return static_cast<std::size_t>(model.parameters()[0].tensor.flatten()[0].item<double>());
}

/// After step n all weights are n.
class Counting : public Training {
 public:
  explicit Counting(const Model& model) : model_(model) {}
  StepRecord run(std::int64_t step) override {
    fill(model_, step);
    StepRecord record;
    record.step = step;
    record.seconds.emplace();
    return record;
  }
  std::vector<NamedTensor> state() const override { return {}; }
  std::vector<TensorPart> state_parts() const override { return {}; }
  void load_state(const std::vector<NamedTensor>&) override {}

 private:
  const Model& model_;
};

class BestCheckpoint : public Test {
 protected:
  BestCheckpoint() {
    settings_.keep_best = true;
    settings_.evaluate_every = 1;
    settings_.model_config_json = "{}";
  }

  /// As many steps as there are accuracies behind the one before the first step. A run that has begun goes on.
  void train(const std::vector<double>& accuracies) {
    const bool begun = RunFolder::has_begun(path());
    const RunFolder folder = begun ? RunFolder::open(path()) : RunFolder::create(path());
    const TinyModel model(7, 4, at::kFloat);
    fill(model, 0);
    Counting training(model);
    Ranks ranks;
    KeptWarnings warnings;
    settings_.steps = std::ssize(accuracies) - 1;
    TrainingLoop loop(
        ranks, warnings, settings_, training, model, &folder,
        [&] { return HeldOutResult{.accuracy = accuracies.at(step_of(model)), .items = 10}; },
        [](const StepRecord&) {});
    if (const auto point = folder.resume_point()) {
      load_parameters(point->folder, model.parameters());
      loop.resume(*point);
    }
    loop.run();
  }
  /// The step whose weights checkpoints/best holds, all of its files as they were written; -1: there is none.
  std::int64_t best() const {
    const fs::path folder = path() / "checkpoints/best";
    if (!fs::exists(folder)) return -1;
    verify_checkpoint(folder);
    const TinyModel model(7, 4, at::kFloat);
    load_parameters(folder, model.parameters());
    return static_cast<std::int64_t>(step_of(model));
  }
  std::set<std::string> checkpoints() const { return names_in(path() / "checkpoints"); }
  void go_back_to(const std::string& step) const {
    fs::remove(path() / "checkpoints/last");
    fs::create_symlink(step, path() / "checkpoints/last");
  }

  fs::path path() const { return folder_.path() / "run"; }
  TemporaryFolder folder_;
  LoopSettings settings_;
};

TEST_F(BestCheckpoint, IsTheStepOfTheHighestAccuracyAndStaysWhenLaterOnesAreWorse) {
  train({0.2, 0.1, 0.5, 0.4, 0.5, 0.3});
  EXPECT_EQ(best(), 2) << "the first of two equal ones";
  EXPECT_THAT(checkpoints(), ElementsAre("best", "last", "step-000002", "step-000005"));
  EXPECT_EQ(fs::read_symlink(path() / "checkpoints/last"), "step-000005");
}

TEST_F(BestCheckpoint, IsNotThereUntilTheModelIsBetterThanBeforeTraining) {
  train({0.4, 0.1, 0.4, 0.3});
  EXPECT_EQ(best(), -1);
  train({0.4, 0.1, 0.4, 0.3, 0.5, 0.2});
  EXPECT_EQ(best(), 4);
}

TEST_F(BestCheckpoint, AStepThatIsNotEvaluatedIsNone) {
  settings_.evaluate_every = 2;
  settings_.checkpoint_every = 3;
  settings_.keep_checkpoints = 9;
  train({0.2, 0.9, 0.3, 0.9, 0.1, 0.9, 0.2, 0.2});
  EXPECT_EQ(best(), 2);
  EXPECT_THAT(checkpoints(), ElementsAre("best", "last", "step-000002", "step-000003", "step-000006", "step-000007"));
}

TEST_F(BestCheckpoint, AResumedRunKnowsTheBestSoFar) {
  train({0.2, 0.1, 0.5, 0.3});
  train({0.2, 0.1, 0.5, 0.3, 0.4, 0.4});
  EXPECT_EQ(best(), 2);
  train({0.2, 0.1, 0.5, 0.3, 0.4, 0.4, 0.6, 0.1});
  EXPECT_EQ(best(), 6);
  EXPECT_THAT(checkpoints(), ElementsAre("best", "last", "step-000006", "step-000007"));
}

TEST_F(BestCheckpoint, OfARunThatWentBackIsNotAStepThatItDoesAgain) {
  settings_.checkpoint_every = 1;
  settings_.keep_checkpoints = 9;
  train({0.2, 0.3, 0.1, 0.8, 0.1});
  ASSERT_EQ(best(), 3);
  go_back_to("step-000002");
  train({0.2, 0.3, 0.1, 0.2, 0.2});
  EXPECT_EQ(best(), 1) << "it is still there";
  go_back_to("step-000002");
  train({0.2, 0.3, 0.1, 0.9, 0.2});
  ASSERT_EQ(best(), 3);
  go_back_to("step-000002");
  settings_.keep_best = false;
  train({0.2, 0.3, 0.1, 0.2, 0.2});
  EXPECT_EQ(best(), -1) << "other weights are in its folder";
}

TEST_F(BestCheckpoint, IsLinkedWhenARunWasKilledBeforeItsFirstLinks) {
  train({0.2, 0.4});
  for (const char* link : {"best", "last"}) fs::remove(path() / "checkpoints" / link);
  train({0.2, 0.4, 0.3});
  EXPECT_EQ(best(), 1);
}

TEST_F(BestCheckpoint, IsKeptOnlyWhereItIsAskedFor) {
  settings_.keep_best = LoopSettings().keep_best;
  train({0.2, 0.1, 0.5, 0.4});
  EXPECT_THAT(checkpoints(), ElementsAre("last", "step-000003"));
}

}  // namespace drift::best_checkpoint_test
