#include "schedule.h"

#include <ATen/ops/linspace.h>

#include <algorithm>

namespace drift::diffusion {
namespace {

Confidence confidence_of(Order order) {
  switch (order) {
    case Order::kTopkMargin: return Confidence::kMargin;
    case Order::kEntropy: return Confidence::kNegativeEntropy;
    default: return Confidence::kProbability;
  }
}

}  // namespace

SamplingOptions DiffusionSettings::sampling(const ModelTraits& traits) const {
  return rollouts::sampling_options(*this, confidence_of(order), ConfidenceOf::kDraw, traits);
}

Schedule::Schedule(const DiffusionSettings& settings)
    : length_(settings.length), time_grid_(settings.quirks.time_grid) {
  // More steps than positions have nothing to commit, except where chance decides.
  const std::int64_t steps =
      time_grid_ || settings.by_chance() ? settings.steps : std::min(settings.steps, settings.length);
  const auto times = at::linspace(1, settings.eps, steps + 1, time_grid_ ? at::kFloat : at::kDouble);
  for (std::int64_t i = 0; i + 1 < steps; ++i) {
    if (time_grid_) {
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
  if (time_grid_) return static_cast<std::int64_t>(static_cast<float>(masked) * static_cast<float>(probability(step)));
  return std::min(masked, length_ / steps() + (step < length_ % steps() ? 1 : 0));
}

}  // namespace drift::diffusion
