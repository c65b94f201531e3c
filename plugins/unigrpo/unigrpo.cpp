// UniGRPO (docs/algorithms/unigrpo.md): one random mask per optimizer step, whose ratios go through the diffusion
// evenly over the optimizer steps of a rollout. The loss is that of plugin `d1`. The settings are the files in
// presets/.

#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>

#include <cmath>

namespace {

using namespace drift;

enum class Normaliser { kMasked, kResponse };
constexpr Choices<Normaliser, 2> kNormalisers{{{"masked", Normaliser::kMasked}, {"response", Normaliser::kResponse}}};
enum class Spacing { kToEnd, kAround };
constexpr Choices<Spacing, 2> kSpacings{{{"to_end", Spacing::kToEnd}, {"around", Spacing::kAround}}};

/// One view per response and inner iteration: each token through the end masked with the iteration's ratio. The loss
/// takes the mean over a view's scored tokens; a weight makes of it their sum / the response's tokens.
class EvenRatios final : public MaskingStrategy {
 public:
  explicit EvenRatios(Parameters& parameters)
      : iterations_(parameters("iterations", 5,
                               "mu: inner iterations over which the ratios are spaced evenly; the next one begins anew",
                               at_least(1))),
        timesteps_(parameters("timesteps", 1000, "T: the ratio is t / T of an integer t", between(1, 1 << 20))),
        spacing_(parameters("spacing", kSpacings, Spacing::kToEnd,
                            "from the drawn first t up to T, or around in steps of T / mu")),
        normaliser_(parameters("normaliser", kNormalisers, Normaliser::kMasked,
                               "what a response's loss is divided by: its masked tokens, or all through the end")),
        end_id_(parameters("end_id", -1,
                           "token that ends the valid part of a response, itself valid; -1 = the model's end token",
                           at_least(-1))) {}

  PlanRefresh refresh() const override { return PlanRefresh::kEachInnerIteration; }

  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Responses responses(input);
    const std::int64_t length = responses.length();
    const RandomStream starts = input.random.child("first timestep");
    PlanBuilder builder(length, responses.prompt_length());
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      const std::int64_t number = responses[b].number;
      const std::int64_t round = input.inner_iteration / iterations_;
      const std::int64_t first = starts.below(timesteps_, {input.step, number, 0, round});
      const double ratio =
          static_cast<double>(timestep(first, input.inner_iteration % iterations_)) / static_cast<double>(timesteps_);
      const std::int64_t valid = responses.positions_through_end(b, end_id_ >= 0 ? end_id_ : input.end_id);
      const auto hidden = [&](std::int64_t i) {
        return input.random.uniform({input.step, number, i, input.inner_iteration}) < ratio;
      };
      std::int64_t masked = 0;
      for (std::int64_t i = 0; i < valid; ++i) masked += hidden(i) ? 1 : 0;
      if (masked == 0) continue;
      builder.begin_view(b, 0);
      if (normaliser_ == Normaliser::kResponse) builder.weigh(static_cast<double>(masked) / static_cast<double>(valid));
      for (std::int64_t i = 0; i < length; ++i) {
        if (i >= valid || hidden(i)) builder.mask(i);
        if (i < valid && hidden(i)) builder.score(i);
      }
    }
    plan = builder.finish(1);
  }

 private:
  /// t of inner iteration n = 0 … mu - 1.
  std::int64_t timestep(std::int64_t first, std::int64_t n) const {
    if (spacing_ == Spacing::kAround) return (first + n * timesteps_ / iterations_) % timesteps_;
    return iterations_ == 1 ? first : first + n * (timesteps_ - first) / (iterations_ - 1);
  }

  std::int64_t iterations_, timesteps_;
  Spacing spacing_;
  Normaliser normaliser_;
  std::int64_t end_id_;
};

}  // namespace

DRIFT_PLUGIN("unigrpo", "1.0.0", "Apache-2.0") {
  registry.add<EvenRatios>("unigrpo", "One random mask per inner iteration; their ratios are spaced evenly.");
  registry.add_algorithm({
      .name = "unigrpo",
      .doc = "One random mask per optimizer step, its ratios evenly spaced over them; clipped ratio of masked tokens.",
      .paper = "MMaDA: Multimodal Large Diffusion Language Models",
      .masking = "unigrpo",
      .loss = "d1",
      .presets = plugin_presets("paper"),
      .plugin = {},
  });
}
