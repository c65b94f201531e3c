// The law of a decoder over all responses of a small model, and the exact gradient of its expected reward; in models
// with blocks, too.

#include <core/lab/fidelity/decoder.h>
#include <core/lab/fidelity/exact_policy.h>

#include <drift/error.h>

#include "tests/support/frequencies.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"

namespace drift::fidelity_exact_test {

constexpr std::int64_t kLength = 3;
const std::vector<std::int64_t> kPrompt = {2, 4, 3};

/// What the block decoder is called that has the law, and in which model: "" is one without blocks.
struct Law {
  const char* name;
  std::map<std::string, Parameter::Value> block;
  std::string family = {};
};

void PrintTo(const Law& law, std::ostream* out) { *out << law.name << " " << law.family; }

std::map<std::string, Parameter::Value> one_at_a_time(const char* remasking) {
  return {{"schedule", std::string("static")}, {"remasking", std::string(remasking)}};
}

const Law kLaws[] = {{"random", one_at_a_time("random")},
                     {"confidence", one_at_a_time("low_confidence")},
                     {"margin", one_at_a_time("margin")},
                     {"entropy", one_at_a_time("negative_entropy")},
                     {"threshold=0.4", {{"schedule", std::string("dynamic")}, {"threshold", 0.4}}},
                     {"threshold=1.0", {{"schedule", std::string("dynamic")}, {"threshold", 1.0}}},
                     {"random", one_at_a_time("random"), "sdar"},
                     {"confidence", one_at_a_time("low_confidence"), "sdar"},
                     {"threshold=0.4", {{"schedule", std::string("dynamic")}, {"threshold", 0.4}}, "sdar"},
                     {"entropy", one_at_a_time("negative_entropy"), "fast_dllm_v2"},
                     {"threshold=0.4", {{"schedule", std::string("dynamic")}, {"threshold", 0.4}}, "fast_dllm_v2"}};

/// Five tokens, of which a response may have four. In a model with blocks of two a prompt of three tokens leaves the
/// response one position of its first block.
std::unique_ptr<Model> tiny_model(const std::string& family) {
  if (family.empty()) return std::make_unique<test::TinyModel>(5, 6, at::kDouble);
  const ModelConfig config{R"({"model_type": ")" + std::string(family == "sdar" ? "sdar" : "Fast_dLLM_Qwen") +
                               R"(", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
      "num_key_value_heads": 1, "intermediate_size": 12, "vocab_size": 5, "max_position_embeddings": 16,
      "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 10000, "tie_word_embeddings": false,
      "eos_token_id": 0, "pad_token_id": 0})",
                           at::kDouble};
  const ComponentEntry* entry = test::load_plugin(family).find(ComponentKind::kModel, family);
  const std::map<std::string, Parameter::Value> values{{"block_size", std::int64_t{2}}, {"mask_id", std::int64_t{4}}};
  auto made = test::host().make(*entry, Parameters(entry->params, values), &config);
  std::unique_ptr<Model> model(dynamic_cast<Model*>(made.release()));
  model->initialize(RandomStream(1, "tiny"));
  const at::NoGradGuard no_gradient;
  for (const NamedTensor& one : model->parameters()) one.tensor.mul_(one.tensor.dim() > 1 ? 25 : 1);
  return model;
}

/// Adds up the probability of every response, path by path: in each state every combination of draws, and what the
/// decoder commits of it. The plainest reading of docs/paper.md, without tensors over states.
class PathSum {
 public:
  PathSum(const ResponseSpace& space, const Decoder& decoder, const StateScores& scores)
      : space_(space), decoder_(decoder), scores_(scores), sum_(static_cast<std::size_t>(space.responses()), 0.0) {}

  std::vector<double> run() {
    follow(std::vector<int>(static_cast<std::size_t>(space_.length()), -1), 1);
    return sum_;
  }

 private:
  void follow(const std::vector<int>& choice, double probability) {
    Pattern pattern = 0;
    std::int64_t number = 0;
    std::vector<std::size_t> masked;
    for (std::size_t i = 0; i < choice.size(); ++i) {
      if (choice[i] < 0) {
        pattern |= Pattern{1} << i;
        masked.push_back(i);
      } else {
        number = number * space_.choices() + choice[i];
      }
    }
    if (masked.empty()) {
      sum_[static_cast<std::size_t>(number)] += probability;
      return;
    }
    if (space_.traits().block_size > 0) {  // blocks [0], [1, 2]; a block's first may be predicted by the one before
      const bool alone = space_.traits().prediction_row == PredictionRow::kPrevious && masked.front() == 1;
      masked.resize(masked.front() == 0 || alone ? 1 : masked.size());
    }
    draw(choice, probability, masked, scores_[pattern][number], {}, 1);
  }

