// Evaluations from the inside: a task, a rollout and a reward of this test's own on a model that ships. What was begun
// continues, or the reason why it cannot is reported, and what could not be judged is judged later.

#include "tests/support/tensors.h"

#include <core/config/diagnostic.h>
#include <core/eval/evaluation.h>

#include <drift/registry.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <tests/support/plugins.h>
#include <tests/support/support.h>

#include <atomic>

namespace drift::evaluation_test {

using namespace testing;

std::atomic<bool> g_sandbox_works{true};
std::atomic<int> g_batches{0};

/// Items "0", "1", …, 10 of them. What changes `salt` changes every question.
class NumberTask final : public Task {
 public:
  explicit NumberTask(const Parameters& params) : salt_(params.get<std::string>("salt")) {}
  void training_item(std::int64_t index, const RandomStream&, TaskItem& item) const override {
    held_out_item(index, item);
  }
  std::int64_t held_out_size() const override { return 10; }
  void held_out_item(std::int64_t index, TaskItem& item) const override {
    item.id = std::to_string(index);
    item.prompt = std::string(static_cast<std::size_t>(1 + index % 4), '3') + salt_;
    item.reference = item.id;
  }

 private:
  std::string salt_;
};

/// Response n is digit 1 + n % 4 and the end, whatever the model says; behind that there may be another digit.
class CountingRollout final : public Rollout {
 public:
  explicit CountingRollout(const Parameters& params)
      : length_(params.get<std::int64_t>("length")), goes_on_(params.get<bool>("goes_on")) {}
  std::int64_t response_length() const override { return length_; }
  void generate(const RolloutInput& input, Trajectories& trajectories) const override {
    ++g_batches;
    const std::int64_t rows = input.prompts.tokens_BP.size(0), end = input.policy->traits().end_id;
    trajectories.prompts = input.prompts;
    trajectories.tokens_BL = at::full({rows, length_}, end, at::kLong);
    for (std::int64_t b = 0; b < rows; ++b) {
      std::int64_t* const tokens = trajectories.tokens_BL.data_ptr<std::int64_t>() + b * length_;
      tokens[0] = 6 + (input.first_response + b) % 4;
      if (goes_on_) tokens[2] = tokens[0];
    }
    trajectories.valid_BL = trajectories.tokens_BL.ne(input.policy->traits().pad_id);
    trajectories.step_BL = at::zeros({rows, length_}, at::kInt);
    trajectories.commit_logprob_BL = at::zeros({rows, length_}, at::kFloat);
    trajectories.forwards_B = at::ones({rows}, at::kLong);
  }

 private:
  std::int64_t length_;
  bool goes_on_;
};

/// Even items are solved. Item 3 needs a sandbox.
class ParityReward final : public Reward {
 public:
  explicit ParityReward(const Parameters&) {}
  void score(const RewardRequest& request, RewardResult& result) const override {
    if (request.item->id == "3" && !g_sandbox_works) {
      result.status = RewardStatus::kInfrastructure;
      result.reason = "no sandbox";
      return;
    }
    result.solved = (request.item->id.front() - '0') % 2 == 0;
    result.value = result.solved ? 1 : 0;
    result.status = result.solved ? RewardStatus::kOk : RewardStatus::kWrong;
  }
};

const Registry& registry() {
  static const Registry all = [] {
    Registry registry = test::load_plugin("llada");
    registry.add<NumberTask>("numbers", "", {{"salt", "", ""}});
    registry.add<CountingRollout>("counting", "", {{"length", 4, ""}, {"threshold", 0.5, ""}, {"goes_on", false, ""}});
    registry.add<ParityReward>("parity", "");
    return registry;
  }();
  return all;
}

class Evaluations : public testing::Test {
 protected:
  Evaluations() {
    g_sandbox_works = true;
    g_batches = 0;
    test::write_file(file(), R"([model]
path = ")" + (test::source_dir() / "assets/sudoku-llada").string() +
                                 R"("
[task]
name = "numbers"
[reward]
name = "parity"
[rollout]
name = "counting"
[evaluation]
batch_size = 4
)");
  }

  mutable RunHost host_{registry()};

  std::filesystem::path file() const { return folder_.path() / "run.toml"; }
  std::filesystem::path out() const { return folder_.path() / "out"; }

