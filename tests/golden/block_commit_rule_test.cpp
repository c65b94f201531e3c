// How many positions a forward of the block rollout commits, against the originals' schedules and selections, and each
// quirk beside what is done without it.

#include "plugins/rollouts/block/batch_count.h"
#include "plugins/rollouts/block/commit_rule.h"

#include <core/io/safetensors.h>

#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <ATen/ops/softmax.h>

namespace drift::block::block_commit_rule_test {
namespace {

/// A file of what the originals' functions gave alone.
std::filesystem::path unit(const std::string& file) { return test::source_dir() / "tests/golden/data/unit" / file; }

nlohmann::json schedules(const std::string& original) {
  return nlohmann::json::parse(test::read_file(unit("schedules.json"))).at(original);
}

/// Commits at each forward of one block of `masked` positions.
std::vector<std::int64_t> schedule(std::int64_t masked, std::int64_t steps, const Quirks& quirks) {
  BlockSettings settings;
  settings.length = settings.block = masked;
  settings.schedule = Schedule::kStatic;
  settings.steps = steps;
  settings.quirks = quirks;
  std::vector<std::int64_t> plan;
  for (std::int64_t left = masked; left > 0;) {
    const std::vector<float> scores(static_cast<std::size_t>(left), 0.5f);
    plan.push_back(commits(settings, {0, masked, static_cast<std::int64_t>(plan.size())}, scores));
    left -= plan.back();
  }
  return plan;
}

TEST(CommitRule, TheLinearScheduleIsLladas) {
  int compared = 0;
  for (const auto& one : schedules("num_transfer")) {
    const std::int64_t masked = one.at("masks");
    if (masked == 0) continue;
    auto plan = one.at("plan").get<std::vector<std::int64_t>>();
    while (plan.back() == 0) plan.pop_back();  // forwards after the last position are not made
    EXPECT_EQ(schedule(masked, one.at("steps"), {}), plan) << one.dump();
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

TEST(CommitRule, DreamsTimesAreTheReleases) {
  const Quirks quirks{.first_position = true, .time_grid = true};
  int compared = 0;
  for (const auto& one : schedules("dream")) {
    if (one.at("drift_block_static").is_null()) continue;
    EXPECT_EQ(schedule(one.at("masks"), one.at("steps"), quirks),
              one.at("drift_block_static").get<std::vector<std::int64_t>>())
        << one.dump();
    ++compared;
  }
  EXPECT_GT(compared, 5);
}

/// The selection of each row, as 0 and 1, from scores by position.
std::vector<std::vector<int>> selected(const at::Tensor& logits_BLV, const at::Tensor& masked_BL,
                                       const BlockSettings& settings) {
  const auto score_BL = at::softmax(logits_BLV.to(at::kDouble), -1).amax(-1).to(at::kFloat);
  std::vector<std::vector<int>> all;
  for (std::int64_t b = 0; b < logits_BLV.size(0); ++b) {
    std::vector<std::pair<float, std::size_t>> order;
    std::vector<int> row(static_cast<std::size_t>(logits_BLV.size(1)), 0);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if (masked_BL[b][at].item<std::int64_t>() == 1) order.emplace_back(score_BL[b][at].item<float>(), i);
    }
    std::ranges::stable_sort(order, std::ranges::greater(), [](const auto& one) { return one.first; });
    std::vector<float> scores;
    for (const auto& one : order) scores.push_back(one.first);
    const std::int64_t count = scores.empty() ? 0 : commits(settings, {}, scores);
    for (std::int64_t c = 0; c < count; ++c) row[order[static_cast<std::size_t>(c)].second] = 1;
    all.push_back(row);
  }
  return all;
}

std::vector<std::vector<int>> rows_of(const at::Tensor& tensor_BL) {
  std::vector<std::vector<int>> rows;
  for (std::int64_t b = 0; b < tensor_BL.size(0); ++b) {
    const std::int64_t* data = tensor_BL.const_data_ptr<std::int64_t>() + b * tensor_BL.size(1);
    rows.emplace_back(data, data + tensor_BL.size(1));
  }
  return rows;
}

TEST(CommitRule, ThresholdsSelectWhatTheOriginalsSelect) {
  const SafetensorsFile golden(unit("unit_select.safetensors"));
  for (const auto* threshold : {"0.3", "0.6", "0.999"}) {
    BlockSettings settings;
    settings.threshold = std::stod(threshold);
    const auto got = selected(golden.tensor("logits"), golden.tensor("mask_index"), settings);
    for (const auto* original : {"drift.confidence.tau", "fast.tau"}) {
      EXPECT_EQ(got, rows_of(golden.tensor(std::string(original) + threshold))) << original << threshold;
    }
  }
}

TEST(CommitRule, FactorsSelectWhatFastDllmSelects) {
  const SafetensorsFile golden(unit("unit_select.safetensors"));
  BlockSettings settings;
  settings.schedule = Schedule::kFactor;
  settings.quirks.last_rank = true;
  const std::map<std::string, std::string> inputs = {{"fast.factor", ""}, {"factor_demo.", "factor_"}};
  const std::map<std::string, std::vector<const char*>> factors = {{"fast.factor", {"0.5", "1.0", "1.5", "2.5"}},
                                                                   {"factor_demo.", {"0.5", "1.0", "2.0"}}};
  for (const auto& [name, prefix] : inputs) {
    for (const std::string factor : factors.at(name)) {
      settings.factor = std::stod(factor);
      const auto got = selected(golden.tensor(prefix + "logits"), golden.tensor(prefix + "mask_index"), settings);
      EXPECT_EQ(got, rows_of(golden.tensor(name + factor))) << name << factor;
    }
  }
}

// Each quirk and what is done without it.

TEST(Quirks, OfFastDllmIfOnlyTheLastRankFailsItIsCommittedAsWell) {
  BlockSettings settings;
  settings.schedule = Schedule::kFactor;
  settings.factor = 1;
  const std::vector<float> scores{0.9f, 0.8f, 0.5f};  // rank 3 wants 0.75
  EXPECT_EQ(commits(settings, {}, scores), 2);
  settings.quirks.last_rank = true;
  EXPECT_EQ(commits(settings, {}, scores), 3);
}

TEST(Quirks, OfDreamABlocksFirstForwardCommitsItsFirstPositionAndATimeGridMayCommitNone) {
  EXPECT_EQ(schedule(8, 8, {}), (std::vector<std::int64_t>(8, 1)));
  EXPECT_EQ(schedule(4, 4, {.first_position = true, .time_grid = true}), (std::vector<std::int64_t>{1, 0, 1, 2}));
  BlockSettings dynamic;
  dynamic.threshold = 0.5;
  const std::vector<float> sure{0.9f, 0.8f};
  EXPECT_EQ(commits(dynamic, {}, sure), 2);
  dynamic.quirks.first_position = true;
  EXPECT_EQ(commits(dynamic, {}, sure), 1);
}

/// Two responses of two blocks of two positions: the first takes 1 and 2 forwards, the second 2 and 1.
struct CountedOverTheBatch : ::testing::Test {
  CountedOverTheBatch() {
    settings.length = 4;
    settings.block = 2;
    settings.steps = 4;
    made.tokens_BL = at::tensor({5, 5, 9, 9, 9, 9, 5, 5}, at::kLong).view({2, 4});
    made.step_BL = at::tensor({0, 0, 1, 2, 0, 1, 2, 2}, at::kInt).view({2, 4});
    made.commit_logprob_BL = at::tensor({-1., -1., -1., -1., -1., -1., -1., -1.}, at::kFloat).view({2, 4});
    made.forwards_B = at::tensor({3, 3}, at::kLong);
  }

  std::vector<std::vector<int>> steps(const Quirks& quirks, std::int64_t pad_id = 0) {
    settings.quirks = quirks;
    count_over_batch({{1, 2}, {2, 1}}, settings, pad_id, made);
    return rows_of(made.step_BL.to(at::kLong));
  }
  std::int64_t forwards() const { return made.forwards_B.max().item<std::int64_t>(); }

  BlockSettings settings;
  Trajectories made;
};

TEST_F(CountedOverTheBatch, RowsWaitForEachOtherAtTheEndOfABlock) {
  EXPECT_EQ(steps({}), (std::vector<std::vector<int>>{{0, 0, 2, 3}, {0, 1, 2, 2}}));
  EXPECT_EQ(forwards(), 4);
}

TEST_F(CountedOverTheBatch, ABlockThatItsFirstForwardFinishedHasAWastedOne) {
  settings.quirks.second_forward = true;
  count_over_batch({{1, 1}, {1, 1}}, settings, 0, made);
  EXPECT_EQ(forwards(), 4);
  settings.quirks = {};
  count_over_batch({{1, 1}, {1, 1}}, settings, 0, made);
  EXPECT_EQ(forwards(), 2);
}

TEST_F(CountedOverTheBatch, AScheduleIsKeptToItsEnd) {
  settings.steps = 8;
  steps({.all_forwards = true});
  EXPECT_EQ(forwards(), 8);
}

TEST_F(CountedOverTheBatch, ABlockOfPaddingInEveryRowEndsTheBatch) {
  made.tokens_BL.narrow(1, 0, 2).fill_(7);
  EXPECT_EQ(steps({.padding_ends_batch = true}, /*pad_id=*/7),
            (std::vector<std::vector<int>>{{0, 0, -1, -1}, {0, 1, -1, -1}}));
  EXPECT_EQ(forwards(), 2);
  EXPECT_TRUE((made.tokens_BL == 7).all().item<bool>());
  EXPECT_EQ(made.commit_logprob_BL.slice(1, 2).abs().sum().item<float>(), 0);
}

TEST_F(CountedOverTheBatch, ABlockOfPaddingInOneRowEndsNothing) {
  made.tokens_BL[0].narrow(0, 0, 2).fill_(7);
  EXPECT_EQ(steps({.padding_ends_batch = true}, 7), (std::vector<std::vector<int>>{{0, 0, 2, 3}, {0, 1, 2, 2}}));
}

}  // namespace
}  // namespace drift::block::block_commit_rule_test
