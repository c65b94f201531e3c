// What the pages of sdk/examples say of their components, behind the checks of the core. That they build outside this
// tree, pass their own tests and keep the rules of `drift plugin check`: sdk_test.cpp.

#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <tests/abi/plugin_files.h>
#include <tests/support/rollouts.h>

#include <core/boundary/checked.h>
#include <core/boundary/made.h>
#include <core/boundary/model_policy.h>
#include <core/io/checkpoint.h>
#include <core/lab/conformance/rules.h>
#include <core/plugin/plugin_loader.h>

#include <drift/parallel.h>
#include <drift/unit_test.h>

#include <torch/csrc/autograd/autograd.h>

namespace drift::sdk_examples_test {

namespace fs = std::filesystem;
using namespace testing;
using unit_test::judge;

using test::make;

// ---- span_masks ----

TEST(SpanMasks, ScoreWhatTheyMaskAndWeighItByItsShare) {
  const auto masking = make<MaskingStrategy>(
      "span_masks", {{"views", std::int64_t{16}}, {"span", 3.0}, {"share_low", 0.25}, {"share_high", 0.5}});
  const Trajectories responses = test::equal_trajectories(2, 40);
  const MaskPlan plan = test::draw_plan(*masking, responses);
  EXPECT_EQ(plan.terms, 16);
  ASSERT_EQ(plan.response_F.size(0), 32);
  EXPECT_TRUE(at::equal(plan.masked_FL, plan.target_FL));
  const auto masked = test::numbers(plan.masked_FL.sum(1).to(at::kDouble));
  EXPECT_THAT(masked, Each(AllOf(Ge(10), Le(20)))) << "a quarter to a half of 40";
  for (std::int64_t view = 0; view < 32; ++view)
    EXPECT_FLOAT_EQ(plan.weight_F[view].item<float>(), static_cast<float>(40 / masked[static_cast<std::size_t>(view)]));
}

TEST(SpanMasks, HaveTheirMeanLength) {
  const Trajectories responses = test::equal_trajectories(40, 400);
  for (const double span : {1.0, 4.0}) {
    const auto masking = make<MaskingStrategy>("span_masks", {{"span", span}, {"share_low", 0.1}, {"share_high", 0.1}});
    const auto masked = test::draw_plan(*masking, responses).masked_FL.to(at::kInt);
    const double begins = (masked.narrow(1, 1, 399) > masked.narrow(1, 0, 399)).sum().item<double>();
    // Spans that touch are one here, so that the mean is somewhat longer.
    EXPECT_NEAR(masked.sum().item<double>() / begins, span, 0.2 * span);
  }
}

TEST(SpanMasks, DependOnTheResponseAloneAndOnTheIteration) {
  const auto masking = make<MaskingStrategy>("span_masks");
  const Trajectories three = test::equal_trajectories(3, 20), one = test::equal_trajectories(1, 20);
  const auto of_batch = test::views_of(test::draw_plan(*masking, three), 2);
  EXPECT_EQ(of_batch, test::views_of(test::draw_plan(*masking, one, 0, {2}), 0));
  EXPECT_NE(of_batch, test::views_of(test::draw_inner_plan(*masking, three, 0, 1), 2));
}

// ---- near_match ----

TEST(NearMatch, GivesCreditByEditDistance) {
  const auto reward = make<Reward>("near_match", {{"floor", 0.5}});
  struct Row {
    std::string response, reference;
    double value;
    RewardStatus status;
    std::string reason;
  };
  for (const Row& row : {Row{"kitten", "kitten", 1, RewardStatus::kOk, "equals the reference"},
                         Row{" kit\nten ", "kitten", 1, RewardStatus::kOk, "equals the reference"},
                         Row{"sitting", "kitten", 1.0 / 7, RewardStatus::kWrong, "3 of 7 bytes differ"},
                         Row{"kitte", "kitten", 2.0 / 3, RewardStatus::kWrong, "1 of 6 bytes differ"},
                         Row{"abcdfg", "kitten", 0, RewardStatus::kWrong, "6 of 6 bytes differ"},
                         Row{"ki", "kitten", 0, RewardStatus::kWrong, "the length is far from the reference's"},
                         Row{" ", "kitten", 0, RewardStatus::kNoAnswer, "the response is empty"}}) {
    SCOPED_TRACE(row.response);
    const RewardResult result = judge(*reward, row.response, row.reference);
    EXPECT_NEAR(result.value, row.value, 1e-12);
    EXPECT_EQ(result.status, row.status);
    EXPECT_EQ(result.solved, row.status == RewardStatus::kOk);
    EXPECT_EQ(result.reason, row.reason);
  }
}

TEST(NearMatch, AnswersForItsSettings) {
  EXPECT_EQ(judge(*make<Reward>("near_match", {{"ignore_spaces", false}}), "k i", "ki").solved, false);
  const auto strict = make<Reward>("near_match", {{"truncated_earns", false}});
  EXPECT_EQ(judge(*strict, "kitten", "kitten", /*truncated=*/true).reason, "the response has no end");
  EXPECT_THAT(test::error_of([&] { judge(*strict, "kitten", " "); }),
              HasSubstr("item `one` has no reference to compare with"));
}

// ---- convnet ----

ModelConfig start(at::Device device = at::kCPU) {
  const auto folder = test::source_dir() / "sdk/examples/convnet/start";
  return {test::read_file(folder / "config.json"), at::kFloat, device};
}

Made<Model> random_model() {
  const ModelConfig config = start();
  auto model = make<Model>("convnet", {}, &config);
  checked_initialize(*model, RandomStream(3, "test"));
  return model;
}

at::Tensor random_tokens(std::int64_t rows, std::int64_t length) {
  auto tokens = at::full({rows, length}, 0, at::kLong);
  for (std::int64_t i = 0; i < tokens.numel(); ++i)
    tokens.view({-1})[i] = 5 + RandomStream(1, "tokens").below(10, {0, 0, i, 0});
  return tokens;
}

TEST(ConvNet, SeesFarEnoughForAPuzzleAndItsAnswer) {
  const auto model = random_model();
  const at::NoGradGuard no_gradient;
  ForwardInput input;
  input.tokens_BS = random_tokens(1, 41);
  const auto before = model->forward(input);
  input.tokens_BS = input.tokens_BS.clone();
  input.tokens_BS[0][0] = 20;
  EXPECT_FALSE(at::equal(model->forward(input)[40], before[40]));
}

// What a convolution computes must not depend on how many threads the program has beside the one at work.
TEST(ConvNet, GradientsAreTheSameFromSeveralThreads) {
  const auto model = random_model();
  std::vector<at::Tensor> parameters;
  for (const NamedTensor& parameter : model->parameters()) parameters.push_back(parameter.tensor);
  const auto gradients = [&](std::int64_t workers) {
    std::vector<std::vector<at::Tensor>> of_row(4);
    parallel_rows(workers, 4, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        ForwardInput input;
        input.tokens_BS = random_tokens(8, 41).roll(row, 1);
        const auto logits_NV = model->forward(input).matmul(model->lm_head_VH().t());
        of_row[static_cast<std::size_t>(row)] = torch::autograd::grad({logits_NV.square().sum()}, parameters);
      }
    });
    return of_row;
  };
  const auto expected = gradients(1), found = gradients(2);
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t p = 0; p < parameters.size(); ++p)
      EXPECT_TRUE(at::allclose(found[row][p], expected[row][p], 1e-3, 1e-4)) << model->parameters()[p].name;
  }
}

