#include <core/lab/claims/token_quantities.h>

#include <core/record/correlation.h>
#include <core/report/format.h>
#include <core/rollout/response_text.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

namespace drift {
namespace {

constexpr double kConfident = 0.9;
constexpr std::size_t kBins = 10;
constexpr std::size_t kListedTokens = 20;
constexpr std::int64_t kFewestOccurrences = 5;

double mean_of(const std::vector<double>& values) { return estimate(values).mean; }

/// With divisor n - 1.
double variance_of(const std::vector<double>& values) {
  const Estimate of = estimate(values);
  return of.error * of.error * of.count;
}

std::size_t bin_of(double share) {
  return std::min(kBins - 1, static_cast<std::size_t>(std::max(0.0, share) * static_cast<double>(kBins)));
}

/// Mean and quartiles of each bin; gaps where a bin is empty.
Series series_of(const std::string& name, const std::vector<std::vector<double>>& bins) {
  Series series{.name = name};
  for (const auto& values : bins) {
    series.y.push_back(mean_of(values));
    series.low.push_back(quantile(values, 0.25));
    series.high.push_back(quantile(values, 0.75));
  }
  return series;
}

std::vector<double> middles_of_bins() {
  std::vector<double> x;
  for (std::size_t bin = 0; bin < kBins; ++bin)
    x.push_back(100.0 * (static_cast<double>(bin) + 0.5) / static_cast<double>(kBins));
  return x;
}

}  // namespace

const std::map<std::string, std::string>& token_quantities() {
  static const std::map<std::string, std::string> all = {
      {"pearson", "Pearson's correlation of a token's commit probability and the entropy that it was drawn from"},
      {"spearman", "Spearman's correlation of the same"},
      {"confident_share", "share of the tokens that were committed with probability 0.9 or more"},
      {"probability", "mean commit probability"},
      {"probability_first_half", "mean commit probability in the first half of a response's forwards"},
      {"probability_second_half", "mean commit probability in the second half"},
      {"probability_gain", "second half less first half"},
      {"variance_first_half", "variance of the commit probability in the first half"},
      {"variance_second_half", "variance of the commit probability in the second half"},
      {"variance_loss", "first half less second half"},
      {"entropy", "mean entropy, nats"},
      {"forwards", "forwards of a response"},
      {"tokens_per_forward", "valid tokens of a response over its forwards"},
  };
  return all;
}

void TokenStatistics::add(const ClaimBatch& batch) {
  const Trajectories& made = batch.made;
  const std::int64_t length = made.tokens_BL.size(1);
  std::vector<double> probability, entropy, first, second;
  for (std::int64_t b = 0; b < made.tokens_BL.size(0); ++b) {
    const std::int32_t* const step = made.step_BL.const_data_ptr<std::int32_t>() + b * length;
    const std::int32_t last = *std::max_element(step, step + length);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t at = b * length + i;
      if (!made.valid_BL.const_data_ptr<bool>()[at] || step[i] < 0) continue;
      const Token token{made.tokens_BL.const_data_ptr<std::int64_t>()[at],
                        std::exp(static_cast<double>(made.commit_logprob_BL.const_data_ptr<float>()[at])),
                        static_cast<double>(batch.entropy_BL.const_data_ptr<float>()[at]),
                        last > 0 ? static_cast<double>(step[i]) / last : kUnknown};
      probability.push_back(token.probability), entropy.push_back(token.entropy);
      if (!std::isnan(token.place)) (token.place < 0.5 ? first : second).push_back(token.probability);
      tokens_.push_back(token);
    }
  }
  const auto confident = std::ranges::count_if(probability, [](double p) { return p >= kConfident; });
  const double forwards = made.forwards_B.to(at::kDouble).mean().item<double>();
  const auto count = static_cast<double>(probability.size());
  batches_.push_back({{"pearson", pearson(probability, entropy)},
                      {"spearman", spearman(probability, entropy)},
                      {"confident_share", static_cast<double>(confident) / count},
                      {"probability", mean_of(probability)},
                      {"probability_first_half", mean_of(first)},
                      {"probability_second_half", mean_of(second)},
                      {"probability_gain", mean_of(second) - mean_of(first)},
                      {"variance_first_half", variance_of(first)},
                      {"variance_second_half", variance_of(second)},
                      {"variance_loss", variance_of(first) - variance_of(second)},
                      {"entropy", mean_of(entropy)},
                      {"forwards", forwards},
                      {"tokens_per_forward", count / forwards / static_cast<double>(made.tokens_BL.size(0))}});
}

void TokenStatistics::fill(ClaimResult& result, const Tokenizer& tokenizer) const {
  for (const std::string& quantity : result.claim.quantities) {
    MeasuredQuantity measured{"", quantity, {}};
    for (const auto& batch : batches_) measured.values.push_back(batch.at(quantity));
    result.measured.push_back(std::move(measured));
  }
  std::vector<std::vector<double>> entropy_by_probability(kBins), probability_by_place(kBins);
  std::vector<double> share(kBins, 0.0);
  std::map<std::int64_t, std::vector<double>> entropies;  // by token
  for (const Token& token : tokens_) {
    const std::size_t bin = bin_of(token.probability);
    entropy_by_probability[bin].push_back(token.entropy);
    share[bin] += 100.0 / static_cast<double>(tokens_.size());
    if (!std::isnan(token.place)) probability_by_place[bin_of(token.place)].push_back(token.probability);
    entropies[token.id].push_back(token.entropy);
  }
  const auto x = middles_of_bins();
  result.charts = {{.title = "Entropy",
                    .unit = "nats",
                    .note = "band: quartiles",
                    .x_name = "commit probability, %",
                    .x = x,
                    .series = {series_of("entropy", entropy_by_probability)},
                    .minimum = 0,
                    .points = true},
                   {.title = "Tokens",
                    .unit = "%",
                    .x_name = "commit probability, %",
                    .x = x,
                    .series = {{.name = "tokens", .y = share}},
                    .minimum = 0,
                    .points = true},
                   {.title = "Commit probability",
                    .note = "band: quartiles",
                    .x_name = "forward of the response, %",
                    .x = x,
                    .series = {series_of("probability", probability_by_place)},
                    .maximum = 1,
                    .points = true}};

  std::vector<std::pair<double, std::int64_t>> order;  // -mean entropy, token
  for (const auto& [id, values] : entropies) {
    if (std::ssize(values) >= kFewestOccurrences) order.emplace_back(-mean_of(values), id);
  }
  std::ranges::sort(order);
  order.resize(std::min(order.size(), kListedTokens));
  result.table = {{"token", "mean entropy", "times"}, {false, true, true}, {}};
  for (const auto& [entropy, id] : order) {
    result.table.rows.push_back({written_text(std::span(&id, 1), tokenizer, false), format_adaptive(-entropy),
                                 std::to_string(entropies[id].size())});
  }
}

}  // namespace drift
