// wd1's loss (docs/spec/further_algorithms.md 7): no ratio, no old policy, no KL.

#include "wd1.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

namespace drift::wd1 {

WeightedLikelihood::WeightedLikelihood(const Params& params)
    : positive_only_(params.get<bool>("positive_only")), micro_batch_(params.get<std::int64_t>("micro_batch")) {}

Loss WeightedLikelihood::evaluate(const LossInput& in) const {
  const auto& target_FL = in.plan.target_FL;
  const auto& current_FL = in.log_probs.current_FL;
  auto weight_F = weight_B(in).index_select(0, in.plan.sample_F).to(current_FL.scalar_type());
  if (in.plan.weight_F.defined()) weight_F = weight_F * in.plan.weight_F;

  // A sum over tokens, not a mean; where a plan has several forwards, their mean.
  const auto sequence_F = at::where(target_FL, current_FL, at::zeros_like(current_FL)).sum(1);
  Loss loss;
  loss.value = (weight_F * sequence_F).sum() / static_cast<double>(in.totals.forwards);
  loss.add_mean("logprob", current_FL, target_FL);
  return loss;
}

/// W-_b - W+_b, W+ = softmax of A and W- = softmax of -A over the response's micro-batch; micro-batches are averaged.
/// All advantages are known beforehand, so that each view's share of the loss is.
at::Tensor WeightedLikelihood::weight_B(const LossInput& in) const {
  const std::int64_t size = micro_batch_ > 0 ? micro_batch_ : in.totals.group_size;
  const std::int64_t responses = in.advantage_B.size(0);
  const auto micro_batches = [&](std::int64_t count) { return (count + size - 1) / size; };
  const std::int64_t missing = micro_batches(responses) * size - responses;
  const auto softmax = [&](const at::Tensor& value_B) {
    // The last micro-batch may be smaller.
    const auto full = at::constant_pad_nd(value_B, {0, missing}, -std::numeric_limits<double>::infinity());
    return full.view({-1, size}).softmax(1).view({-1}).narrow(0, 0, responses);
  };
  auto weight_B = -softmax(in.advantage_B);
  if (!positive_only_) weight_B = weight_B + softmax(-in.advantage_B);
  return weight_B / static_cast<double>(micro_batches(in.totals.responses));
}

}  // namespace drift::wd1