TEST(ConvNet, IsSavedAndReadAgainByTheCore) {
  const auto model = random_model();
  const ModelConfig config = start();
  const test::TemporaryFolder folder;
  save_checkpoint_folder(folder.path() / "saved", model->parameters(), config.config_json);
  const auto again = make<Model>("convnet", {}, &config);
  const at::NoGradGuard no_gradient;
  load_parameters(folder.path() / "saved", again->parameters());
  ForwardInput input;
  input.tokens_BS = random_tokens(2, 12);
  EXPECT_TRUE(at::equal(again->forward(input), model->forward(input)));
}

TEST(ConvNet, HasAdaptersAsTheInterfaceDemands) {
  std::vector<std::string> found;
  Examination examination("model/convnet", "", {"made", "adapters"},
                          {[](const std::string&) {},
                           [&](const Outcome& outcome) {
                             if (outcome.verdict != RuleVerdict::kOk)
                               found.push_back(outcome.text);
                             else if (outcome.rule == "adapters")
                               found.push_back("ok: " + outcome.text);
                           }});
  check_rules(*test::registry_of("convnet").find(ComponentKind::kModel, "convnet"),
              {.host = test::host(), .values = {}, .model_config = start().config_json, .references = {}}, examination);
  EXPECT_THAT(found, ElementsAre("ok: 6 modules, it refuses lora_dropout"));
}

