#include "step_sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace drift::rldf {
namespace {

constexpr double kSmallestProbability = 1e-10;

double sample_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n - 1));
}

/// The release takes w as uniform from this temperature on, and below this spread of the surprisals.
bool is_uniform(const std::vector<double>& surprisal, double temperature) {
  return temperature >= 1e4 || sample_deviation(surprisal) < 1e-8;
}

std::vector<std::int64_t> numbers_to(std::size_t n) {
  std::vector<std::int64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

CandidateSteps candidate_steps(const Response& response, std::int64_t length) {
  struct Sum {
    double surprisal = 0;
    std::int64_t tokens = 0;
  };
  std::map<std::int32_t, Sum> sums;  // raw steps have gaps: padding was committed there, or another block's tokens
  for (std::int64_t i = 0; i < length; ++i) {
    if (!response.valid[i]) continue;
    Sum& sum = sums[response.step[i]];
    sum.surprisal -= std::max<double>(response.commit_logprob[i], std::log(kSmallestProbability));
    ++sum.tokens;
  }
  CandidateSteps steps;
  for (const auto& [step, sum] : sums) {
    steps.raw_step.push_back(step);
    steps.surprisal.push_back(sum.surprisal / static_cast<double>(sum.tokens));
  }
  return steps;
}

std::vector<double> step_weights(const std::vector<double>& surprisal, double temperature) {
  std::vector<double> weights(surprisal.size(), 1.0);
  if (!is_uniform(surprisal, temperature)) {
    const double largest = *std::ranges::max_element(surprisal);
    std::ranges::transform(surprisal, weights.begin(), [&](double u) {
      return u == largest ? 1.0 : std::exp((u - largest) / temperature);  // tau = 0: exp(-inf)
    });
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= total;
  return weights;
}

std::vector<std::int64_t> draw_order(const std::vector<double>& surprisal, double temperature,
                                     const RandomStream& random, RandomPoint point) {
  // An exponential race (Gumbel top-k in other words): candidate s arrives at E_s / w_s, E_s ~ Exp(1). What is
  // compared is tau ln(E_s / w_s) up to a constant, which is -u_s at tau = 0.
  const bool uniform = is_uniform(surprisal, temperature);
  std::vector<double> arrival(surprisal.size());
  for (std::size_t s = 0; s < surprisal.size(); ++s) {
    point.position = static_cast<std::int64_t>(s);
    const double exponential = std::max(-std::log1p(-random.uniform(point)), std::numeric_limits<double>::min());
    const double log_exponential = std::log(exponential);
    arrival[s] = uniform ? log_exponential : temperature * log_exponential - surprisal[s];
  }
  std::vector<std::int64_t> order = numbers_to(surprisal.size());
  std::ranges::stable_sort(order, {}, [&](std::int64_t s) { return arrival[s]; });
  return order;
}

std::vector<std::int64_t> repeat_to(std::int64_t k, const std::vector<double>& surprisal, double temperature,
                                    const RandomStream& random, RandomPoint point) {
  const auto n = static_cast<std::int64_t>(surprisal.size());
  std::vector<std::int64_t> steps = numbers_to(surprisal.size());
  if (is_uniform(surprisal, temperature)) {
    for (std::int64_t f = n; f < k - k % n; ++f) steps.push_back(f % n);
    const auto order = draw_order(surprisal, temperature, random, point);
    steps.insert(steps.end(), order.begin(), order.begin() + k % n);
  } else {
    for (std::int64_t f = n; f < k; ++f) {  // with replacement: each draw is the first of a separate order
      point.draw = 1 + f - n;
      steps.push_back(draw_order(surprisal, temperature, random, point).front());
    }
  }
  return steps;
}

}  // namespace drift::rldf
