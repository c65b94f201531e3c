// What plugins do wrong within their calls: each is an error that names plugin, component and call, and says what.
// What ends a process, and what a run says: tests/cli/plugin_faults_cli_test.cpp.

#include "tests/support/alone.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <tests/abi/plugin_files.h>

#include <core/base/log.h>
#include <core/boundary/checked.h>
#include <core/boundary/lent.h>
#include <core/boundary/made.h>
#include <core/boundary/model_policy.h>
#include <core/plugin/plugin_loader.h>
#include <core/update/policy_gradient.h>

#include <drift/plan_builder.h>
#include <drift/random.h>
#include <drift/sampling.h>

namespace drift::plugin_faults_test {

using namespace testing;
using test::error_of;

template <class T>
Made<T> make(const std::string& fault, const ModelConfig* config = nullptr) {
  return test::make<T>("faulty", "faulty", {{"fault", fault}}, config);
}

Made<Model> make_model(const std::string& fault) {
  const ModelConfig config;
  auto model = make<Model>(fault, &config);
  checked_initialize(*model, RandomStream(1, "faulty"));
  return model;
}

Trajectories roll_out(const Rollout& rollout, const std::string& model_fault = "none") {
  const auto model = make_model(model_fault);
  const ModelPolicy policy(*model);
  RolloutInput input;
  input.policy = &policy;
  input.prompts = {at::full({2, 3}, 5, at::kLong), at::ones({2, 3}, at::kBool), at::zeros({2}, at::kLong)};
  const at::NoGradGuard no_gradient;
  return checked_trajectories(rollout, input);
}

Trajectories roll_out(const std::string& fault, const std::string& model_fault = "none") {
  return roll_out(*make<Rollout>(fault), model_fault);
}

/// As a rollout that is compared with the original that it follows.
Trajectories roll_out_as_original(const std::string& fault) {
  const ComponentEntry& entry = *test::registry_of("faulty").find(ComponentKind::kRollout, "faulty");
  return roll_out(*make_original(test::host(), entry, Parameters(entry.params, {{"fault", fault}})));
}

MaskPlan draw_plan(const std::string& fault) {
  const auto masking = make<MaskingStrategy>(fault);
  const Trajectories responses = roll_out("none");
  MaskingInput input;
  input.trajectories = &responses;
  input.response_number_B = at::arange(2, at::kLong);
  return checked_plan(*masking, input);
}

PolicyGradient update(const std::string& fault) {
  const auto loss = make<LossEstimator>(fault);
  const auto model = make_model("none");
  const Trajectories responses = roll_out("none");
  const MaskPlan plan = draw_plan("none");
  const UpdateBatch batch = update_batch(responses, at::tensor({1.0f, -1.0f}), plan, /*group_size=*/2);
  return policy_gradient(test::alone, *model, *loss, batch, 1 << 30);
}

TaskItem item(const std::string& fault) {
  return checked_training_item(*make<Task>(fault), 3, RandomStream(1, "items"));
}

RewardResult score(const std::string& fault) {
  const TaskItem of = item("none");
  return checked_verdict(*make<Reward>(fault), {"3412", &of});
}

struct Fault {
  const char* fault;
  const char* expected;
};

template <class Use>
void expect_faults(const std::string& callee, const std::vector<Fault>& faults, const Use& use) {
  compare_lent_tensors(true);  // as `drift plugin check` and debug builds do
  EXPECT_EQ(error_of([&] { use("none"); }), "");
  for (const auto& [fault, expected] : faults) {
    const std::string error = error_of([&] { use(fault); });
    EXPECT_THAT(error, StartsWith(callee + " `faulty` of plugin `faulty`, ")) << fault;
    EXPECT_THAT(error, HasSubstr(expected)) << fault;
  }
}

TEST(PluginFaults, ExceptionsOfAnyType) {
  expect_faults("reward",
                {{"error", "score: the disk is slow | buy another"},
                 {"standard", "score: index 7"},
                 {"number", "score: it threw an exception of type `int`"},
                 {"no text", "score: an exception of type `std::runtime_error` without a text"},
                 {"libtorch", "score: mat1 and mat2 shapes cannot be multiplied"},
                 {"constructor", "constructor: it threw an exception of type `int`"}},
                score);
  EXPECT_THAT(error_of([] { score("libtorch"); }), Not(HasSubstr("frame #"))) << "frames are for the log";
}

TEST(PluginFaults, LibTorchsFramesAreInTheLog) {
  const test::TemporaryFolder folder;
  open_log(folder.path() / "log.txt");
  error_of([] { score("libtorch"); });
  close_log();
  EXPECT_THAT(test::read_file(folder.path() / "log.txt"), HasSubstr("frame #"));
}

TEST(PluginFaults, TheInnermostIsToBlame) {
  EXPECT_THAT(error_of([] { roll_out("none", "error"); }),
              StartsWith("model `faulty` of plugin `faulty`, forward: the disk is slow"));
  EXPECT_THAT(error_of([] { roll_out("error", "none"); }), StartsWith("rollout `faulty`"));
}

TEST(PluginFaults, Tasks) {
  expect_faults("task",
                {{"no id", "training_item: an item has no id"},
                 {"no prompt", "training_item: item `3` has no prompt"},
                 {"bytes", "training_item: the prompt of item `3` is not UTF-8"}},
                item);
  EXPECT_THAT(error_of([] { checked_held_out_size(*make<Task>("negative size")); }),
              HasSubstr("number of items is -1"));
}

TEST(PluginFaults, Rewards) {
  expect_faults("reward",
                {{"nan", "score: the value is nan for item `3`"},
                 {"large", "score: the value is 2.000000 for item `3`"},
                 {"status", "score: the status is 77 for item `3`"}},
                score);
  std::vector<std::string> warnings;
  set_warning_listener([&](const std::string& text) { warnings.push_back(text); });
  EXPECT_EQ(score("bytes").reason, "cut\uFFFD");
  set_warning_listener({});
  EXPECT_THAT(warnings, testing::ElementsAre(HasSubstr("a reason is not UTF-8")));
}

TEST(PluginFaults, Rollouts) {
  expect_faults("rollout",
                {{"length", "response_length: the response length is 0"},
                 {"nothing", "`tokens_BL` must be int64 [2, 4] on cpu, not undefined"},
                 {"one row", "`tokens_BL` must be int64 [2, 4] on cpu, not int64 [1, 4] on cpu"},
                 {"twice as long", "not int64 [2, 8]"},
                 {"token type", "not int32 [2, 4]"},
                 {"large id", "outside the model's vocabulary of 23: 1000000 at position 2 of response 1"},
                 {"mask token", "`tokens_BL` still holds the mask token: 1 at position 3 of response 0"},
                 {"valid", "`valid_BL` must be true where a token is not padding"},
                 {"step", "`step_BL` must be the number of a forward that the response took part in, or -1: 5"},
                 {"logprob", "`commit_logprob_BL` must hold finite logarithms of probabilities: nan at position 1"},
                 {"positive", "`commit_logprob_BL` must hold finite logarithms of probabilities: 0.5"},
                 {"prompts", "`prompts` of the trajectories are not those that it was given"},
                 {"writes", "it changed `prompts.tokens_BP`, which is only lent to it"}},
                [](const std::string& fault) { roll_out(fault); });
  EXPECT_TRUE(roll_out("strided").tokens_BL.is_contiguous()) << "read row by row";
}

TEST(PluginFaults, ARolloutThatIsComparedWithItsOriginalMayWriteAsItDoes) {
  EXPECT_EQ(roll_out_as_original("mask token").tokens_BL[0][3].item<std::int64_t>(), 1);
  EXPECT_THAT(error_of([] { roll_out_as_original("large id"); }), HasSubstr("outside the model's vocabulary"));
}

TEST(PluginFaults, MaskingStrategies) {
  expect_faults("masking strategy",
                {{"unscored", "plan: the plan is not valid: no view scores a position"},
                 {"weight", "weight_F must be finite"},
                 {"mask type", "`masked_FL` must be bool [2, 4] on cpu, not float32 [2, 4] on cpu"},
                 {"sample", "response_F points beyond the responses"},
                 {"writes", "it changed `trajectories->tokens_BL`"},
                 {"pokes", "it changed `trajectories->tokens_BL`"}},
                draw_plan);
}

TEST(PluginFaults, ArgumentsOfTheHelpers) {
  expect_faults("masking strategy",
                {{"early", "PlanBuilder::mask comes before the first begin_view()"},
                 {"no response", "Responses[2]: there are 2 responses"},
                 {"position", "PlanBuilder::score(4): there are 4 positions"},
                 {"weigh", "PlanBuilder::weigh(nan): a weight must be finite"},
                 {"random", "RandomStream::below(0)"},
                 {"step", "a random point holds -1"}},
                draw_plan);
  const Trajectories made = roll_out("none");
  MaskingInput input;
  input.trajectories = &made;
  input.response_number_B = at::arange(2, at::kLong);
  EXPECT_EQ(Responses(input).forwards(1), made.forwards_B[1].item<std::int64_t>());
  EXPECT_THAT(error_of([&] { Responses(input).forwards(2); }), HasSubstr("Responses[2]: there are 2 responses"));
  EXPECT_THAT(error_of([] { PlanBuilder(-1, 0); }), HasSubstr("lengths cannot be negative"));
  EXPECT_THAT(error_of([] { PlanBuilder(4, 0).begin_view(-1, 0); }), HasSubstr("both count from 0"));
  const auto two_forwards = [] {
    PlanBuilder builder(4, 0);
    builder.begin_view(0, 1);
    builder.finish(1);
  };
  EXPECT_THAT(error_of(two_forwards), HasSubstr("finish(1): there is a view of term 1"));
  const auto draw = [](std::int64_t row, std::int64_t forbidden) {
    SamplingOptions options;
    options.forbidden_ids = {{0, forbidden}};
    sample_tokens(at::zeros({1, 3}), at::full({1}, row, at::kLong), {}, options);
  };
  EXPECT_EQ(error_of([&] { draw(0, 1); }), "");
  EXPECT_THAT(error_of([&] { draw(1, 1); }), HasSubstr("`row_M` holds 1"));
  EXPECT_THAT(error_of([&] { draw(0, 3); }), HasSubstr("leaves no token"));
}

TEST(PluginFaults, Losses) {
  expect_faults("loss",
                {{"coupling", "coupling: the coupling is unknown"},
                 {"nothing", "evaluate: the loss must be one floating-point number (0-d), not undefined"},
                 {"vector", "not float32 [2] on cpu"},
                 {"integer", "not int64 [] on cpu"},
                 {"nan", "evaluate: the loss is nan, and all log-probabilities are finite"},
                 {"detached", "evaluate: the loss does not depend on log_probs.current_FL"},
                 {"elsewhere", "gradient: the loss has a gradient, but not by the log-probabilities"},
                 {"gradient", "gradient: the gradient of the loss is not finite"},
                 {"metric name", "`../x` is not a name for a metric"},
                 {"no metric", "metric `mine` must be two numbers"},
                 {"advantage", "it changed `advantage_B`"},
                 {"old", "it changed `log_probs.old_FL`"},
                 {"target", "it changed `plan.target_FL`"},
                 {"pokes", "it changed `advantage_B`"}},
                update);
  EXPECT_TRUE(update("none").has_gradient);
  EXPECT_FALSE(update("zero").has_gradient);
}

TEST(PluginFaults, Models) {
  expect_faults("model",
                {{"hidden size", "`lm_head_VH` must be float32 [23, 9] on cpu, not float32 [23, 8] on cpu"},
                 {"mask id", "constructor: traits: mask_id is 23, outside the vocabulary of 23"},
                 {"allows mask", "forbidden_output_ids leaves out the mask id, 1"},
                 {"forbids all", "forbidden_output_ids leaves no token to write"},
                 {"double", "it is of type float64, and float32 was asked for"},
                 {"computed", "parameter `head` is no leaf"},
                 {"copies", "parameter `embedding` is not the model's own: parameters() gives another tensor"},
                 {"half filled", "initialize: it left parameter `head` without values"},
                 {"names", "two parameters have the name `embedding`"},
                 {"nan", "forward: the hidden states are not finite"},
                 {"states type", "`hidden states` must be float32 [1, 8] on cpu, not float64"},
                 {"all rows", "`hidden states` must be float32 [1, 8] on cpu, not float32 [6, 8]"},
                 {"writes", "forward: it changed `tokens_BS`"}},
                [](const std::string& fault) { roll_out("none", fault); });
}

}  // namespace drift::plugin_faults_test
