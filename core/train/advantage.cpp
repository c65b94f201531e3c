#include <core/train/advantage.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/std.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cassert>

namespace drift {

at::Tensor advantages(const at::Tensor& rewards_B, std::int64_t group_size, const AdvantageSettings& settings) {
  assert(group_size >= 1 && rewards_B.dim() == 1 && rewards_B.size(0) % group_size == 0);
  const auto group = static_cast<double>(group_size);
  const auto rewards_NG = rewards_B.to(at::kCPU, at::kDouble).view({-1, group_size});
  auto advantage_NG = rewards_NG - rewards_NG.mean(1, /*keepdim=*/true);
  if (settings.baseline == AdvantageBaseline::kLeaveOneOut && group_size > 1) {
    advantage_NG = advantage_NG * (group / (group - 1));  // r - mean of the others
  }
  if (settings.deviation != AdvantageDeviation::kNone && group_size > 1) {
    const bool unbiased = settings.deviation == AdvantageDeviation::kSample;
    const auto deviation_N1 = rewards_NG.std(at::IntArrayRef{1}, unbiased, /*keepdim=*/true);
    advantage_NG = advantage_NG / (deviation_N1 + settings.epsilon).clamp_min(settings.floor);
  }
  // Exactly 0 where the rewards are equal: the mean of equal numbers may differ from them in the last bit, and without
  // a floor that bit would be divided by itself.
  const auto varies_N1 = rewards_NG.amax(1, true) > rewards_NG.amin(1, true);
  return at::where(varies_N1, advantage_NG, at::zeros_like(advantage_NG)).reshape({-1}).to(at::kFloat);
}

}  // namespace drift
