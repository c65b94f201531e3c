#include <core/interface/row_sampler.h>

#include <core/kernels/simd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace drift {
namespace {

using kernels::vector_exp;
using kernels::widen;

constexpr float kLowest = -std::numeric_limits<float>::infinity();
// Larger factors make infinities of differences; at this one only equal logits are drawn from.
constexpr double kLargestInverse = 1e30;

using Tile = std::array<float, kSamplingTile>;

DRIFT_MULTIVERSION void widen_all(const c10::BFloat16* x, std::int64_t width, float* wide) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) wide[i] = widen(x[i]);
}

// All types are computed by the same loops over float, so that equal values give equal bits.
const float* as_floats(const float* x, std::int64_t, Tile&) { return x; }
const float* as_floats(const c10::BFloat16* x, std::int64_t width, Tile& buffer) {
  widen_all(x, width, buffer.data());
  return buffer.data();
}

/// Calls visit(tile, floats, width) for each tile.
template <class T, class Visit>
void for_tiles(const T* x, std::int64_t size, const Visit& visit) {
  alignas(64) Tile buffer;
  for (std::int64_t first = 0; first < size; first += kSamplingTile) {
    const std::int64_t width = std::min(kSamplingTile, size - first);
    visit(static_cast<std::size_t>(first / kSamplingTile), as_floats(x + first, width, buffer), width);
  }
}

DRIFT_MULTIVERSION float largest_of(const float* x, std::int64_t width) {
  float largest = kLowest;
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < width; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

DRIFT_MULTIVERSION float sum_of_weights(const float* x, std::int64_t width, float reference, float inverse) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t i = 0; i < width; ++i) total += vector_exp((x[i] - reference) * inverse);
  return total;
}

struct SumsWithLogs {
  float weights, weighted_logs;
};

/// Also the sum of weights times their logarithms.
DRIFT_MULTIVERSION SumsWithLogs sums_with_logs(const float* x, std::int64_t width, float reference, float inverse) {
  float weights = 0, weighted_logs = 0;
#pragma omp simd reduction(+ : weights, weighted_logs)
  for (std::int64_t i = 0; i < width; ++i) {
    const float log_weight = (x[i] - reference) * inverse, weight = vector_exp(log_weight);
    weights += weight;
    weighted_logs += weight == 0 ? 0 : weight * log_weight;  // the logarithm may be infinite
  }
  return {weights, weighted_logs};
}

DRIFT_MULTIVERSION void weights_of(const float* x, std::int64_t width, float reference, float inverse, float* weights) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) weights[i] = vector_exp((x[i] - reference) * inverse);
}

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

AllowedIds::AllowedIds(std::vector<Range> forbidden, std::int64_t vocabulary) : vocabulary_(vocabulary) {
  std::sort(forbidden.begin(), forbidden.end());
  auto next = forbidden.begin();
  std::int64_t legal = 0;  // ids below it are forbidden by ranges that begin earlier
  for (std::int64_t first = 0; first < vocabulary; first += kSamplingTile) {
    const std::int64_t end = std::min(first + kSamplingTile, vocabulary);
    begin_.push_back(pieces_.size());
    std::int64_t at = std::max(first, legal), left = 0;
    const auto add = [&](std::int64_t until) {
      if (at < until) pieces_.emplace_back(at, until), left += until - at;
    };
    for (; next != forbidden.end() && next->first < end; ++next) {
      add(next->first);
      legal = std::max(legal, next->second);
      at = std::max(at, legal);
    }
    add(end);
    if (left < end - first) touched_.push_back(begin_.size() - 1);
  }
  begin_.push_back(pieces_.size());
}

