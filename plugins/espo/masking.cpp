// ESPO's masking (docs/spec/espo.md 4.2): l of a response's L positions are masked, l spread evenly over {0, …, L}, and
// in a second view the other L - l.

#include "espo.h"

#include <drift/plan_builder.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace drift::espo {
namespace {

/// round_half_even(c + n (L + 1) / b) mod (L + 1): the size of mask n of b. std::nearbyint rounds halves to even.
std::int64_t mask_size(std::int64_t c, std::int64_t n, std::int64_t b, std::int64_t length) {
  const double size = static_cast<double>(c) + static_cast<double>(n * (length + 1)) / static_cast<double>(b);
  return static_cast<std::int64_t>(std::nearbyint(size)) % (length + 1);
}

/// All positions in a random order; the first l of it are l positions drawn uniformly.
std::vector<std::int64_t> permutation(const MaskingInput& input, std::int64_t sample, std::int64_t length,
                                      std::int64_t draw) {
  std::vector<std::uint64_t> key;
  for (std::int64_t i = 0; i < length; ++i) key.push_back(input.random.bits({input.step, sample, i, draw}));
  std::vector<std::int64_t> order(static_cast<std::size_t>(length));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return key[a] < key[b]; });
  return order;
}

}  // namespace

StratifiedMasking::StratifiedMasking(const Params& params)
    : num_mc_(params.get<std::int64_t>("num_mc")),
      coupled_(params.get<bool>("coupled")),
      micro_batch_(params.get<std::int64_t>("micro_batch")) {}

PlanRefresh StratifiedMasking::refresh() const { return PlanRefresh::kEachInnerIteration; }

void StratifiedMasking::plan(const MaskingInput& input, MaskPlan& plan) const {
  const Responses responses(input);
  const std::int64_t length = responses.length();
  const std::int64_t micro_batch = micro_batch_ > 0 ? micro_batch_ : std::max<std::int64_t>(responses.size(), 1);
  const std::int64_t views = coupled_ ? 2 : 1;  // per Monte Carlo sample
  const RandomStream size_random = input.random.child("mask size");
  PlanBuilder builder(length, responses.prompt_length());

  for (std::int64_t b = 0; b < responses.size(); ++b) {
    const std::int64_t n = b % micro_batch, first = b - n;
    const std::int64_t together = std::min(micro_batch, responses.size() - first);
    for (std::int64_t m = 0; m < num_mc_; ++m) {
      const std::int64_t draw = input.inner_iteration * num_mc_ + m;
      const std::int64_t c = size_random.below(length + 1, {input.step, responses[first].number, 0, draw});
      const std::int64_t masked = mask_size(c, n, together, length);
      const auto order = permutation(input, responses[b].number, length, draw);

      // The first `masked` of the order are one view's, the others the complement's. A view without a mask adds
      // nothing.
      for (std::int64_t view = 0; view < views; ++view) {
        const std::int64_t begin = view == 0 ? 0 : masked, end = view == 0 ? masked : length;
        if (begin == end) continue;
        builder.begin_view(b, views * m + view);
        for (std::int64_t k = begin; k < end; ++k) {
          builder.mask(order[static_cast<std::size_t>(k)]);
          builder.score(order[static_cast<std::size_t>(k)]);
        }
      }
    }
  }
  plan = builder.finish(views * num_mc_);
}

}  // namespace drift::espo
