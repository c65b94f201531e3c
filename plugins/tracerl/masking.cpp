// TraceRL's masking for backbones with full attention (docs/spec/tracerl.md 5.2): slices of the denoising trajectory.
// block_masking.cpp has that for block attention.

#include "tracerl.h"

#include <algorithm>
#include <limits>

namespace drift::tracerl {
namespace {

/// Positions that were never committed were still masked at every step: they come after all of them.
constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();

std::int32_t step_of(const Response& response, std::int64_t i) {
  return response.step[i] < 0 ? kNever : response.step[i];
}

/// u_0 < u_1 < …: the distinct steps of all L positions, those of padding included.
std::vector<std::int32_t> distinct_steps(const Response& response, std::int64_t length) {
  std::vector<std::int32_t> steps;
  for (std::int64_t i = 0; i < length; ++i) steps.push_back(step_of(response, i));
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

}  // namespace

std::vector<bool> scorable(const Response& response, std::int64_t length, std::int64_t pad_id, std::int64_t kept_pads,
                           const std::function<bool(std::int64_t)>& is_selected) {
  std::vector<bool> positions(static_cast<std::size_t>(length));
  std::int64_t pads = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    if (is_selected && !is_selected(i)) continue;
    const bool pad = response.tokens[i] == pad_id;
    if (pad) ++pads;
    positions[i] = response.valid[i] || (pad && (kept_pads < 0 || pads <= kept_pads));
  }
  return positions;
}

std::int64_t kept_pads(Parameters& parameters) {
  return parameters("post_num", 0, "padding tokens that are scored, counted from the first; -1: all of them",
                    at_least(-1));
}

TraceMasking::TraceMasking(Parameters& parameters)
    : shrink_(parameters("shrink", 8, "s: denoising steps predicted together, from the state before the first",
                         at_least(1))),
      kept_pads_(kept_pads(parameters)),
      origin_(blocks_from(parameters)) {}

void TraceMasking::plan(const MaskingInput& input, MaskPlan& plan) const {
  if (input.block_size > 0) {
    plan = block_rounds(input, shrink_, kept_pads_, origin_);
    return;
  }
  const Responses responses(input);
  const std::int64_t length = responses.length();
  PlanBuilder builder(length, responses.prompt_length());
  std::int64_t most_views = 1;

  for (std::int64_t b = 0; b < responses.size(); ++b) {
    const Response response = responses[b];
    const auto steps = distinct_steps(response, length);
    const auto may_score = scorable(response, length, input.pad_id, kept_pads_);
    const auto count = static_cast<std::int64_t>(steps.size());
    std::int64_t views = 0;
    for (std::int64_t first = 0; first < count; first += shrink_) {
      // A slice is predicted together, from the state before its first step.
      const std::int32_t from = steps[first], to = steps[std::min(first + shrink_, count) - 1];
      const auto is_target = [&](std::int64_t i) {
        return may_score[i] && step_of(response, i) >= from && step_of(response, i) <= to;
      };
      bool any = false;
      for (std::int64_t i = 0; i < length; ++i) any = any || is_target(i);
      if (!any) continue;
      builder.begin_view(b, views++);
      for (std::int64_t i = 0; i < length; ++i) {
        if (step_of(response, i) >= from) builder.mask(i);
        if (is_target(i)) builder.score(i, response.step[i] == from);
      }
    }
    most_views = std::max(most_views, views);
  }
  plan = builder.finish(most_views);
}

}  // namespace drift::tracerl
