// Coupled-GRPO's masking (docs/spec/coupled_grpo.md 6.2): every token is scored from a fully masked response, and once
// in each pair of complementary masks.

#include "coupled_grpo.h"

#include <drift/error.h>
#include <drift/plan_builder.h>

#include <numeric>
#include <vector>

namespace drift::coupled_grpo {
namespace {

/// A view with these positions masked, of which those before `scored` are scored. Without one there is nothing to
/// learn.
void add_view(PlanBuilder& builder, std::int64_t b, std::int64_t forward, double weight,
              const std::vector<std::int64_t>& masked, std::int64_t scored) {
  if (masked.empty() || masked.front() >= scored) return;
  builder.begin_view(b, forward);
  builder.weigh(weight);
  for (const std::int64_t i : masked) {
    builder.mask(i);
    if (i < scored) builder.score(i);
  }
}

}  // namespace

PairMasking::PairMasking(const Params& params)
    : t_low_(params.get<double>("t_low")),
      t_high_(params.get<double>("t_high")),
      pairs_(params.get<std::int64_t>("pairs")),
      include_full_mask_(params.get<bool>("include_full_mask")),
      random_masking_(params.get<bool>("random_masking")),
      end_id_(params.get<std::int64_t>("end_id")) {
  if (t_low_ > t_high_) throw Error("t_low is greater than t_high", "give the range of t from the lower bound up");
}

PlanRefresh PairMasking::refresh() const {
  return random_masking_ ? PlanRefresh::kEachInnerIteration : PlanRefresh::kOncePerRollout;
}

void PairMasking::plan(const MaskingInput& input, MaskPlan& plan) const {
  const Responses responses(input);
  const std::int64_t length = responses.length();
  const std::int64_t end_id = end_id_ >= 0 ? end_id_ : input.end_id;
  // Without random masking every rollout and iteration draws the same.
  const std::int64_t step = random_masking_ ? input.step : 0;
  const std::int64_t first_draw = random_masking_ ? input.inner_iteration * pairs_ : 0;
  const RandomStream t_random = input.random.child("t");
  const std::int64_t first_pair = include_full_mask_ ? 1 : 0;
  std::vector<std::int64_t> everything(static_cast<std::size_t>(length));
  std::iota(everything.begin(), everything.end(), 0);
  PlanBuilder builder(length, responses.prompt_length());

  for (std::int64_t b = 0; b < responses.size(); ++b) {
    const std::int64_t scored = responses.positions_through_end(b, end_id);  // masks go on behind it, scores do not
    if (include_full_mask_) add_view(builder, b, 0, 1, everything, scored);
    for (std::int64_t pair = 0; pair < pairs_; ++pair) {
      const std::int64_t draw = first_draw + pair;
      const double t = t_low_ + (t_high_ - t_low_) * t_random.uniform({step, 0, 0, draw});  // one for all responses
      std::vector<std::int64_t> masked, complement;
      for (std::int64_t i = 0; i < length; ++i) {
        const bool selected = input.random.uniform({step, responses[b].number, i, draw}) < t;
        (selected ? masked : complement).push_back(i);
      }
      add_view(builder, b, first_pair + 2 * pair, 1 / t, masked, scored);
      add_view(builder, b, first_pair + 2 * pair + 1, 1 / (1 - t), complement, scored);
    }
  }
  plan = builder.finish(first_pair + 2 * pairs_);
}

}  // namespace drift::coupled_grpo
