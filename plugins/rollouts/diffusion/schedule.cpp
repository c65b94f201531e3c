#include "schedule.h"

#include <ATen/ops/linspace.h>

#include <algorithm>

namespace drift::diffusion {

Schedule::Schedule(const DiffusionSettings& settings)
    : length_(settings.length), dream_(settings.quirks == Quirks::kDream) {
  // More steps than positions have nothing to commit, except where chance decides.
  const bool by_chance = settings.order == Order::kOrigin;
  const std::int64_t steps = dream_ || by_chance ? settings.steps : std::min(settings.steps, settings.length);
  const auto times = at::linspace(1, settings.eps, steps + 1, dream_ ? at::kFloat : at::kDouble);
  for (std::int64_t i = 0; i + 1 < steps; ++i) {
    if (dream_) {
      const float* time = times.const_data_ptr<float>();
      probability_.push_back(1.0f - time[i + 1] / time[i]);
    } else {
      const double* time = times.const_data_ptr<double>();
      probability_.push_back(1.0 - time[i + 1] / time[i]);
    }
  }
  probability_.push_back(1);
}

std::int64_t Schedule::commits(std::int64_t step, std::int64_t masked) const {
  if (step + 1 == steps()) return masked;
  if (dream_) return static_cast<std::int64_t>(static_cast<float>(masked) * static_cast<float>(probability(step)));
  return std::min(masked, length_ / steps() + (step < length_ % steps() ? 1 : 0));
}

}  // namespace drift::diffusion
