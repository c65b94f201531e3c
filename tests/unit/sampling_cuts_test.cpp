// top_p, top_k and the distribution that a confidence is of: loops and tensor operations against the original's numbers
// and against a sort in float64.

#include <core/interface/sampling_operators.h>
#include <core/io/safetensors.h>

#include <drift/error.h>

#include "tests/support/frequencies.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <ATen/Parallel.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>

#include <numeric>

namespace drift::sampling_cuts_test {

constexpr auto kImplementations = {sample_tokens, sample_with_operators};

/// What is drawn from, by a sort in float64. Empty if rounding decides what top_p keeps.
std::optional<std::vector<double>> exact_distribution(const at::Tensor& logits_V, const SamplingOptions& options) {
  const std::int64_t size = logits_V.size(0);
  std::vector<std::int64_t> ids;
  for (std::int64_t v = 0; v < size; ++v) {
    const auto forbids = [&](const auto& range) { return v >= range.first && v < range.second; };
    if (std::ranges::none_of(options.forbidden_ids, forbids)) ids.push_back(v);
  }
  std::vector<double> logit(static_cast<std::size_t>(size)), weight(static_cast<std::size_t>(size));
  for (std::int64_t v = 0; v < size; ++v) logit[static_cast<std::size_t>(v)] = logits_V[v].item<double>();
  const auto at = [](std::vector<double>& of, std::int64_t id) -> double& { return of[static_cast<std::size_t>(id)]; };
  std::ranges::stable_sort(ids, [&](auto a, auto b) { return at(logit, a) > at(logit, b); });
  double total = 0;
  for (const auto id : ids) {
    const double temperature = options.temperature == 0 ? 1 : options.temperature;
    total += at(weight, id) = std::exp((at(logit, id) - at(logit, ids[0])) / temperature);
  }
  if (options.top_p > 0 && options.top_p < 1) {
    double reached = 0;
    std::size_t kept = 0;
    while (kept < ids.size() && reached <= options.top_p * total) {
      reached += at(weight, ids[kept++]);
      if (std::abs(reached / total - options.top_p) < 1e-6) return std::nullopt;
    }
    ids.resize(kept);
  }
  if (options.top_k > 0 && options.top_k < static_cast<std::int64_t>(ids.size())) {
    const double least = at(logit, ids[static_cast<std::size_t>(options.top_k) - 1]);
    std::erase_if(ids, [&](auto id) { return at(logit, id) < least; });
  }
  std::vector<double> probability(weight.size(), 0.0);
  total = 0;
  for (const auto id : ids) total += at(weight, id);
  for (const auto id : ids) at(probability, id) = at(weight, id) / total;
  return probability;
}

double exact_confidence(std::vector<double> probability, Confidence confidence, std::int64_t token) {
  if (confidence == Confidence::kProbability) return probability[static_cast<std::size_t>(token)];
  if (confidence == Confidence::kMargin) {
    std::ranges::sort(probability, std::greater<>());
    return probability[0] - (probability.size() > 1 ? probability[1] : 0);
  }
  double entropy = 0;
  for (const double p : probability) entropy += p > 0 ? p * std::log(p) : 0;
  return entropy;
}

/// The uniform in the middle of what draws each id: every id whose probability is not lost in rounding.
struct Middles {
  std::vector<double> uniform;
  std::vector<std::int64_t> token;
};

Middles middles_of(const std::vector<double>& probability) {
  Middles middles;
  double before = 0;
  for (std::size_t v = 0; v < probability.size(); ++v) {
    if (probability[v] > 1e-5) {
      middles.uniform.push_back(before + probability[v] / 2);
      middles.token.push_back(static_cast<std::int64_t>(v));
    }
    before += probability[v];
  }
  return middles;
}

/// Both implementations draw every id from its part of [0, 1), with the confidence of the distribution.
void expect_drawn_from(const std::vector<double>& probability, const at::Tensor& logits_V,
                       const SamplingOptions& options) {
  const Middles middles = middles_of(probability);
  const auto count = static_cast<std::int64_t>(middles.token.size());
  ASSERT_GT(count, 0);
  for (const auto sample : kImplementations) {
    const auto sampled =
        sample(logits_V.unsqueeze(0), at::zeros({count}, at::kLong), at::tensor(middles.uniform, at::kDouble), options);
    for (std::int64_t m = 0; m < count; ++m) {
      const std::int64_t token = sampled.token_M[m].item<std::int64_t>();
      if (options.temperature > 0) {
        ASSERT_EQ(token, middles.token[static_cast<std::size_t>(m)]);
      }
      if (options.confidence_of == ConfidenceOf::kDraw) {
        const double wanted = exact_confidence(probability, options.confidence, token);
        ASSERT_NEAR(sampled.confidence_M[m].item<double>(), wanted, 2e-6 * std::max(1.0, std::abs(wanted)));
      }
    }
  }
}

TEST(SamplingCuts, AreTheOriginals) {
  const SafetensorsFile file(test::source_dir() / "tests/golden/data/unit/unit_sample_tokens.safetensors");
  struct Case {
    const char* name;
    double top_p;
    std::int64_t top_k;
  };
  for (const auto& [name, top_p, top_k] :
       {Case{"p0.95_kNone", 0.95, 0}, Case{"p0.5_kNone", 0.5, 0}, Case{"pNone_k5", 1, 5}, Case{"p0.9_k8", 0.9, 8},
        Case{"p0.05_kNone", 0.05, 0}}) {
    SCOPED_TRACE(name);
    const auto golden = [&](const char* what) { return file.tensor(std::string(name) + "." + what); };
    const auto logits = file.tensor("logits");
    SamplingOptions options;
    options.top_p = top_p;
    options.top_k = top_k;
    options.confidence_of = ConfidenceOf::kDraw;
    const std::pair<Confidence, const char*> scores[] = {{Confidence::kProbability, "confidence"},
                                                         {Confidence::kMargin, "margin_confidence"},
                                                         {Confidence::kNegativeEntropy, "neg_entropy"}};
    for (const auto& [confidence, score] : scores) {
      options.confidence = confidence;
      for (const auto sample : kImplementations) {
        const auto greedy = sample(logits, at::arange(6, at::kLong), {}, options);
        EXPECT_TRUE(at::equal(greedy.token_M, golden("x0")));
        EXPECT_LT((greedy.confidence_M - golden(score)).abs().max().item<double>(), 1e-6) << score;
      }
    }
    options.temperature = 1;
    for (std::int64_t row = 0; row < 6; ++row) {
      const auto kept = golden("keep")[row].to(at::kDouble) * (logits[row].to(at::kDouble) - logits[row].max()).exp();
      std::vector<double> probability;
      for (std::int64_t v = 0; v < kept.size(0); ++v) probability.push_back((kept[v] / kept.sum()).item<double>());
      expect_drawn_from(probability, logits[row], options);
    }
  }
}

TEST(SamplingCuts, AreThoseOfASortInFloat64) {
  const RandomStream random(5, "cuts");
  int compared = 0;
  for (std::int64_t round = 0; round < 400; ++round) {
    const auto pick = [&](std::int64_t draw, auto... values) {
      const double choices[] = {static_cast<double>(values)...};
      return choices[random.below(sizeof...(values), {round, 0, 0, draw})];
    };
    const auto size = static_cast<std::int64_t>(pick(0, 1, 2, 7, 255, 256, 257, 1500));
    // In steps of a quarter: many are equal.
    const auto logits = (at::randn({size}) * pick(1, 0, 1, 3) * 4).round() / 4 + at::randn({size}) * pick(2, 0, 0.1);
    SamplingOptions options;
    options.temperature = pick(3, 0, 0.5, 1, 1, 1.7);
    options.top_p = pick(4, 0, 1, 0.05, 0.4, 0.9, 0.999);
    options.top_k = static_cast<std::int64_t>(pick(5, 0, 0, 1, 3, 50, 3000));
    options.confidence = static_cast<Confidence>(static_cast<int>(pick(6, 0, 1, 2)));
    options.confidence_of = pick(7, 0, 1) == 0 ? ConfidenceOf::kLogits : ConfidenceOf::kDraw;
    if (size > 2 && pick(8, 0, 1) == 0)
      options.forbidden_ids = {{size / 2, size / 2 + 1}, {size - 1, size + 4}, {0, 1}};
    SCOPED_TRACE("round " + std::to_string(round));
    const auto probability = exact_distribution(logits, options);
    if (!probability) continue;
    expect_drawn_from(*probability, logits, options);
    ++compared;
  }
  EXPECT_GT(compared, 300);
}

TEST(SamplingCuts, FrequenciesAreTheExactProbabilities) {
  constexpr std::int64_t kDraws = 100000, kVocabulary = 12;
  const auto logits = at::tensor({0.3f, 1.2f, -0.4f, 2.0f, 0.0f, 2.0f, -3.0f, 0.9f, 1.1f, -1.0f, 2.6f, 0.5f});
  std::vector<double> uniforms;
  for (std::int64_t m = 0; m < kDraws; ++m) uniforms.push_back(RandomStream(8, "frequencies").uniform({0, m, 0, 0}));
  for (const double temperature : {0.6, 1.0, 2.0}) {
    for (const double top_p : {0.0, 0.5, 0.9}) {
      for (const std::int64_t top_k : {0, 4}) {
        SCOPED_TRACE(std::to_string(temperature) + " " + std::to_string(top_p) + " " + std::to_string(top_k));
        SamplingOptions options;
        options.temperature = temperature;
        options.top_p = top_p;
        options.top_k = top_k;
        options.forbidden_ids = {{10, 11}};
        for (const auto sample : kImplementations) {
          const auto sampled =
              sample(logits.unsqueeze(0), at::zeros({kDraws}, at::kLong), at::tensor(uniforms, at::kDouble), options);
          std::vector<std::int64_t> counts(kVocabulary);
          for (std::int64_t m = 0; m < kDraws; ++m) {
            ++counts[static_cast<std::size_t>(sampled.token_M.const_data_ptr<std::int64_t>()[m])];
          }
          test::expect_frequencies(counts, exact_distribution(logits, options).value());
        }
      }
    }
  }
}

// Rows are computed tile by tile, many at a time.
TEST(SamplingCuts, ADrawIsTheSameInAnyOrderOfRowsOnAnyThreads) {
  constexpr std::int64_t kRows = 24, kDraws = 200, kVocabulary = 9000;
  const auto logits = (at::randn({kRows, kVocabulary}) * 3).to(at::kBFloat16);
  const auto row_M = at::arange(kDraws, at::kLong).remainder(kRows);
  auto uniform_M = at::empty({kDraws}, at::kDouble);
  for (std::int64_t m = 0; m < kDraws; ++m) uniform_M[m] = RandomStream(2, "rows").uniform({0, m, 0, 0});
  const auto order = at::randperm(kRows), place = order.argsort();
  const int threads = at::get_num_threads();
  for (const double top_p : {0.0, 0.8}) {
    SamplingOptions options;
    options.temperature = 1;
    options.top_p = top_p;
    const auto whole = sample_tokens(logits, row_M, uniform_M, options);
    const auto other = sample_tokens(logits.index_select(0, order), place.index_select(0, row_M), uniform_M, options);
    at::set_num_threads(1);
    const auto one_thread = sample_tokens(logits, row_M, uniform_M, options);
    at::set_num_threads(threads);
    for (const auto& again : {other, one_thread}) {
      EXPECT_TRUE(at::equal(again.token_M, whole.token_M));
      EXPECT_TRUE(at::equal(again.logprob_M, whole.logprob_M));
      EXPECT_TRUE(at::equal(again.confidence_M, whole.confidence_M));
    }
    const auto alone =
        sample_tokens(logits.narrow(0, 5, 1), at::zeros({1}, at::kLong), uniform_M.narrow(0, 5, 1), options);
    EXPECT_TRUE(at::equal(alone.token_M, whole.token_M.narrow(0, 5, 1)));
  }
}

TEST(SamplingCuts, WhatIsOutOfRangeIsRefused) {
  const auto logits = at::zeros({1, 3});
  const auto with = [&](std::int64_t top_k, double top_p) {
    SamplingOptions options;
    options.top_k = top_k;
    options.top_p = top_p;
    return sample_tokens(logits, at::zeros({1}, at::kLong), {}, options);
  };
  EXPECT_NO_THROW(with(7, 1));
  EXPECT_THROW(with(-1, 0), Error);
  EXPECT_THROW(with(0, -0.1), Error);
  EXPECT_THROW(with(0, 1.1), Error);
  EXPECT_THROW(with(0, std::nan("")), Error);
}

// A draw from logits that are not numbers has a log-probability that says so, whatever is cut.
TEST(SamplingCuts, LogitsThatAreNotFiniteShow) {
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    auto logits = at::zeros({1, 600});
    logits[0][300] = value;
    SamplingOptions options;
    options.temperature = 1;
    options.top_p = 0.9;
    options.top_k = 5;
    const auto sampled = sample_tokens(logits, at::zeros({1}, at::kLong), at::full({1}, 0.5, at::kDouble), options);
    EXPECT_TRUE(std::isnan(sampled.logprob_M.item<float>()));
    EXPECT_LT(sampled.token_M.item<std::int64_t>(), 600);
  }
}

}  // namespace drift::sampling_cuts_test
