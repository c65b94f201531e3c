// Plugins over plain arrays (drift/pure.h): how they are found and refused, what they are given, and that the examples
// in C compute what their counterparts with tensors do.

#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <tests/abi/plugin_files.h>
#include <tests/support/rollouts.h>

#include <core/boundary/checked.h>
#include <core/boundary/made.h>
#include <core/lab/loss_slope.h>
#include <core/plugin/plugin_loader.h>

#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/pure.h>
#include <drift/reward.h>
#include <drift/task.h>

#include <cstddef>

namespace drift::pure_plugin_test {

using namespace testing;

using test::error_of;
using test::make;

// ---- the file ----

TEST(PurePlugin, IsLoadedAndListedLikeAnyOther) {
  Registry registry;
  PluginLoader loader(registry);
  loader.load_file(test::built_plugin("test_soft_clip_c"));
  ASSERT_THAT(loader.loaded(), SizeIs(1));
  const LoadedPlugin& plugin = loader.loaded()[0];
  EXPECT_EQ(plugin.name, "soft_clip_c");
  EXPECT_EQ(plugin.version, "1.0.0");
  EXPECT_EQ(plugin.licence, "Apache-2.0");
  EXPECT_EQ(plugin.tier, "pure");
  EXPECT_EQ(plugin.warning, "") << "its compiler does not matter";

  const ComponentEntry* entry = registry.find(ComponentKind::kLossEstimator, "soft_clip_c");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->plugin, "soft_clip_c");
  EXPECT_EQ(entry->doc, "PPO with a smooth clip, in C.");
  ASSERT_THAT(entry->params, SizeIs(1));
  EXPECT_EQ(entry->params[0].name, "width");
  EXPECT_EQ(entry->params[0].doc, "curvature of the weight");
  EXPECT_EQ(entry->params[0].default_value, Parameter::Value(4.0));
  EXPECT_EQ(entry->params[0].allowed.describe(), ">= 0");
}

TEST(PurePlugin, NeedsNeitherLibTorchNorLibdrift) {
  const std::string file = test::built_plugin("test_soft_clip_c").string();
  const auto needed = test::run_command("readelf --dynamic " + file);
  ASSERT_EQ(needed.status, 0) << needed.error;
  EXPECT_THAT(needed.output, AllOf(Not(HasSubstr("torch")), Not(HasSubstr("c10")), Not(HasSubstr("drift.so"))));
  EXPECT_EQ(test::run_command("nm -D --defined-only --format=just-symbols " + file).output, "drift_plugin_entry\n");
}

/// What the loader says of the example in C with another descriptor.
std::string load_with(const std::function<void(DriftPureDescriptor&)>& change) {
  const std::string bytes = test::with_descriptor("test_soft_clip_c", change);
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "libchanged.so", bytes);
  Registry registry;
  return error_of([&] { PluginLoader(registry).load_file(folder.path() / "libchanged.so"); });
}

TEST(PurePlugin, IsRefusedOnlyForAnotherVersionOfTheInterface) {
  EXPECT_THAT(load_with([](auto& descriptor) { descriptor.abi_major = 2; }), HasSubstr("C interface  1.0        2.0"));
  EXPECT_THAT(load_with([](auto& descriptor) { descriptor.abi_minor = 1; }), HasSubstr("C interface  1.0        1.1"));
  EXPECT_THAT(load_with([](auto& descriptor) { descriptor.licence[0] = '\0'; }), HasSubstr("licence  any        none"));
  EXPECT_THAT(load_with([](auto& descriptor) { descriptor.struct_size = 100; }),
              HasSubstr("descriptor  224 bytes  100 bytes"));
  EXPECT_THAT(load_with([](auto& descriptor) { descriptor.tier = DRIFT_TIER_TENSOR; }),
              HasSubstr("descriptor  320 bytes  224 bytes"));
  EXPECT_EQ(load_with([](auto& descriptor) { descriptor.compiler[0] = '?'; }), "");
}

// ---- losses ----

