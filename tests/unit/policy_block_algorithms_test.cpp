// Every algorithm on a model with full attention and on one with blocks: an optimizer step runs, or an error says why
// it cannot.

#include <core/base/trainable.h>
#include <core/update/policy_update.h>
#include <core/update/reference_policy.h>
#include <drift/error.h>

#include "tests/support/alone.h"
#include "tests/support/block_responses.h"
#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/updates.h"

namespace drift::policy_block_algorithms_test {

using Settings = std::map<std::string, Parameter::Value>;

struct AlgorithmRow {
  std::string algorithm;
  Settings masking;
  std::string refusal;  ///< of a model with blocks; empty: an optimizer step runs
};

const std::vector<AlgorithmRow> kAlgorithms = {
    {"rldf", {}, ""},
    {"d1", {}, ""},
    {"d1", {{"mask_post_eos_keys", true}}, ""},
    {"wd1", {}, ""},
    {"wd1", {{"mask_post_eos_keys", true}}, ""},
    {"tracerl", {}, ""},
    {"tracerl", {{"blocks_from", std::string("text")}}, ""},
    {"spg", {}, ""},
    {"coupled_grpo", {}, ""},
    {"espo", {}, ""},
    {"agrpo", {}, ""},
    {"unigrpo", {}, ""},
    {"gdpo", {}, ""},
    {"d2", {}, ""},
    {"bgpo", {}, ""},
    {"mdpo", {}, ""},
    {"vrpo", {}, ""},
    {"dipo", {}, ""},
    {"ebpo", {}, ""},
    {"cj_grpo", {}, ""},
};

/// One optimizer step of the algorithm on the responses, with its own loss; the change of the weights.
double step_of(const AlgorithmRow& row, Model& model, Loaded<Model> same, const Trajectories& responses) {
  const Algorithm& algorithm = *test::all_plugins().find_algorithm(row.algorithm);
  const auto plugin_of = [](ComponentKind kind, const std::string& name) {
    for (const std::string& plugin : test::plugin_names()) {
      if (test::load_plugin(plugin).find(kind, name) != nullptr) return plugin;
    }
    return name;
  };
  const auto masking = test::create<MaskingStrategy>(plugin_of(ComponentKind::kMaskingStrategy, algorithm.masking),
                                                     algorithm.masking, row.masking);
  const MaskPlan plan = draw_plan(*masking, responses, model.traits(), {RandomStream(3, "masking")});
  const Loaded<LossEstimator> loss(
      test::create<LossEstimator>(plugin_of(ComponentKind::kLossEstimator, algorithm.loss), algorithm.loss),
      algorithm.loss);
  ReferencePolicy reference({ReferenceKind::kFrozen}, std::move(same));
  Optimizer optimizer(test::alone, trainable_parameters(model), test::constant_adamw(1e-3));
  PolicyUpdateSettings settings;
  settings.group_size = 2;
  settings.memory_budget = std::int64_t{1} << 30;
  const auto before = model.lm_head_VH().detach().clone();
  PolicyUpdate(test::alone, model, loss, &reference, optimizer, settings)
      .run(responses, {plan}, at::tensor({1.0, -1.0, 0.5, -0.5}, at::kDouble));
  return (model.lm_head_VH().detach() - before).abs().max().item<double>();
}

TEST(AlgorithmsOnBlocks, EveryOneTakesAStepOrSaysWhyItCannot) {
  std::set<std::string> listed;
  const Trajectories responses = test::block_trajectories();
  const auto blocks = test::source_dir() / "tests/golden/block/ckpt/sdar_a";
  const auto full = test::source_dir() / "tests/golden/data/ckpt/llada_a";
  for (const AlgorithmRow& row : kAlgorithms) {
    SCOPED_TRACE(row.algorithm);
    listed.insert(row.algorithm);
    const auto run = [&](const std::string& family, const std::filesystem::path& checkpoint) {
      const auto open = [&] { return test::open_checkpoint(family, checkpoint); };
      auto model = open();
      return step_of(row, *model, {open(), family}, responses);
    };
    const auto expect = [&](const std::string& refusal, const std::string& family,
                            const std::filesystem::path& checkpoint) {
      std::string error;
      try {
        EXPECT_GT(run(family, checkpoint), 1e-4) << family;
      } catch (const Error& thrown) {
        error = thrown.what();
      }
      EXPECT_EQ(error.empty(), refusal.empty()) << family << ": " << error;
      EXPECT_THAT(error, testing::HasSubstr(refusal)) << family;
    };
    expect("", "llada", full);
    expect(row.refusal, "sdar", blocks);
  }
  for (const Algorithm& algorithm : test::all_plugins().algorithms())
    EXPECT_TRUE(listed.contains(algorithm.name)) << algorithm.name << " is not in the table";
}

}  // namespace drift::policy_block_algorithms_test