template <class T>
RowSampler<T>::RowSampler(const SamplingOptions& options, const AllowedIds& allowed)
    : options_(options),
      allowed_(allowed),
      of_draw_(options.confidence_of == ConfidenceOf::kDraw),
      has_cut_((options.temperature > 0 || of_draw_) &&
               (options.top_k > 0 || (options.top_p > 0 && options.top_p < 1))),
      inverse_temperature_(
          options.temperature == 0 ? 1.0f : static_cast<float>(std::min(1 / options.temperature, kLargestInverse))),
      largest_(allowed.tiles()),
      sum_(allowed.tiles()),
      weighted_(options.confidence == Confidence::kNegativeEntropy ? allowed.tiles() : 0) {}

template <class T>
void RowSampler<T>::begin_row(const T* logits) {
  logits_ = logits;
  for_tiles(logits, allowed_.vocabulary(),
            [&](std::size_t tile, const float* x, std::int64_t width) { largest_[tile] = largest_of(x, width); });
  maximum_ = *std::max_element(largest_.begin(), largest_.end());
  weigh(maximum_, 1);
  const double total = sum_of(sum_);
  log_sum_ = std::log(total);
  if (!of_draw_ && options_.confidence != Confidence::kProbability) {
    const auto tile = std::find(largest_.begin(), largest_.end(), maximum_) - largest_.begin();
    std::int64_t id = std::min<std::int64_t>(tile * kSamplingTile, allowed_.vocabulary() - 1);
    while (widen(logits_[id]) < maximum_) ++id;
    const float second = options_.confidence == Confidence::kMargin ? second_largest(id, false) : 0;
    row_confidence_ = confidence(std::exp(second - maximum_), total, sum_of(weighted_));
  }
  find_best();
  if (options_.temperature == 0 && !of_draw_) return;

  if (inverse_temperature_ != 1 || best_logit_ != maximum_) weigh(best_logit_, inverse_temperature_);
  leave_out_forbidden();
  total_ = sum_of(sum_);
  // Logits that are not finite have no likely ids: the log-probability says so.
  if (has_cut_ && std::isfinite(total_)) {
    cut();
  } else {
    kept_.clear();
    add_up_tiles();
  }
}

/// Weights of all ids, by tile.
template <class T>
void RowSampler<T>::weigh(float reference, float inverse_temperature) {
  for_tiles(logits_, allowed_.vocabulary(), [&](std::size_t tile, const float* x, std::int64_t width) {
    if (weighted_.empty()) {
      sum_[tile] = sum_of_weights(x, width, reference, inverse_temperature);
    } else {
      const SumsWithLogs sums = sums_with_logs(x, width, reference, inverse_temperature);
      sum_[tile] = sums.weights;
      weighted_[tile] = sums.weighted_logs;
    }
  });
}

/// The most likely allowed id, the lower of equal ones.
template <class T>
void RowSampler<T>::find_best() {
  for (const std::size_t tile : allowed_.touched()) {
    largest_[tile] = kLowest;
    allowed_.for_ids_of(tile, [&](std::int64_t v) { largest_[tile] = std::max(largest_[tile], widen(logits_[v])); });
  }
  const auto largest = std::max_element(largest_.begin(), largest_.end());
  best_ = -1;
  allowed_.for_ids_of(static_cast<std::size_t>(largest - largest_.begin()), [&](std::int64_t v) {
    if (best_ < 0 && widen(logits_[v]) == *largest) best_ = v;
  });
  if (best_ < 0) best_ = allowed_.first();
  best_logit_ = widen(logits_[best_]);
}

template <class T>
double RowSampler<T>::weight(std::int64_t id) const {
  return vector_exp((widen(logits_[id]) - best_logit_) * inverse_temperature_);
}

template <class T>
void RowSampler<T>::leave_out_forbidden() {
  for (const std::size_t tile : allowed_.touched()) {
    sum_[tile] = 0;
    if (!weighted_.empty()) weighted_[tile] = 0;
    allowed_.for_ids_of(tile, [&](std::int64_t v) {
      const double share = weight(v);
      sum_[tile] += share;
      if (!weighted_.empty() && share > 0) weighted_[tile] += share * std::log(share);
    });
  }
}