/// Two views of one response: a token whose probability has halved, one as likely as before, and one that the old
/// policy all but excluded, where the ratio is bounded and has no gradient.
LossInput worked_example() {
  const double half = std::log(0.5);
  LossInput in;
  in.plan.response_F = at::full({1}, 0, at::kLong);
  in.plan.term_F = at::full({1}, 0, at::kLong);
  in.plan.target_FL = test::vector_tensor({1, 1, 1, 0}).view({1, 4}).to(at::kBool);
  in.plan.masked_FL = in.plan.target_FL;
  in.plan.terms = 1;
  in.log_probs.current_FL = test::vector_tensor({2 * half, half, half, 0}).view({1, 4}).set_requires_grad(true);
  in.log_probs.old_FL = test::vector_tensor({half, half, -30, 0}).view({1, 4});
  in.advantage_B = test::vector_tensor({2});
  in.valid_BL = in.plan.target_FL;
  test::fill_totals(in, 1, 1);
  return in;
}

TEST(PureLoss, TheSameLossInBothLanguagesHasTheGoldenValues) {
  const double width = 4, log_2 = std::log(2.0);
  const double divisor = 1 + width * log_2 * log_2, bounded = std::exp(20.0) / (1 + width * 400);
  const double value = -2 * (0.5 / divisor + 1 + bounded) / 3;
  const double halved = -2 * 0.5 / divisor * (1 + 2 * width * log_2 / divisor) / 3;
  for (const std::string name : {"soft_clip", "soft_clip_c"}) {
    SCOPED_TRACE(name);
    const auto found = differentiate(*make<LossEstimator>(name), worked_example());
    EXPECT_NEAR(found.loss.value.item<double>() / value, 1, 1e-14);
    EXPECT_THAT(test::numbers(found.gradients[0]), Pointwise(DoubleNear(1e-14), {halved, -2.0 / 3, 0.0, 0.0}));
  }
}

MaskPlan half_masked() {
  const Trajectories responses = test::equal_trajectories(6, 20);
  return test::draw_plan(*make<MaskingStrategy>("span_masks"), responses);
}

TEST(PureLoss, TheLanguagesAgreeOnRandomInput) {
  const LossInput in = test::random_loss_input(half_masked(), 6);
  const auto expected = differentiate(*make<LossEstimator>("soft_clip", {{"width", 2.5}}), in);
  const auto found = differentiate(*make<LossEstimator>("soft_clip_c", {{"width", 2.5}}), in);
  const double value = expected.loss.value.item<double>();
  EXPECT_NEAR(found.loss.value.item<double>(), value, 1e-13 * std::abs(value));
  EXPECT_THAT(test::numbers(found.gradients[0]), Pointwise(DoubleNear(1e-14), test::numbers(expected.gradients[0])));
}

TEST(PureLoss, GivesTheTypeOfTheLogProbabilities) {
  LossInput in = test::random_loss_input(half_masked(), 6);
  in.log_probs.current_FL = in.log_probs.current_FL.to(at::kFloat);
  in.log_probs.old_FL = in.log_probs.old_FL.to(at::kFloat);
  const auto found = differentiate(*make<LossEstimator>("soft_clip_c"), in);
  EXPECT_EQ(found.loss.value.scalar_type(), at::kFloat);
  EXPECT_EQ(found.gradients[0].scalar_type(), at::kFloat);
}

TEST(PureLoss, IsLentEverythingThatItNeeds) {
  const auto loss = make<LossEstimator>("pure_faults", "uses_everything");
  LossNeeds needs;
  loss->needs(needs);
  EXPECT_TRUE(needs.old && needs.reference && needs.entropy);
  EXPECT_EQ(loss->coupling(), Coupling::kView);

  LossInput in = test::random_loss_input(half_masked(), 6);
  const at::Tensor& target_FL = in.plan.target_FL;
  in.log_probs.entropy_FL = test::random_log_probs(target_FL, 11);
  in.log_probs.reference_entropy_FL = test::random_log_probs(target_FL, 12);
  in.plan.committed_FL = target_FL.logical_and(at::arange(20).lt(7));
  const auto found = differentiate(*loss, in);

  // The same in tensors.
  const auto scale_FL =
      (in.plan.weight_F.to(at::kDouble) / in.scored_B.index_select(0, in.plan.response_F).to(at::kDouble))
          .unsqueeze(1) *
      in.advantage_F1().to(at::kDouble);
  const auto difference_FL = in.log_probs.current_FL.detach() - in.log_probs.reference_FL;
  const auto value_FL =
      scale_FL * difference_FL.square() - 0.1 * in.log_probs.entropy_FL * in.log_probs.reference_entropy_FL;
  EXPECT_NEAR(found.loss.value.item<double>(), value_FL.masked_select(target_FL).sum().item<double>(), 1e-10);
  EXPECT_EQ(compare_slopes(*loss, in).differences.size(), 0u) << "gradients by both variables";
  ASSERT_THAT(found.loss.metrics, SizeIs(1));
  EXPECT_EQ(found.loss.metrics[0].name, "committed");
  EXPECT_EQ(found.loss.metrics[0].sum.item<double>(), in.plan.committed_FL.sum().item<double>());
  EXPECT_EQ(found.loss.metrics[0].count.item<double>(), target_FL.sum().item<double>());
}

