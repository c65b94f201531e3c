// MDPO (docs/algorithms/mdpo.md): states of a response's own denoising trajectory, each predicting all that it masks.
// Its loss is that of plugin `tracerl`. The settings of the release are the files in presets/.

#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>

#include <algorithm>
#include <vector>

namespace {

using namespace drift;

enum class Choice { kEarliest, kUniform };
constexpr Choices<Choice, 2> kChoices{{{"earliest", Choice::kEarliest}, {"uniform", Choice::kUniform}}};

/// One view per chosen step: the state before it, all that is masked there scored, weight L / masked positions.
class TrainedSteps final : public MaskingStrategy {
 public:
  explicit TrainedSteps(Parameters& parameters)
      : steps_(parameters("sample_train_steps", 16, "K: denoising steps that are trained on", between(1, 4096))),
        choice_(parameters("steps", kChoices, Choice::kUniform,
                           "which: drawn uniformly without repetition, or the first ones")),
        end_id_(parameters("end_id", -1,
                           "token that ends the valid part of a response, itself valid; -1 = the model's end token",
                           at_least(-1))) {}

  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Responses responses(input);
    const std::int64_t length = responses.length();
    PlanBuilder builder(length, responses.prompt_length());
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      const Response response = responses[b];
      const std::int64_t valid = responses.positions_through_end(b, end_id_ >= 0 ? end_id_ : input.end_id);
      std::int64_t term = 0;
      for (const std::int32_t step : chosen(input, response, valid)) {
        std::int64_t masked = 0;
        builder.begin_view(b, term++);
        for (std::int64_t i = 0; i < length; ++i) {
          if (response.step[i] >= 0 && response.step[i] < step) continue;
          builder.mask(i);
          ++masked;
          if (i < valid) builder.score(i, response.step[i] == step);
        }
        builder.weigh(static_cast<double>(length) / static_cast<double>(masked));
      }
    }
    plan = builder.finish(steps_);
  }

 private:
  /// Steps that commit a token through the end, each at most once.
  std::vector<std::int32_t> chosen(const MaskingInput& input, const Response& response, std::int64_t valid) const {
    std::vector<std::int32_t> steps;
    for (std::int64_t i = 0; i < valid; ++i) {
      if (response.step[i] >= 0) steps.push_back(response.step[i]);
    }
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    const auto count = std::min(steps.size(), static_cast<std::size_t>(steps_));
    if (choice_ == Choice::kUniform) {
      const auto key = [&](std::int32_t step) { return input.random.bits({input.step, response.number, step, 0}); };
      std::stable_sort(steps.begin(), steps.end(), [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
    }
    steps.resize(count);
    return steps;
  }

  std::int64_t steps_;
  Choice choice_;
  std::int64_t end_id_;
};

}  // namespace

DRIFT_PLUGIN("mdpo", "1.0.0", "Apache-2.0") {
  registry.add<TrainedSteps>("mdpo", "States of the denoising trajectory, each predicting all that it masks.");
  registry.add_algorithm({
      .name = "mdpo",
      .doc = "States of the response's own trajectory, each predicting all that it masks; one reward for all steps.",
      .paper = "MDPO: Overcoming the Training-Inference Divide of Masked Diffusion Language Models",
      .masking = "mdpo",
      .loss = "tracerl",
      .presets = plugin_presets("demo"),
      .plugin = {},
  });
}