/// Calls visit(candidate) for the allowed ids of tiles that hold one of at least this logit, by id.
template <class T>
template <class Visit>
void RowSampler<T>::for_likely_tiles(float least, const Visit& visit) const {
  alignas(64) Tile buffer, weights;
  for (std::size_t tile = 0; tile < largest_.size(); ++tile) {
    if (largest_[tile] < least) continue;
    const std::int64_t first = static_cast<std::int64_t>(tile) * kSamplingTile;
    const std::int64_t width = std::min(kSamplingTile, allowed_.vocabulary() - first);
    const float* logits = as_floats(logits_ + first, width, buffer);
    weights_of(logits, width, best_logit_, inverse_temperature_, weights.data());
    allowed_.for_ids_of(tile, [&](std::int64_t v) {
      visit(Candidate{logits[v - first], weights[static_cast<std::size_t>(v - first)], v});
    });
  }
}

/// Keeps what top_p leaves of the ids of at least this logit. They are counted by their logits in buckets, and only
/// those of the bucket in which the cut lies are compared.
template <class T>
void RowSampler<T>::keep_most_likely(float least) {
  constexpr std::int32_t kBuckets = 512;  // and one for what is below
  const float scale = best_logit_ > least ? kBuckets / (best_logit_ - least) : 0;
  const auto bucket = [&](float logit) {
    return static_cast<std::int32_t>(std::min<float>(kBuckets, (best_logit_ - logit) * scale));
  };
  std::array<double, kBuckets + 1> weight{};
  for_likely_tiles(least, [&](const Candidate& candidate) {
    weight[static_cast<std::size_t>(bucket(candidate.logit))] += candidate.weight;
  });
  double left = options_.top_p * total_;
  std::int32_t crossed = 0;
  while (crossed < kBuckets && weight[static_cast<std::size_t>(crossed)] <= left)
    left -= weight[static_cast<std::size_t>(crossed++)];
  std::vector<Candidate> compared;
  for_likely_tiles(least, [&](const Candidate& candidate) {
    const std::int32_t own = bucket(candidate.logit);
    if (own > crossed || candidate.logit < least) return;
    kept_.push_back(candidate);
    if (own == crossed) compared.push_back(candidate);
  });
  const LikelyIds likely = most_likely_weighing(left, std::move(compared));
  std::erase_if(kept_, [&](const Candidate& candidate) { return !likely.keep(candidate); });
}

/// Keeps what top_p and top_k leave. Only ids that may stay are looked at: those of less than half the mean of what
/// top_p may leave out add up to less than it, and the k-th largest of all tiles' largest is not above the k-th.
template <class T>
void RowSampler<T>::cut() {
  float least = std::numeric_limits<float>::lowest();
  const auto k = static_cast<std::size_t>(options_.top_k);
  if (k > 0 && k <= largest_.size()) {
    std::vector<float> largest = largest_;
    std::nth_element(largest.begin(), largest.begin() + static_cast<std::ptrdiff_t>(k - 1), largest.end(),
                     std::greater<>());
    least = std::max(least, largest[k - 1]);
  }
  kept_.clear();
  if (options_.top_p > 0 && options_.top_p < 1) {
    const double weight = 0.5 * (1 - options_.top_p) * total_ / static_cast<double>(allowed_.vocabulary());
    keep_most_likely(std::max(least, best_logit_ + static_cast<float>(std::log(weight)) / inverse_temperature_));
  } else {
    for_likely_tiles(least, [&](const Candidate& candidate) {
      if (candidate.logit >= least) kept_.push_back(candidate);
    });
  }
  if (k > 0) {
    const LikelyIds largest = most_likely(options_.top_k, kept_);
    std::erase_if(kept_, [&](const Candidate& candidate) { return !largest.keep(candidate); });
  }
  add_up_kept();
}