TEST(PureLoss, AdvantagesOfTokensTakeThePlaceOfTheResponses) {
  LossInput in = test::random_loss_input(half_masked(), 6);
  in.advantage_BL = test::random_log_probs(in.valid_BL, 5).to(at::kFloat);
  const auto tensors = differentiate(*make<LossEstimator>("soft_clip"), in);
  const auto arrays = differentiate(*make<LossEstimator>("soft_clip_c"), in);
  EXPECT_THAT(test::numbers(arrays.gradients[0]), Pointwise(DoubleNear(1e-14), test::numbers(tensors.gradients[0])));
}

TEST(PureLoss, AForgottenGradientIsFound) {
  LossInput in = test::random_loss_input(half_masked(), 6);
  EXPECT_GT(compare_slopes(*make<LossEstimator>("pure_faults", "forgets_gradient"), in).differences.size(), 50u);
  EXPECT_EQ(compare_slopes(*make<LossEstimator>("soft_clip_c"), in).differences.size(), 0u);
}

TEST(PureLoss, AnErrorSaysWhatThePluginSays) {
  const LossInput in = worked_example();
  const auto error = [&](const char* name) {
    return error_of([&] { checked_loss(*make<LossEstimator>("pure_faults", name), in); });
  };
  EXPECT_THAT(error("fails_with_reason"),
              AllOf(HasSubstr("loss `fails_with_reason` of plugin `pure_faults`"), HasSubstr("evaluate"),
                    HasSubstr("the table has no row 3 | add one"), Not(HasSubstr("second"))));
  EXPECT_THAT(error("fails_without_reason"), HasSubstr("evaluate() failed without a reason"));
}

// ---- masking strategies ----

TEST(PureMasking, EveryTokenThatEndsAResponseIsTheEndToken) {
  const Trajectories several = test::token_trajectories({{1, 7, 2, 9, 2, 2}, {1, 2, 2, 8, 9, 2}});
  const Trajectories one = test::token_trajectories({{1, 9, 2, 9, 2, 2}, {1, 2, 2, 9, 9, 2}});
  MaskingInput input = test::masking_input(several), same = test::masking_input(one);
  input.end_id = same.end_id = 9;
  input.end_ids_E = test::vector_tensor({9, 7, 8}).to(at::kLong);
  const auto in_c = make<MaskingStrategy>("pure_faults", "through_end");
  EXPECT_EQ(in_c->refresh(), PlanRefresh::kEachInnerIteration);
  EXPECT_EQ(test::numbers(test::draw_plan(*in_c, input).masked_FL),
            (std::vector<double>{1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0}));
  const auto in_cpp = make<MaskingStrategy>("span_masks");
  for (const MaskingStrategy* masking : {in_cpp.get(), in_c.get()}) {
    for (std::int64_t b = 0; b < 2; ++b)
      EXPECT_EQ(test::views_of(test::draw_plan(*masking, input), b),
                test::views_of(test::draw_plan(*masking, same), b));
  }
}

TEST(PureMasking, AMistakeInACallOfTheHostEndsTheCall) {
  const Trajectories responses = test::equal_trajectories(2, 20);
  const auto error = [&](const char* name) {
    return error_of([&] { test::draw_plan(*make<MaskingStrategy>("pure_faults", name), responses); });
  };
  EXPECT_THAT(error("outside"), HasSubstr("begin_view(-1, 0): both count from 0"));
  EXPECT_THAT(error("without_size"), HasSubstr("a DriftView has no size"));
  EXPECT_THAT(error("bad_point"), HasSubstr("a random point holds -1"));
}

