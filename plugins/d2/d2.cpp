// d2-StepMerge (docs/algorithms/d2.md): the denoising trajectory in N segments, each predicted from the state before
// it. The loss is that of plugin `d1`. The settings of the release are the files in presets/.

#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace {

using namespace drift;

/// Positions that were never committed were still masked at every step: they come after all of them.
constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();

std::int32_t step_of(const Response& response, std::int64_t i) {
  return response.step[i] < 0 ? kNever : response.step[i];
}

/// N views per response: view n shows the state before segment n and scores what the segment committed.
class MergedSteps final : public MaskingStrategy {
 public:
  explicit MergedSteps(Parameters& parameters)
      : segments_(parameters("segments", 16, "N: segments of the trajectory, each predicted in one forward",
                             between(1, 4096))),
        p_mask_prompt_(parameters("p_mask_prompt", 0.15,
                                  "probability that a prompt token is masked; 0 shows the entire prompt",
                                  between(0, 1))),
        end_id_(parameters("end_id", -1,
                           "token that ends the valid part of a response, itself valid; -1 = the model's end token",
                           at_least(-1))) {}

  PlanRefresh refresh() const override {
    return p_mask_prompt_ > 0 ? PlanRefresh::kEachInnerIteration : PlanRefresh::kOncePerRollout;
  }

  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Responses responses(input);
    const std::int64_t length = responses.length(), prompt_length = responses.prompt_length();
    PlanBuilder builder(length, prompt_length);
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      const Response response = responses[b];
      const std::int64_t valid = responses.positions_through_end(b, end_id_ >= 0 ? end_id_ : input.end_id);
      const std::vector<std::int32_t> steps = distinct_steps(response, length);
      const auto count = static_cast<std::int64_t>(steps.size());
      for (std::int64_t n = 0; n < segments_; ++n) {
        // The steps of the trajectory, those after the end included, in N parts of equal size.
        const std::int64_t first = n * count / segments_, last = (n + 1) * count / segments_;
        const auto is_target = [&](std::int64_t i) {
          return i < valid && first < last && response.step[i] >= steps[first] && response.step[i] <= steps[last - 1];
        };
        bool any = false;
        for (std::int64_t i = 0; i < length; ++i) any = any || is_target(i);
        if (!any) continue;
        builder.begin_view(b, n);
        for (std::int64_t p = 0; p < prompt_length; ++p) {
          // All segments of an optimizer step see the same prompt. Positions count back from the response, so that the
          // padding of a batch moves no draw.
          const RandomPoint point{input.step, response.number, prompt_length - 1 - p, input.inner_iteration};
          if (input.random.uniform(point) < p_mask_prompt_) builder.mask_prompt(p);
        }
        for (std::int64_t i = 0; i < length; ++i) {
          if (step_of(response, i) >= steps[first]) builder.mask(i);
          if (is_target(i)) builder.score(i, response.step[i] == steps[first]);
        }
      }
    }
    plan = builder.finish(segments_);
  }

 private:
  static std::vector<std::int32_t> distinct_steps(const Response& response, std::int64_t length) {
    std::vector<std::int32_t> steps;
    for (std::int64_t i = 0; i < length; ++i) {
      if (response.step[i] >= 0) steps.push_back(response.step[i]);
    }
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    return steps;
  }

  std::int64_t segments_;
  double p_mask_prompt_;
  std::int64_t end_id_;
};

}  // namespace

DRIFT_PLUGIN("d2", "1.0.0", "Apache-2.0") {
  registry.add<MergedSteps>("d2", "The denoising trajectory in N segments, each predicted from the state before it.");
  registry.add_algorithm({
      .name = "d2",
      .doc = "d2-StepMerge: the trajectory's likelihood from N of its states; clipped ratio of every valid token.",
      .paper = "d2: Improving Reasoning in Diffusion Language Models via Trajectory Likelihood Estimation",
      .masking = "d2",
      .loss = "d1",
      .presets = plugin_presets("gsm8k"),
      .plugin = {},
  });
}