template <class T>
void RowSampler<T>::add_up_kept() {
  cumulative_.resize(kept_.size());
  double second = 0, weighted = 0;
  total_ = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const double share = kept_[i].weight;
    cumulative_[i] = total_ += share;
    if (kept_[i].id != best_) second = std::max(second, share);
    if (!weighted_.empty() && share > 0) weighted += share * std::log(share);
  }
  if (of_draw_) row_confidence_ = confidence(second, total_, weighted);
}

template <class T>
void RowSampler<T>::add_up_tiles() {
  cumulative_.resize(sum_.size());
  std::partial_sum(sum_.begin(), sum_.end(), cumulative_.begin());
  if (!of_draw_) return;
  const bool margin = options_.confidence == Confidence::kMargin;
  const float second = margin ? (second_largest(best_, true) - best_logit_) * inverse_temperature_ : 0;
  row_confidence_ = confidence(std::exp(second), total_, sum_of(weighted_));
}

template <class T>
float RowSampler<T>::second_largest(std::int64_t largest, bool only_allowed) const {
  const auto own = static_cast<std::size_t>(largest / kSamplingTile);
  float second = kLowest;
  for (std::size_t tile = 0; tile < largest_.size(); ++tile) {
    if (tile != own) second = std::max(second, largest_[tile]);
  }
  const auto look_at = [&](std::int64_t v) {
    if (v != largest) second = std::max(second, widen(logits_[v]));
  };
  if (only_allowed) {
    allowed_.for_ids_of(own, look_at);
  } else {
    const std::int64_t first = largest / kSamplingTile * kSamplingTile;
    for (std::int64_t v = first; v < std::min(first + kSamplingTile, allowed_.vocabulary()); ++v) look_at(v);
  }
  return second;
}

/// Of a distribution whose largest weight is 1.
template <class T>
float RowSampler<T>::confidence(double second_weight, double total, double weighted) const {
  switch (options_.confidence) {
    case Confidence::kMargin: return static_cast<float>((1 - second_weight) / total);
    case Confidence::kNegativeEntropy: return static_cast<float>(weighted / total - std::log(total));
    default: return 0;
  }
}

template <class T>
std::int64_t RowSampler<T>::choose(double uniform) {
  if (cumulative_.empty()) return best_;
  const double target = uniform * cumulative_.back();
  auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), target);
  // Rounding may lift the target to the total: the last one with a weight takes it.
  if (found == cumulative_.end()) found = std::lower_bound(cumulative_.begin(), cumulative_.end(), cumulative_.back());
  const auto index = static_cast<std::size_t>(found - cumulative_.begin());
  if (index >= cumulative_.size()) return best_;  // not finite
  if (!kept_.empty()) return kept_[index].id;

  const std::int64_t first = static_cast<std::int64_t>(index) * kSamplingTile;
  const std::int64_t width = std::min(kSamplingTile, allowed_.vocabulary() - first);
  alignas(64) Tile buffer, weights;
  weights_of(as_floats(logits_ + first, width, buffer), width, best_logit_, inverse_temperature_, weights.data());
  double reached = index == 0 ? 0 : cumulative_[index - 1];
  std::int64_t chosen = -1, last = best_;
  allowed_.for_ids_of(index, [&](std::int64_t v) {
    const double share = weights[static_cast<std::size_t>(v - first)];
    reached += share;
    if (chosen < 0 && reached > target) chosen = v;
    if (share > 0) last = v;
  });
  return chosen < 0 ? last : chosen;
}

template <class T>
RowDraw RowSampler<T>::draw(double uniform) {
  RowDraw drawn;
  drawn.token = options_.temperature == 0 ? best_ : choose(uniform);
  drawn.logprob = static_cast<float>(widen(logits_[drawn.token]) - maximum_ - log_sum_);
  if (options_.confidence != Confidence::kProbability) {
    drawn.confidence = row_confidence_;
  } else {
    drawn.confidence = of_draw_ ? static_cast<float>(weight(drawn.token) / total_) : std::exp(drawn.logprob);
  }
  return drawn;
}

template class RowSampler<float>;
template class RowSampler<c10::BFloat16>;

}  // namespace drift
