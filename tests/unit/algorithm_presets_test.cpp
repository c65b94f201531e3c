// Presets hold the values of their sources: the hyper-parameter tables of the specification, column by column.

#include "tests/support/plugins.h"

#include <gmock/gmock.h>

#include <limits>

namespace drift {
namespace {

/// What a preset sets a key to.
ParamValue setting(const std::string& algorithm, const std::string& preset_name, const std::string& key) {
  for (const BundlePreset& preset : test::load_plugin(algorithm).find_bundle(algorithm)->presets) {
    if (preset.name != preset_name) continue;
    for (const BundleSetting& candidate : preset.settings) {
      if (candidate.key == key) return candidate.value;
    }
    return std::string("not set");
  }
  return std::string("no such preset");
}

struct Row {
  std::string key;
  std::vector<ParamValue> values;  ///< one a column
};

void expect_table(const std::string& algorithm, const std::vector<std::string>& presets, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    ASSERT_EQ(row.values.size(), presets.size()) << row.key;
    for (std::size_t column = 0; column < presets.size(); ++column) {
      EXPECT_EQ(setting(algorithm, presets[column], row.key), row.values[column])
          << algorithm << ", " << presets[column] << ": " << row.key;
    }
  }
}

TEST(AlgorithmPresets, Rldf) {
  const double inf = std::numeric_limits<double>::infinity();
  expect_table("rldf", {"paper", "paper_dream", "drift_release", "drift_release_dream"},
               {{"algorithm.masking.k", {16, 16, 4, 4}},
                {"algorithm.masking.sample_temperature", {1.0, 1.0, 1.0, inf}},
                {"algorithm.loss.low_prob_threshold", {0.2, 0.2, 0.6, 0.6}},
                {"algorithm.loss.norm", {"sample", "sample", "token", "sample"}},
                {"algorithm.loss.beta", {0.01, 0.04, 0.01, 0.04}}});
}

TEST(AlgorithmPresets, D1) {
  expect_table("d1", {"train", "gsm8k", "math", "countdown", "sudoku", "sudoku_run_sh", "class_defaults"},
               {{"algorithm.masking.p_mask_prompt", {0.15, 0.15, 0.15, 0.15, 0.15, 0.15, 0.3}},
                {"algorithm.loss.eps_low", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.2}},
                {"algorithm.loss.eps_high", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.2}},
                {"algorithm.loss.beta", {0.04, 0.04, 0.04, 0.04, 0.04, 0.04, 0.04}},
                {"algorithm.loss.kl", {"k3", "k3", "k3", "k3", "k3", "k3", "k3"}},
                {"algorithm.loss.norm", {"token", "token", "token", "token", "token", "token", "token"}},
                {"advantage.std", {"none", "none", "none", "none", "none", "none", "none"}},
                {"train.inner_iterations", {12, 12, 12, 8, 8, 12, 1}},
                {"train.group_size", {6, 6, 6, 6, 6, 6, 8}},
                {"train.learning_rate", {3e-6, 3e-6, 3e-6, 3e-6, 3e-6, 3e-6, 1e-6}},
                {"train.gradient_clip", {0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 1.0}},
                {"rollout.block", {32, 32, 32, 32, 32, 32, 64}},
                {"rollout.steps", {128, 128, 128, 128, 128, 128, 64}},
                {"rollout.temperature", {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9}}});
}

TEST(AlgorithmPresets, Espo) {
  const std::vector<std::string> presets = {"class_defaults", "train", "gsm8k", "math", "countdown", "sudoku", "code"};
  const std::vector<std::string> demos = {"demo_llada_sudoku", "demo_dream_countdown"};
  expect_table("espo", presets,
               {{"algorithm.masking.num_mc", {1, 1, 2, 2, 2, 2, 2}},
                {"algorithm.masking.coupled", {true, true, true, true, true, true, true}},
                {"algorithm.masking.micro_batch", {8, 2, 3, 2, 3, 3, 1}},
                {"algorithm.loss.eps_low", {0.2, 0.2, 0.2, 0.2, 0.0, 0.2, 0.2}},
                {"algorithm.loss.eps_high", {0.2, 0.2, 0.2, 0.2, 0.0, 0.2, 0.2}},
                {"algorithm.loss.beta", {0.04, 0.01, 1e-3, 1e-3, 3e-3, 1e-2, 1e-2}},
                {"reference.policy", {"frozen", "frozen", "frozen", "frozen", "frozen", "frozen", "ema"}},
                {"train.inner_iterations", {1, 2, 8, 8, 8, 8, 8}},
                {"train.group_size", {8, 10, 6, 16, 6, 6, 10}},
                {"train.prompts_per_step", {8, 8, 16, 16, 16, 16, 16}},
                {"train.learning_rate", {1e-6, 1e-6, 3e-6, 3e-6, 3e-6, 3e-6, 1e-6}},
                {"train.weight_decay", {0.0, 0.1, 0.01, 0.01, 0.01, 0.01, 0.1}},
                {"train.gradient_clip", {1.0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.8}},
                {"rollout.steps", {128, 256, 256, 256, 128, 128, 256}},
                {"rollout.temperature", {1.2, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}}});
  expect_table("espo", demos,
               {{"algorithm.masking.num_mc", {1, 1}},
                {"algorithm.masking.coupled", {true, true}},
                {"algorithm.loss.eps_low", {4e-4, 4e-4}},
                {"algorithm.loss.eps_high", {4e-4, 4e-4}},
                {"algorithm.loss.beta", {1e-3, 1e-3}},
                {"train.inner_iterations", {8, 8}},
                {"train.group_size", {6, 6}},
                {"train.prompts_per_step", {2, 2}},
                {"train.learning_rate", {3e-6, 3e-6}},
                {"train.weight_decay", {0.01, 0.01}},
                {"rollout.steps", {64, 64}},
                {"rollout.remasking", {"low_confidence", "negative_entropy"}}});
}

TEST(AlgorithmPresets, CoupledGrpo) {
  expect_table("coupled_grpo", {"code", "code_dream", "class_defaults"},
               {{"algorithm.masking.end_id", {"not set", 151645, "not set"}},
                {"algorithm.masking.t_low", {0.2, 0.2, 0.2}},
                {"algorithm.masking.t_high", {0.8, 0.8, 0.8}},
                {"algorithm.loss.eps_low", {0.5, 0.5, 0.2}},
                {"algorithm.loss.eps_high", {0.5, 0.5, 0.2}},
                {"algorithm.loss.beta", {0.01, 0.01, 0.04}},
                {"advantage.baseline", {"leave_one_out", "leave_one_out", "leave_one_out"}},
                {"reference.policy", {"ema", "ema", "frozen"}},
                {"train.inner_iterations", {2, 2, 1}},
                {"train.group_size", {10, 10, 8}},
                {"train.prompts_per_step", {8, 8, 8}},
                {"train.schedule", {"cosine", "cosine", "linear"}},
                {"train.gradient_clip", {0.2, 0.2, 1.0}},
                {"rollout.steps", {256, 256, 128}},
                {"rollout.remasking", {"low_confidence", "negative_entropy", "low_confidence"}},
                {"rollout.temperature", {1.0, 1.0, 1.2}}});
}

}  // namespace
}  // namespace drift