  Evaluation evaluation(const std::vector<std::string>& settings = {}, bool kept = true) const {
    std::vector<ConfigOverride> overrides;
    for (const std::string& setting : settings) overrides.push_back(ConfigOverride::from_set(setting));
    std::vector<PlannedCell> cells(1);
    cells[0].cell = {"numbers", 0, ""};
    cells[0].config = resolve_config(load_document(file(), overrides), registry(), ConfigPurpose::kEval);
    return Evaluation(host_, std::move(cells), kept ? out() : std::filesystem::path());
  }

  CellSummary run(const std::vector<std::string>& settings = {}, bool kept = true) const {
    Evaluation made = evaluation(settings, kept);
    std::ostringstream said;
    Terminal terminal(said, {});
    EXPECT_EQ(made.run(terminal), 0);
    return made.summaries().front();
  }

  std::string error_of(const std::vector<std::string>& settings) const {
    try {
      evaluation(settings);
      return "no error";
    } catch (const ConfigError& error) {
      return error.text(false);
    }
  }

  std::vector<std::string> responses() const {
    std::vector<std::string> texts;
    const RecordFile file(out() / "responses/numbers-4.jsonl");
    for (const ResponseRecord& record : file.records()) texts.push_back(record.id + ":" + record.response);
    return texts;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Evaluations, AnswerEveryItemInBatches) {
  const CellSummary summary = run();
  EXPECT_EQ(g_batches, 3);  // of 4, 4 and 2
  EXPECT_EQ(summary.items, 10);
  EXPECT_DOUBLE_EQ(summary.accuracy, 0.5);
  EXPECT_DOUBLE_EQ(summary.tokens, 1);
  EXPECT_DOUBLE_EQ(summary.truncated, 0);
  EXPECT_THAT(responses(), ElementsAre("0:1", "1:2", "2:3", "3:4", "4:1", "5:2", "6:3", "7:4", "8:1", "9:2"));
}

TEST_F(Evaluations, WithoutAFolderNothingIsKept) {
  EXPECT_DOUBLE_EQ(run({}, /*kept=*/false).accuracy, 0.5);
  EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(Evaluations, ContinueWhereTheyStopped) {
  run();
  const std::string whole = test::read_file(out() / "responses/numbers-4.jsonl");
  std::size_t third = 0;
  for (int line = 0; line < 3; ++line) third = whole.find('\n', third) + 1;
  test::write_file(out() / "responses/numbers-4.jsonl", whole.substr(0, third + 40));  // killed in line 4
  EXPECT_EQ(evaluation().missing(), 7);
  g_batches = 0;
  EXPECT_DOUBLE_EQ(run().accuracy, 0.5);
  EXPECT_EQ(g_batches, 2);
  EXPECT_THAT(responses(), ElementsAre("0:1", "1:2", "2:3", "3:4", "4:1", "5:2", "6:3", "7:4", "8:1", "9:2"));
  g_batches = 0;
  run();
  EXPECT_EQ(g_batches, 0);
}

TEST_F(Evaluations, MoreItemsAddToWhatIsThere) {
  EXPECT_EQ(run({"evaluation.items=4"}).items, 4);
  g_batches = 0;
  EXPECT_EQ(run().items, 10);
  EXPECT_EQ(g_batches, 2);
  EXPECT_EQ(run({"evaluation.items=3"}).items, 3);  // and fewer take nothing away
  EXPECT_EQ(responses().size(), 10u);
}

TEST_F(Evaluations, LeaveOutTheItemsThatAreKeptForChoosing) {
  EXPECT_EQ(run({"evaluation.validation_items=6"}).items, 4);
  EXPECT_THAT(responses(), ElementsAre("6:3", "7:4", "8:1", "9:2")) << "as all would have been written";
  EXPECT_THAT(error_of({"evaluation.validation_items=10"}), HasSubstr("leaves none of the task's 10 held-out items"));
}

TEST_F(Evaluations, SamplesOfAnItemStandTogether) {
  const CellSummary summary = run({"evaluation.samples=2", "evaluation.items=3"});
  EXPECT_EQ(summary.items, 3);
  EXPECT_EQ(summary.answered, 6);
  EXPECT_THAT(responses(), ElementsAre("0:1", "0:2", "1:3", "1:4", "2:1", "2:2"));
  EXPECT_THAT(error_of({}), HasSubstr("evaluation.samples: 2 there, 1 here"));
}

TEST_F(Evaluations, WhatStandsBehindTheEndIsNotJudged) {
  run({"evaluation.items=2", "rollout.goes_on=true"});
  EXPECT_THAT(responses(), ElementsAre("0:1", "1:2"));
  std::filesystem::remove_all(out());
  EXPECT_DOUBLE_EQ(run({"evaluation.items=2", "rollout.goes_on=true", "rollout.after_end=kept"}).tokens, 1);
  EXPECT_THAT(responses(), ElementsAre("0:11", "1:22"));
}

TEST_F(Evaluations, OtherSettingsAreSaidAndRefused) {
  run({"evaluation.items=2"});
  EXPECT_THAT(error_of({"rollout.threshold=0.75", "run.seed=3"}),
              AllOf(HasSubstr("evaluation.rollout.threshold: 0.5 there, 0.75 here"),
                    HasSubstr("run.seed: 0 there, 3 here"), HasSubstr("choose another folder with --out")));
  EXPECT_EQ(error_of({"evaluation.batch_size=1", "run.threads=1"}), "no error");
  EXPECT_THAT(error_of({"model.path=" + (test::source_dir() / "assets/countdown-llada").string()}),
              AllOf(HasSubstr("another checkpoint"), HasSubstr("assets/sudoku-llada there")));
  std::filesystem::remove(out() / "cells/numbers-4.json");
  EXPECT_THAT(error_of({}), HasSubstr("which says how its responses were made"));
}

TEST_F(Evaluations, ASettingThatDoesNotCountAnyMoreIsNoDifference) {
  run({"evaluation.items=2"});
  const auto file = out() / "cells/numbers-4.json";
  const std::string settings = "\"settings\": {", before = test::read_file(file);
  const auto with = [&](const std::string& setting) {
    std::string changed = before;
    changed.insert(changed.find(settings) + settings.size(), setting + ",");
    test::write_file(file, changed);
    return error_of({});
  };
  EXPECT_EQ(with(R"("rollout.threshold": "0.75")"), "no error");
  EXPECT_THAT(with(R"("reward.strict": "true")"), HasSubstr("reward.strict: true there, nothing here"));
}

// The settings are the same where a task's file holds other items: what was answered tells.
TEST_F(Evaluations, OtherItemsAreSaidAndRefused) {
  run({"evaluation.items=2"});
  const auto file = out() / "responses/numbers-4.jsonl";
  const std::string before = test::read_file(file);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = before;
    changed.replace(changed.rfind(from), from.size(), to);
    test::write_file(file, changed);
    return error_of({});
  };
  EXPECT_THAT(with("\"id\":\"1\"", "\"id\":\"7\""), HasSubstr("is of item `7`, but the task now has `1`"));
  EXPECT_THAT(with("\"reference\":\"1\"", "\"reference\":\"7\""), HasSubstr("judged with a different reference"));
  EXPECT_THAT(with("\"prompt_checksum\":\"", "\"prompt_checksum\":\"x"), HasSubstr("answers a different prompt"));
}

TEST_F(Evaluations, WhatCouldNotBeJudgedIsJudgedNextTime) {
  g_sandbox_works = false;
  const CellSummary before = run();
  EXPECT_EQ(before.unjudged, 1);
  EXPECT_EQ(before.items, 9);
  EXPECT_DOUBLE_EQ(before.accuracy, 5.0 / 9);
  EXPECT_FALSE(before.complete());

  g_sandbox_works = true;
  g_batches = 0;
  EXPECT_EQ(evaluation().missing(), 1);
  const CellSummary after = run();
  EXPECT_EQ(g_batches, 0);
  EXPECT_TRUE(after.complete());
  EXPECT_DOUBLE_EQ(after.accuracy, 0.5);
}

TEST_F(Evaluations, APromptThatDoesNotFitIsSaidBeforeAnythingIsWritten) {
  EXPECT_THAT(error_of({"rollout.length=2000"}), HasSubstr("exceeds the model's context"));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

}  // namespace drift::evaluation_test