TEST(PureMasking, AStructureOfAnOlderVersionHasNoneOfTheNewFields) {
  const Trajectories responses = test::equal_trajectories(2, 20);
  const MaskPlan plan = test::draw_plan(*make<MaskingStrategy>("pure_faults", "older_view"), responses);
  EXPECT_TRUE(at::equal(plan.masked_FL, responses.valid_BL));
  EXPECT_FALSE(plan.weight_F.defined()) << "what lies beyond the structure is not read";
}

// ---- rewards ----

RewardResult judge(const Reward& reward, const std::string& response, const std::string& reference, bool truncated) {
  TaskItem item;
  item.id = "one";
  item.prompt = "what?";
  item.reference = reference;
  RewardRequest request;
  request.response = response;
  request.item = &item;
  request.truncated = truncated;
  RewardResult result;
  reward.score(request, result);
  return result;
}

TEST(PureReward, TheRewardInCJudgesLikeTheOneInCpp) {
  const auto expected = make<Reward>("near_match", {{"floor", 0.25}, {"truncated_earns", false}});
  const auto found = make<Reward>("near_match_c", {{"floor", 0.25}, {"truncated_earns", false}});
  for (const std::string response : {"kitten", " kit\nten ", "sitting", "kitte", "abcdfg", "ki", " ", "", "\xff\xfe"}) {
    for (const bool truncated : {false, true}) {
      SCOPED_TRACE(response);
      const RewardResult a = judge(*expected, response, "kitten", truncated);
      const RewardResult b = judge(*found, response, "kitten", truncated);
      EXPECT_EQ(b.value, a.value);
      EXPECT_EQ(b.solved, a.solved);
      EXPECT_EQ(b.status, a.status);
      EXPECT_EQ(b.reason, a.reason);
    }
  }
  EXPECT_THAT(error_of([&] { judge(*found, "x", " ", false); }),
              HasSubstr("item `one` has no reference to compare with | give every record an answer"));
}

TEST(PureReward, MustGiveAVerdict) {
  EXPECT_THAT(error_of([] { judge(*make<Reward>("pure_faults", "no_verdict"), "", "", false); }),
              HasSubstr("score() gave no verdict | call give_verdict() of the host"));
  EXPECT_THAT(error_of([] { judge(*make<Reward>("pure_faults", "item_of_a_task"), "", "", false); }),
              HasSubstr("give_item() belongs to another kind of component"));
}

TEST(PureReward, GetsEveryKindOfParameter) {
  const auto reward = make<Reward>("pure_faults", "every_parameter");
  const RewardResult result = judge(*reward, "", "", true);
  EXPECT_EQ(result.value, 0.5);
  EXPECT_TRUE(result.solved) << "truncated";
  EXPECT_EQ(result.reason, "what?");
  const auto changed = [](const std::string& name, const Parameter::Value& value) {
    return error_of([&] { make<Reward>("pure_faults", "every_parameter", {{name, value}}); });
  };
  EXPECT_THAT(changed("integer", std::int64_t{4}), HasSubstr("not the defaults | set none"));
  EXPECT_THAT(changed("strings", std::vector<std::string>{"z"}), HasSubstr("must be one of x, y"));
}

// ---- tasks ----

TEST(PureTask, GivesEveryTextAndHasTheStreamsOfTheHost) {
  const auto task = make<Task>("pure_faults", "every_text");
  const RandomStream random = RandomStream(7, "item").child("letter");
  for (const std::int64_t index : {0, 1, 2, 999}) {
    TaskItem item, held_out;
    task->training_item(index, RandomStream(1, "not used"), item);
    EXPECT_EQ(item.id, std::string(1, static_cast<char>('a' + random.below(8, {index, 0, 0, 0}))));
    EXPECT_EQ(item.prompt, "prompt");
    EXPECT_EQ(item.reference, "answer");
    EXPECT_EQ(item.demonstration, "imitate");
    EXPECT_EQ(item.response_prefix, "begin");
    task->held_out_item(index, held_out);
    EXPECT_EQ(held_out.id, item.id);
  }
  EXPECT_EQ(task->held_out_size(), 1);
}

}  // namespace drift::pure_plugin_test
