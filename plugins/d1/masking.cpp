// d1's masking (docs/spec/d1.md 3.2): what a response's tokens are worth to a policy that sees none of them, given a
// prompt of which it sees most.

#include "d1.h"

#include <drift/plan_builder.h>

namespace drift::d1 {

PromptMasking::PromptMasking(const Params& params)
    : p_mask_prompt_(params.get<double>("p_mask_prompt")),
      random_masking_(params.get<bool>("random_masking")),
      mask_post_eos_keys_(params.get<bool>("mask_post_eos_keys")),
      end_id_(params.get<std::int64_t>("end_id")) {}

PlanRefresh PromptMasking::refresh() const {
  return redraws() ? PlanRefresh::kEachInnerIteration : PlanRefresh::kOncePerRollout;
}

void PromptMasking::plan(const MaskingInput& input, MaskPlan& plan) const {
  const Responses responses(input);
  const std::int64_t length = responses.length(), prompt_length = responses.prompt_length();
  const std::int64_t end_id = end_id_ >= 0 ? end_id_ : input.end_id;
  PlanBuilder builder(length, prompt_length);

  for (std::int64_t b = 0; b < responses.size(); ++b) {
    builder.begin_view(b, 0);

    // q': every prompt position on its own, padding and chat tokens too. Positions count back from the response, so
    // that the padding of a batch moves no draw. Without random masking every rollout and iteration draws the same.
    RandomPoint point{0, responses[b].number, 0, 0};
    if (random_masking_) {
      point.step = input.step;
      point.draw = input.inner_iteration;
    }
    for (std::int64_t p = 0; p < prompt_length; ++p) {
      point.position = prompt_length - 1 - p;
      if (input.random.uniform(point) < p_mask_prompt_) builder.mask_prompt(p);
    }

    // The response: all of it masked, also behind its end; scored through its end.
    const std::int64_t scored = responses.positions_through_end(b, end_id);
    for (std::int64_t i = 0; i < length; ++i) {
      builder.mask(i);
      if (i < scored) builder.score(i);
      if (i >= scored && mask_post_eos_keys_) builder.leave_unattended(i);
    }
  }
  plan = builder.finish(1);
}

}  // namespace drift::d1
