// Responses with the order in which they were written: into a file and back, and the entropies that go with them.

#include <core/rollout/trajectory_record.h>
#include <core/update/commit_states.h>

#include "tests/support/alone.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"

#include <drift/error.h>

#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>

namespace drift::trajectory_record_test {

using testing::HasSubstr;

constexpr std::int64_t kVocabulary = 11, kLength = 6, kPrompt = 4;

struct Responses : ::testing::Test {
  const test::TinyModel model{kVocabulary, 5, at::kDouble};
  const Trajectories made = test::make_trajectories(4, 2, kPrompt, kLength, kVocabulary, 2);
};

/// From the definition: the model sees the prompt and what was committed before.
double entropy_of(const Model& model, const Trajectories& made, std::int64_t b, std::int64_t i) {
  const at::NoGradGuard no_gradient;
  const auto step = made.step_BL[b][i].item<std::int32_t>();
  const auto written_L = (made.step_BL[b] >= 0).logical_and(made.step_BL[b] < step);
  const auto state_L = at::where(written_L, made.tokens_BL[b], model.traits().mask_id);
  ForwardInput forward;
  forward.tokens_BS = at::cat({made.prompts.tokens_BP[b], state_L}).unsqueeze(0);
  forward.key_mask_BS = at::cat({made.prompts.mask_BP[b], at::ones_like(state_L).to(at::kBool)}).unsqueeze(0);
  forward.rows_N = at::arange(kPrompt + i, kPrompt + i + 1);
  const auto logits_V = at::matmul(model.forward(forward), model.lm_head_VH().t())[0];
  const auto logprob_V = at::log_softmax(logits_V.to(at::kDouble), -1);
  return -(logprob_V.exp() * logprob_V).sum().item<double>();
}

TEST_F(Responses, EntropyIsThatOfTheDistributionThatCommittedTheToken) {
  const auto entropy_BL = commit_entropies(test::alone, model, made);
  for (std::int64_t b = 0; b < made.tokens_BL.size(0); ++b) {
    for (std::int64_t i = 0; i < kLength; ++i) {
      const float measured = entropy_BL[b][i].item<float>();
      if (made.step_BL[b][i].item<std::int32_t>() < 0) {
        EXPECT_EQ(measured, 0) << b << " " << i;
      } else {
        EXPECT_NEAR(measured, entropy_of(model, made, b, i), 1e-5) << b << " " << i;
      }
    }
  }
}

TEST_F(Responses, AreTheSameAfterAFile) {
  const test::TemporaryFolder folder;
  const auto entropy_BL = commit_entropies(test::alone, model, made);
  std::string lines;
  for (std::int64_t b = 0; b < 4; ++b) {
    const std::string object = to_json(trajectory_record(made, b, entropy_BL)).dump();
    lines += b % 2 == 0 ? object + "\n" : "{\"id\": \"an evaluation's\", \"trajectory\": " + object + "}\n";
  }
  test::write_file(folder.path() / "responses.jsonl", lines);
  const auto records = read_trajectories(folder.path() / "responses.jsonl");
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[1].entropy[3], entropy_BL[1][3].item<float>());
  const Trajectories back = trajectories_of(records, model.traits());
  EXPECT_TRUE(at::equal(back.tokens_BL, made.tokens_BL));
  EXPECT_TRUE(at::equal(back.step_BL, made.step_BL));
  EXPECT_TRUE(at::equal(back.commit_logprob_BL, made.commit_logprob_BL));
  EXPECT_TRUE(at::equal(back.forwards_B, made.forwards_B));
  EXPECT_TRUE(at::equal(back.valid_BL, made.valid_BL));
}

TEST_F(Responses, WithoutEntropyTheRecordSaysNone) {
  const auto json = to_json(trajectory_record(made, 0, {}));
  EXPECT_FALSE(json.contains("entropy"));
  EXPECT_TRUE(trajectory_of(json).entropy.empty());
}

struct Mistake {
  const char* member;
  const char* value;
  const char* message;
};

TEST_F(Responses, WhatIsWrongWithARecordIsSaid) {
  for (const Mistake& mistake : {Mistake{"steps", "[0]", "must have the same length"},
                                 {"steps", "[0, 1, 2, 3, 4, 900000]", "`steps` must be forwards"},
                                 {"token_ids", "\"abc\"", "there is no list `token_ids`"},
                                 {"token_ids", "[0.5]", "`token_ids` is not a list of integers"},
                                 {"commit_logprob", "[1, 0, 0, 0, 0, 0]", "logarithms of probabilities"},
                                 {"forwards", "null", "there is no number `forwards`"}}) {
    auto json = nlohmann::json(to_json(trajectory_record(made, 0, {})));
    json[mistake.member] = nlohmann::json::parse(mistake.value);
    EXPECT_THAT(test::error_of([&] { trajectory_of(json); }),
                testing::AllOf(HasSubstr(mistake.message), HasSubstr("drift generate --json")))
        << mistake.member << " = " << mistake.value;
  }
}

TEST_F(Responses, OfAnotherModelOrOfDifferentLengthsAreRefused) {
  auto records = std::vector{trajectory_record(made, 0, {}), trajectory_record(made, 1, {})};
  records[1].token_ids[2] = kVocabulary;
  EXPECT_THROW(trajectories_of(records, model.traits()), Error);
  records[1] = records[0];
  records[1].token_ids.pop_back(), records[1].steps.pop_back(), records[1].commit_logprob.pop_back();
  EXPECT_THROW(trajectories_of(records, model.traits()), Error);
}

}  // namespace drift::trajectory_record_test
