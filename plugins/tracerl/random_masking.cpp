// The two plans without a trajectory that TraceRL's authors offer under the same loss (docs/spec/tracerl.md 5.2):
// random masks, and random masks with their complements.

#include "tracerl.h"

#include <drift/error.h>

namespace drift::tracerl {

RandomTraceMasking::RandomTraceMasking(Parameters& parameters, bool coupled)
    : lower_(parameters("lower_p", 0.1, "smallest mask ratio", between(0, 1))),
      upper_(parameters("upper_p", 0.9, "largest mask ratio; each mask draws its own", between(0, 1))),
      masks_(parameters("mask_times", 35, "masks per response", between(1, 4096))),
      kept_pads_(kept_pads(parameters)),
      origin_(blocks_from(parameters)),
      coupled_(coupled) {
  if (lower_ > upper_) throw Error("lower_p is above upper_p", "the mask ratio is drawn between the two");
}

void RandomTraceMasking::plan(const MaskingInput& input, MaskPlan& plan) const {
  if (input.block_size > 0) {
    plan = plan_of_blocks(input);
    return;
  }
  const Responses responses(input);
  const std::int64_t length = responses.length();
  const std::int64_t views_per_mask = coupled_ ? 2 : 1;
  const RandomStream ratios = input.random.child("ratio");
  PlanBuilder builder(length, responses.prompt_length());

  for (std::int64_t b = 0; b < responses.size(); ++b) {
    const Response response = responses[b];
    const auto may_score = scorable(response, length, input.pad_id, kept_pads_);
    for (std::int64_t m = 0; m < masks_; ++m) {
      const double t = lower_ + (upper_ - lower_) * ratios.uniform({input.step, response.number, 0, m});
      for (std::int64_t half = 0; half < views_per_mask; ++half) {
        const auto is_target = [&](std::int64_t i) {
          const bool below = input.random.uniform({input.step, response.number, i, m}) < t;
          return may_score[i] && below == (half == 0);
        };
        bool any = false;
        for (std::int64_t i = 0; i < length; ++i) any = any || is_target(i);
        if (!any) continue;
        builder.begin_view(b, m * views_per_mask + half);
        for (std::int64_t i = 0; i < length; ++i) {
          if (is_target(i)) builder.score(i);
          if (is_target(i) || !may_score[i]) builder.mask(i);
        }
      }
    }
  }
  plan = builder.finish(masks_ * views_per_mask);
}

/// Here each position has a ratio of its own.
MaskPlan RandomTraceMasking::plan_of_blocks(const MaskingInput& input) const {
  const Responses responses(input);
  const RandomStream ratios = input.random.child("ratio");
  return random_block_masks(input, masks_, coupled_, kept_pads_, origin_,
                            [&](std::int64_t b, std::int64_t m, std::int64_t i) {
                              const RandomPoint point{input.step, responses[b].number, i, m};
                              const double ratio = lower_ + (upper_ - lower_) * ratios.uniform(point);
                              return input.random.uniform(point) <= ratio;
                            });
}

}  // namespace drift::tracerl