  void draw(const std::vector<int>& choice, double probability, const std::vector<std::size_t>& masked,
            const at::Tensor& logprob_mV, const std::vector<int>& drawn, double probability_of_draws) {
    if (drawn.size() < masked.size()) {
      const auto at = static_cast<std::int64_t>(drawn.size());
      double allowed = 0;
      for (const std::int64_t token : space_.tokens()) allowed += std::exp(logprob_mV[at][token].item<double>());
      for (int token = 0; token < space_.choices(); ++token) {
        auto more = drawn;
        more.push_back(token);
        const double one = std::exp(logprob_mV[at][space_.tokens()[static_cast<std::size_t>(token)]].item<double>());
        draw(choice, probability, masked, logprob_mV, more, probability_of_draws * one / allowed);
      }
      return;
    }
    if (decoder_.order == CommitOrder::kRandom) {
      for (std::size_t k = 0; k < masked.size(); ++k)
        commit(choice, probability * probability_of_draws / static_cast<double>(masked.size()), masked, drawn, {k});
      return;
    }
    std::vector<std::size_t> committed;
    std::size_t surest = 0;
    for (std::size_t k = 0; k < masked.size(); ++k) {
      if (confidence(logprob_mV[static_cast<std::int64_t>(k)], drawn[k]) >
          confidence(logprob_mV[static_cast<std::int64_t>(surest)], drawn[surest]))
        surest = k;
      if (decoder_.threshold && confidence(logprob_mV[static_cast<std::int64_t>(k)], drawn[k]) >= *decoder_.threshold)
        committed.push_back(k);
    }
    if (committed.empty()) committed = {surest};
    commit(choice, probability * probability_of_draws, masked, drawn, committed);
  }

  float confidence(const at::Tensor& logprob_V, int token) const {
    const auto probability_V = logprob_V.exp();
    if (decoder_.order == CommitOrder::kNegativeEntropy)
      return static_cast<float>((probability_V * logprob_V).sum().item<double>());
    if (decoder_.order == CommitOrder::kConfidence)
      return static_cast<float>(probability_V[space_.tokens()[static_cast<std::size_t>(token)]].item<double>());
    std::vector<double> sorted(probability_V.const_data_ptr<double>(),
                               probability_V.const_data_ptr<double>() + probability_V.size(0));
    std::ranges::sort(sorted, std::ranges::greater());
    return static_cast<float>(sorted[0] - sorted[1]);
  }

  void commit(std::vector<int> choice, double probability, const std::vector<std::size_t>& masked,
              const std::vector<int>& drawn, const std::vector<std::size_t>& committed) {
    for (const std::size_t k : committed) choice[masked[k]] = drawn[k];
    follow(choice, probability);
  }

  const ResponseSpace& space_;
  const Decoder& decoder_;
  const StateScores& scores_;
  std::vector<double> sum_;
};

struct ExactLaw : ::testing::TestWithParam<Law> {
  std::unique_ptr<Model> made = tiny_model(GetParam().family);
  Model& model = *made;
  ResponseSpace space{model.traits(), kPrompt, kLength};
  Decoder decoder = Decoder::named(GetParam().name);
  StateScores scores = score_states(model, space);

  std::vector<double> probabilities() const { return test::numbers(response_probabilities(space, decoder, scores)); }

  /// How often each response was written.
  std::vector<std::int64_t> counts(const at::Tensor& tokens_BL) const {
    std::vector<std::int64_t> count(static_cast<std::size_t>(space.responses()), 0);
    for (const double number : test::numbers(space.number_B(tokens_BL).to(at::kDouble)))
      ++count[static_cast<std::size_t>(number)];
    return count;
  }
};

TEST_P(ExactLaw, IsTheSumOverAllPaths) {
  const auto sum = PathSum(space, decoder, scores).run();
  const auto exact = probabilities();
  ASSERT_EQ(exact.size(), sum.size());
  double total = 0;
  for (std::size_t y = 0; y < sum.size(); ++y) {
    EXPECT_NEAR(exact[y], sum[y], 1e-14) << "response " << y;
    total += exact[y];
  }
  EXPECT_NEAR(total, 1, 1e-13);
}

