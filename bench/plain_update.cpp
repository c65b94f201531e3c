#include "bench/plain_update.h"

#include "bench/plain_llada.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>

namespace drift::bench {
namespace {

using Views = std::vector<std::int64_t>;

/// Log-probabilities of the sampled tokens of some views, 0 where they are not targets.
at::Tensor log_probs(const PlainLlada& model, const ModelTraits& traits, const Trajectories& responses,
                     const MaskPlan& plan, at::Device device) {
  const auto mask = at::full({}, traits.mask_id, at::kLong);
  const auto written_FL = responses.tokens_BL.index_select(0, plan.response_F);
  auto prompt_FP = responses.prompts.tokens_BP.index_select(0, plan.response_F);
  if (plan.prompt_masked_FP.defined()) prompt_FP = at::where(plan.prompt_masked_FP, mask, prompt_FP);
  const auto logits = model.logits(at::cat({prompt_FP, at::where(plan.masked_FL, mask, written_FL)}, 1).to(device));
  const auto all = at::log_softmax(logits.to(at::kFloat), -1);
  const auto chosen =
      all.narrow(1, prompt_FP.size(1), written_FL.size(1)).gather(2, written_FL.unsqueeze(-1).to(device)).squeeze(-1);
  return at::where(plan.target_FL.to(device), chosen, at::zeros({}, chosen.options()));
}

/// Views of each forward, forwards of each graph.
std::vector<std::vector<Views>> graphs_of(const UpdateCases::Case& one) {
  std::vector<Views> forwards;
  const std::int64_t* number = one.plan.term_F.const_data_ptr<std::int64_t>();
  for (std::int64_t view = 0; view < one.plan.response_F.size(0); ++view) {
    const auto place = one.graphs == GraphLife::kTwoRows ? view / 2 : number[view];
    if (static_cast<std::size_t>(place) >= forwards.size()) forwards.resize(static_cast<std::size_t>(place) + 1);
    forwards[static_cast<std::size_t>(place)].push_back(view);
  }
  std::erase_if(forwards, [](const Views& views) { return views.empty(); });
  if (one.graphs == GraphLife::kTogether) return {forwards};
  std::vector<std::vector<Views>> graphs;
  for (const Views& views : forwards) graphs.push_back({views});
  return graphs;
}

}  // namespace

std::vector<at::Tensor> plain_update(const UpdateCases& cases, UpdateCases::Case& one) {
  const PlainLlada model(cases);
  const at::Device device = cases.model().device();
  const auto score = [&](const std::vector<Views>& forwards) {
    std::vector<at::Tensor> parts;
    for (const Views& views : forwards)
      parts.push_back(log_probs(model, cases.model().traits(), cases.trajectories(),
                                select_views(one.plan, views, at::kCPU), device));
    return at::cat(parts);
  };
  for (const auto& forwards : graphs_of(one)) {
    LossInput input;
    Views views;
    for (const Views& some : forwards) views.insert(views.end(), some.begin(), some.end());
    input.plan = select_views(one.plan, views, device);
    if (one.reference_forwards) {
      const at::NoGradGuard no_gradient;
      input.log_probs.reference_FL = score(forwards);
    }
    input.log_probs.current_FL = score(forwards);
    input.log_probs.old_FL = input.log_probs.current_FL.detach();
    if (one.batch.reference_is_old_policy) input.log_probs.reference_FL = input.log_probs.old_FL;
    input.advantage_B = one.batch.advantage_B.to(device);
    input.valid_BL = cases.trajectories().valid_BL.to(device);
    input.totals = one.batch.totals;
    input.scored_B = one.batch.scored_B.to(device);
    const auto value = one.loss->evaluate(input).value;
    torch::autograd::backward({value}, {});
  }
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : cases.model().parameters()) {
    if (!parameter.tensor.requires_grad()) continue;
    gradients.push_back(parameter.tensor.grad());
    parameter.tensor.mutable_grad() = at::Tensor();
  }
  return gradients;
}

}  // namespace drift::bench