TEST(ConvNet, SaysWhatItsConfigurationLacks) {
  const ModelConfig config{R"({"vocab_size": 23})", at::kFloat, at::kCPU};
  EXPECT_THAT(test::error_of([&] { make<Model>("convnet", {}, &config); }),
              HasSubstr("config.json has no integer `hidden_size`"));
}

// ---- random_order ----

Trajectories write(const Rollout& rollout, std::int64_t responses) {
  static const auto model = random_model();
  const ModelPolicy policy(*model);
  RolloutInput input;
  input.policy = &policy;
  input.prompts = {at::full({responses, 3}, 5, at::kLong), at::ones({responses, 3}, at::kBool),
                   at::full({responses}, 0, at::kLong)};
  input.random = RandomStream(1, "rollout");
  const at::NoGradGuard no_gradient;
  return checked_trajectories(rollout, input);
}

TEST(RandomOrder, EveryResponseHasItsOwnOrder) {
  const auto rollout = make<Rollout>("random_order", {{"length", std::int64_t{8}}});
  const Trajectories made = write(*rollout, 200);
  std::map<std::int64_t, int> begins;  // the position that is written first -> responses
  for (std::int64_t b = 0; b < 200; ++b) ++begins[made.step_BL[b].argmin().item<std::int64_t>()];
  EXPECT_EQ(begins.size(), 8u);
  for (const auto& [position, responses] : begins) EXPECT_GT(responses, 8) << position;
}

TEST(RandomOrder, ATextThatHasEndedTakesNoFurtherForwards) {
  const auto rollout = make<Rollout>("random_order", {{"length", std::int64_t{20}}});
  const Trajectories made = write(*rollout, 64);
  int ended = 0;
  for (std::int64_t b = 0; b < 64; ++b) {
    if (made.forwards_B[b].item<std::int64_t>() == 20) continue;
    ++ended;
    const auto padding = made.tokens_BL[b] == 0;
    EXPECT_TRUE(padding.any().item<bool>()) << "what is left out is padding";
    EXPECT_EQ(made.step_BL[b].max().item<std::int64_t>(), made.forwards_B[b].item<std::int64_t>() - 1);
  }
  EXPECT_GT(ended, 10);
}

// ---- carry_sums ----

TEST(CarrySums, DemonstrationsAreSumsOrForgetToCarry) {
  const auto task = make<Task>("carry_sums", {{"correct", 0.5}});
  std::map<std::string, std::set<std::string>> demonstrations;  // of an item
  int wrong = 0;
  for (std::int64_t index = 0; index < 2000; ++index) {
    TaskItem item;
    task->training_item(index, RandomStream(7, "task"), item);
    demonstrations[item.id].insert(item.demonstration);
    wrong += item.demonstration != item.reference ? 1 : 0;
  }
  EXPECT_THAT(wrong, AllOf(testing::Gt(500), Lt(900))) << "half of those that carry, which most do";
  const std::set<std::string> possible{"105", "95"};  // 9+96
  for (const std::string& text : demonstrations["9+96"]) EXPECT_EQ(possible.count(text), 1u) << text;
}

TEST(CarrySums, NoHeldOutSumIsTrainedOn) {
  const auto task = make<Task>("carry_sums", {{"number_high", std::int64_t{9}}});
  std::set<std::string> held_out;
  for (std::int64_t index = 0; index < task->held_out_size(); ++index) {
    TaskItem item;
    task->held_out_item(index, item);
    EXPECT_TRUE(held_out.insert(item.id).second);
  }
  EXPECT_THAT(held_out.size(), AllOf(Ge(1u), Lt(40u)));
  for (std::int64_t index = 0; index < 1000; ++index) {
    TaskItem item;
    task->training_item(index, RandomStream(7, "task"), item);
    EXPECT_EQ(held_out.count(item.id), 0u) << item.id;
    const auto plus = item.id.find('+');
    EXPECT_EQ(held_out.count(item.id.substr(plus + 1) + "+" + item.id.substr(0, plus)), 0u) << item.id;
  }
}

}  // namespace drift::sdk_examples_test
