#include <core/update/update_batch.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_unique.h>
#include <ATen/ops/sum.h>

namespace drift {
namespace {

template <class Change>
MaskPlan changed(MaskPlan plan, const Change& change) {
  for (at::Tensor* tensor :
       {&plan.response_F, &plan.term_F, &plan.masked_FL, &plan.target_FL, &plan.committed_FL, &plan.weight_F,
        &plan.prompt_masked_FP, &plan.attended_FL, &plan.token_weight_FL, &plan.target_step_FL})
    *tensor = change(*tensor);
  return plan;
}

}  // namespace

BatchTotals batch_totals(const MaskPlan& plan, std::int64_t responses, std::int64_t group_size,
                         std::int64_t optimizer_steps) {
  BatchTotals totals;
  totals.responses = responses;
  totals.group_size = group_size;
  totals.terms = plan.terms;
  totals.targets = plan.target_FL.sum().item<std::int64_t>();
  totals.optimizer_steps = optimizer_steps;
  totals.views = plan.response_F.size(0);
  return totals;
}

at::Tensor scored_positions(const MaskPlan& plan, std::int64_t responses) {
  return scored_tokens(plan, responses).sum(1);
}

UpdateBatch update_batch(const Trajectories& kept, const at::Tensor& advantage_B, const MaskPlan& plan,
                         std::int64_t group_size, const TokenAdvantages& tokens) {
  const std::int64_t responses = advantage_B.size(0);
  UpdateBatch batch{kept, advantage_B, plan, batch_totals(plan, responses, group_size, /*optimizer_steps=*/1),
                    scored_positions(plan, responses)};
  batch.tokens = tokens;
  return batch;
}

UpdateBatch update_batch(const Trajectories& kept, const at::Tensor& advantage_B, const MaskPlan& plan,
                         Coupling coupling, const Views& views, std::int64_t group_size,
                         const TokenAdvantages& tokens) {
  const bool is_whole = std::ssize(views) == plan.response_F.size(0);
  MaskPlan own = select_views(plan, views, at::kCPU);
  if (coupling == Coupling::kBatch && !is_whole) {
    const auto [responses, number_F] = at::_unique(own.response_F, /*sorted=*/true, /*return_inverse=*/true);
    own.response_F = number_F;
    return update_batch(select_responses(kept, responses), selected(advantage_B, responses), own, group_size,
                        {selected(tokens.advantage_BL, responses), selected(tokens.value_BL, responses),
                         selected(tokens.return_BL, responses)});
  }
  UpdateBatch batch = update_batch(kept, advantage_B, plan, group_size, tokens);
  batch.plan = std::move(own);
  batch.fraction = static_cast<double>(views.size()) / static_cast<double>(plan.response_F.size(0));
  return batch;
}

std::vector<Views> views_of_steps(const MaskPlan& plan, Coupling coupling, std::int64_t views_per_update) {
  const Views order = all_views(plan);
  if (views_per_update == 0 || std::ssize(order) <= views_per_update) return {order};
  const std::int64_t* response = plan.response_F.const_data_ptr<std::int64_t>();
  std::vector<Views> steps;
  for (const std::int64_t view : order) {
    const bool full = steps.empty() || std::ssize(steps.back()) >= views_per_update;
    const bool may_begin = coupling == Coupling::kView || view == 0 || response[view] != response[view - 1];
    if (full && may_begin) steps.emplace_back();
    steps.back().push_back(view);
  }
  return steps;
}

at::Tensor selected(const at::Tensor& tensor, const at::Tensor& index, at::Device device) {
  return tensor.defined() ? tensor.index_select(0, index.to(tensor.device())).to(device) : tensor;
}

MaskPlan select_views(const MaskPlan& plan, const Views& views, at::Device device) {
  const auto index = index_tensor(views, plan.response_F.device());
  return changed(plan, [&](const at::Tensor& tensor) { return selected(tensor, index, device); });
}

MaskPlan plan_on_device(const MaskPlan& plan, at::Device device) {
  return changed(plan, [&](const at::Tensor& tensor) { return on_device(tensor, device); });
}

Trajectories select_responses(const Trajectories& trajectories, const at::Tensor& index) {
  Trajectories chosen = trajectories;
  for (at::Tensor* tensor :
       {&chosen.prompts.tokens_BP, &chosen.prompts.mask_BP, &chosen.prompts.group_B, &chosen.tokens_BL,
        &chosen.valid_BL, &chosen.step_BL, &chosen.commit_logprob_BL, &chosen.forwards_B})
    *tensor = selected(*tensor, index);
  return chosen;
}

}  // namespace drift