TEST_P(ExactLaw, IsThatOfTheRolloutOfTheName) {
  auto settings = GetParam().block;
  settings["length"] = kLength;
  if (GetParam().family.empty()) settings["block"] = kLength;
  const std::int64_t responses = 20'000;
  Prompts prompts;
  prompts.tokens_BP = at::tensor(kPrompt, at::kLong).repeat({responses, 1});
  prompts.mask_BP = at::ones_like(prompts.tokens_BP, at::kBool);
  prompts.group_B = at::zeros({responses}, at::kLong);
  const auto made = test::roll_out("block", settings, model, prompts);
  test::expect_frequencies(counts(made.tokens_BL), probabilities());
  if (decoder.threshold) return;
  const auto written = TableDecoder(space, decoder, scores).write(1, RandomStream(1, "test"), 0);
  EXPECT_TRUE(made.forwards_B.eq(written.forwards_B).all().item<bool>()) << made.forwards_B[0] << written.forwards_B;
}

TEST_P(ExactLaw, IsThatOfTheResponsesThatAreWrittenFromTheTable) {
  const TableDecoder writer(space, decoder, scores);
  const auto made = writer.write(20'000, RandomStream(1, "test"), 0);
  test::expect_frequencies(counts(made.tokens_BL), probabilities());
}

// Steps, log-probabilities and forwards are those of a rollout: each step's state says what the commit says.
TEST_P(ExactLaw, ResponsesFromTheTableRecordHowTheyWereWritten) {
  const auto made = TableDecoder(space, decoder, scores).write(50, RandomStream(1, "test"), 3);
  for (std::int64_t b = 0; b < 50; ++b) {
    EXPECT_EQ(made.step_BL[b].max().item<int>() + 1 + space.further_forwards(),
              made.forwards_B[b].item<std::int64_t>());
    for (std::int64_t i = 0; i < kLength; ++i) {
      Pattern pattern = 0;
      std::int64_t state = 0;
      for (std::int64_t j = 0; j < kLength; ++j) {
        if (made.step_BL[b][j].item<int>() >= made.step_BL[b][i].item<int>()) pattern |= Pattern{1} << j;
      }
      const auto number = space.number_B(made.tokens_BL)[b].item<std::int64_t>();
      for (std::int64_t j = 0, rest = number; j < kLength; ++j) {
        const std::int64_t place = space.responses() / std::int64_t(std::pow(space.choices(), j + 1));
        if (!is_masked(pattern, j)) state = state * space.choices() + rest / place;
        rest %= place;
      }
      std::int64_t k = 0;
      while (space.masked_positions(pattern)[static_cast<std::size_t>(k)] != i) ++k;
      EXPECT_NEAR(made.commit_logprob_BL[b][i].item<double>(),
                  scores[pattern][state][k][made.tokens_BL[b][i].item<std::int64_t>()].item<double>(), 1e-6);
    }
  }
}

TEST_P(ExactLaw, TheGradientIsThatOfTheExpectedReward) {
  const auto reward = (at::arange(space.responses(), at::kDouble) * 0.7).sin();
  const auto exact = exact_gradient(model, space, decoder, scores, reward);
  EXPECT_NEAR(exact.expected_reward, (exact.probability * reward).sum().item<double>(), 1e-14);
  const auto expected = [&] {
    return (response_probabilities(space, decoder, score_states(model, space)) * reward).sum().item<double>();
  };
  const at::NoGradGuard no_gradient;
  constexpr double kStep = 1e-6;
  const auto parameters = model.parameters();
  std::size_t p = 0;
  for (const ParameterRange& range : parameter_ranges(model)) {
    EXPECT_EQ(range.name, parameters[p].name);
    auto values = parameters[p++].tensor.view({-1});
    for (const std::int64_t i : {range.size / 3, range.size / 2, range.size - 1}) {  // row 0 of an embedding is padding
      values[i] += kStep;
      const double above = expected();
      values[i] -= 2 * kStep;
      const double below = expected();
      values[i] += kStep;
      EXPECT_NEAR(exact.gradient_P[range.begin + i].item<double>(), (above - below) / (2 * kStep), 1e-8)
          << range.name << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, ExactLaw, ::testing::ValuesIn(kLaws));

TEST(ResponseSpaceTest, WhatIsTooLargeToEnumerateIsRefused) {
  const test::TinyModel model(30, 4, at::kDouble);
  EXPECT_EQ(ResponseSpace(model.traits(), kPrompt, 4).states(), 30 * 30 * 30 * 30);
  EXPECT_THROW(ResponseSpace(model.traits(), kPrompt, 5), Error);
}

TEST(DecoderTest, NamesAreReadBack) {
  for (const Law& law : kLaws) EXPECT_EQ(Decoder::named(law.name).name(), law.name);
  for (const char* wrong : {"randm", "threshold", "threshold=", "threshold=2", "threshold=x"})
    EXPECT_THROW(Decoder::named(wrong), Error) << wrong;
}

}  // namespace drift::fidelity_exact_test
