#include "commit_rule.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace drift::block {
namespace {

// LLaDA's linear schedule: `masked` positions over `steps` forwards, the surplus going to the first ones
// (docs/spec/models_rollout.md 3.0, num_transfer). Example: 32 over 5 gives 7, 7, 6, 6, 6.
std::int64_t linear(std::int64_t masked, std::int64_t steps, std::int64_t forward) {
  return masked / steps + (forward < masked % steps ? 1 : 0);
}

// Dream's schedule: the share 1 - t(i + 1) / t(i) of what is masked now, t falling from 1 to 0.001 in equal steps, in
// float32 as there.
std::int64_t by_time_grid(std::int64_t masked, std::int64_t steps, std::int64_t forward) {
  if (forward >= steps - 1) return masked;
  const auto times = at::linspace(1, 1e-3, steps + 1, at::kFloat);
  const float* const time = times.const_data_ptr<float>();
  return static_cast<std::int64_t>(static_cast<float>(masked) * (1.0f - time[forward + 1] / time[forward]));
}

// Fast-dLLM's factor: rank r of the surest positions passes from confidence 1 - factor / (r + 1), the first always.
std::int64_t by_factor(const std::vector<float>& scores, double factor, bool last_rank) {
  const auto count = static_cast<std::int64_t>(scores.size());
  std::int64_t passed = 1;
  while (passed < count && scores[static_cast<std::size_t>(passed)] >= 1 - factor / static_cast<double>(passed + 2))
    ++passed;
  return last_rank && passed == count - 1 ? count : passed;
}

}  // namespace

std::int64_t BlockSettings::steps_of_block(std::int64_t index) const {
  if (block_steps > 0) return block_steps;
  return std::max<std::int64_t>(1, steps / blocks() + (index < steps % blocks() ? 1 : 0));
}

std::int64_t commits(const BlockSettings& settings, const BlockProgress& progress, const std::vector<float>& scores) {
  const auto count = static_cast<std::int64_t>(scores.size());
  const Quirks& quirks = settings.quirks;
  if (quirks.first_position && progress.forwards == 0) return 1;
  switch (settings.schedule) {
    case Schedule::kDynamic: {
      const auto reaches = [&](float score) {
        return settings.above_threshold ? score > settings.threshold : score >= settings.threshold;
      };
      return std::max<std::int64_t>(1, std::ranges::find_if_not(scores, reaches) - scores.begin());
    }
    case Schedule::kFactor: return by_factor(scores, settings.factor, quirks.last_rank);
    case Schedule::kStatic:
    case Schedule::kEntropyBounded: break;
  }
  const std::int64_t steps = settings.steps_of_block(progress.number);
  if (quirks.time_grid) return by_time_grid(count, steps, progress.forwards);
  return std::min(count, linear(progress.masked, steps, progress.forwards));
}

std::int64_t scheduled_commits(const BlockSettings& settings, std::int64_t index, std::int64_t forward) {
  return linear(settings.block, settings.steps_of_block(index), forward);
}

std::vector<std::int64_t> block_plan(const BlockSettings& settings) {
  const std::int64_t steps = settings.block_steps;
  std::vector<std::int64_t> plan;
  for (std::int64_t t = 0; t <= std::max(steps, settings.block); ++t) {
    std::int64_t least = settings.quirks.drops_remainder ? settings.block / steps : linear(settings.block, steps, t);
    if (settings.schedule == Schedule::kEntropyBounded)
      least = t + 1 < steps || settings.quirks.ends_on_schedule ? 1 : settings.block;
    plan.push_back(std::max<std::int64_t>(1, least));
  }
  return plan;
}

CommitRule block_rule(const BlockSettings& settings, const at::Tensor& least_R, const at::Tensor& score_RK,
                      const at::Tensor& open_RK) {
  CommitRule rule;
  rule.by = settings.schedule == Schedule::kFactor ? CommitBy::kFactor : CommitBy::kCount;
  rule.factor = settings.factor;
  rule.count_R = least_R;
  if (settings.schedule == Schedule::kDynamic) {
    const auto reaches_RK =
        settings.above_threshold ? score_RK > settings.threshold : score_RK.to(at::kDouble) >= settings.threshold;
    rule.count_R = least_R.maximum((reaches_RK & open_RK).sum(1));
  } else if (settings.schedule == Schedule::kEntropyBounded) {
    const auto entropy_RK = at::where(open_RK, score_RK.neg(), std::numeric_limits<float>::infinity());
    const auto sum_RK = std::get<0>(entropy_RK.sort(1)).cumsum(1);
    rule.count_R = least_R.maximum((sum_RK < settings.threshold).sum(1));
  }
  return rule;
}

}  // namespace drift::block
