// Three plans without a trajectory, which the original offers under the same loss (docs/spec/rldf.md 2.2, end). Only
// valid tokens are masked, all that is masked is scored, and C_f = M_f: the loss's threshold drops nothing.

#include "rldf.h"

#include <drift/plan_builder.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace drift::rldf {
namespace {

std::vector<std::int64_t> valid_positions(const Response& response, std::int64_t length) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < length; ++i) {
    if (response.valid[i]) positions.push_back(i);
  }
  return positions;
}

/// `positions` in random order. Position i draws at {step, response, i, draw}, whatever the others are.
std::vector<std::int64_t> shuffled(std::vector<std::int64_t> positions, const MaskingInput& input,
                                   std::int64_t response, std::int64_t draw) {
  const auto key = [&](std::int64_t i) { return input.random.bits({input.step, response, i, draw}); };
  std::stable_sort(positions.begin(), positions.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  return positions;
}

template <class Iterator>
void add_view(PlanBuilder& builder, std::int64_t response, std::int64_t term, Iterator begin, Iterator end) {
  if (begin == end) return;
  builder.begin_view(response, term);
  for (auto position = begin; position != end; ++position) {
    builder.mask(*position);
    builder.score(*position);
  }
}

/// Calls add(builder, b, response number, valid positions) for every response with a valid token.
template <class Add>
MaskPlan build(const MaskingInput& input, std::int64_t terms, Add add) {
  const Responses responses(input);
  PlanBuilder builder(responses.length(), responses.prompt_length());
  for (std::int64_t b = 0; b < responses.size(); ++b) {
    const auto positions = valid_positions(responses[b], responses.length());
    if (!positions.empty()) add(builder, b, responses[b].number, positions);
  }
  return builder.finish(terms);
}

}  // namespace

RandomMasking::RandomMasking(Parameters& parameters)
    : k_(parameters("k", 4, "masks per response", between(1, 4096))),
      mask_ratio_(parameters("mask_ratio", 0.3, "share of the valid tokens that is masked, at least one",
                             {.minimum = 0, .maximum = 1, .minimum_excluded = true})) {}

void RandomMasking::plan(const MaskingInput& input, MaskPlan& plan) const {
  plan = build(input, k_, [&](PlanBuilder& builder, std::int64_t b, std::int64_t response, const auto& valid) {
    const auto share = static_cast<std::int64_t>(std::floor(static_cast<double>(valid.size()) * mask_ratio_));
    for (std::int64_t f = 0; f < k_; ++f) {
      const auto order = shuffled(valid, input, response, f);
      add_view(builder, b, f, order.begin(), order.begin() + std::max<std::int64_t>(share, 1));
    }
  });
}

void CoupledRandomMasking::plan(const MaskingInput& input, MaskPlan& plan) const {
  plan = build(input, 2, [&](PlanBuilder& builder, std::int64_t b, std::int64_t response, const auto& valid) {
    // A single valid token has no complement: it is masked in term 0, and term 1 has no view.
    const auto order = shuffled(valid, input, response, 0);
    const auto middle = order.begin() + static_cast<std::int64_t>(order.size() / 2);
    add_view(builder, b, 0, middle, order.end());
    add_view(builder, b, 1, order.begin(), middle);
  });
}

void AllMasking::plan(const MaskingInput& input, MaskPlan& plan) const {
  plan = build(input, 1, [&](PlanBuilder& builder, std::int64_t b, std::int64_t, const auto& valid) {
    add_view(builder, b, 0, valid.begin(), valid.end());
  });
}

}  // namespace drift::rldf
