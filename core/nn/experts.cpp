#include <core/nn/experts.h>

#include <core/kernels/product.h>
#include <core/kernels/transformer_ops.h>

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/split_with_sizes.h>
#include <ATen/ops/topk.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>

namespace drift::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The rows `there` of x, in which each row of x is equally often; those of row i are the i-th of the rows `back` of
/// what comes out. Unlike index_select's, the backward adds in a fixed order.
struct MovedRows : torch::autograd::Function<MovedRows> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_MH, const at::Tensor& there_N,
                            const at::Tensor& back_N) {
    context->save_for_backward({back_N});
    context->saved_data["rows"] = x_MH.size(0);
    return x_MH.index_select(0, there_N);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto moved_NH = gradients[0].index_select(0, context->get_saved_variables()[0]);
    const std::int64_t rows = context->saved_data["rows"].toInt();
    if (rows == moved_NH.size(0)) return {moved_NH, {}, {}};
    return {moved_NH.view({rows, -1, moved_NH.size(1)}).sum(1), {}, {}};
  }
};

/// The experts of the highest scores, within the best groups.
at::Tensor best_experts(at::Tensor score_ME, const ExpertChoice& choice) {
  if (choice.groups > 1) {
    const std::int64_t size = choice.experts / choice.groups;
    const auto score_MGS = score_ME.view({-1, choice.groups, size});
    const auto group_MG = std::get<0>(score_MGS.topk(std::min<std::int64_t>(2, size), -1)).sum(-1);
    const auto kept = std::get<1>(group_MG.topk(choice.groups_kept, -1));
    const auto hidden_MG = at::ones_like(group_MG, at::kBool).scatter(1, kept, 0);
    score_ME =
        score_MGS.masked_fill(hidden_MG.unsqueeze(-1), -std::numeric_limits<double>::infinity()).view_as(score_ME);
  }
  return std::get<1>(score_ME.topk(choice.per_token, -1));
}

}  // namespace

at::Tensor feed_forward(const at::Tensor& x_MH, const FeedForward& weights, const AdapterUse& adapters,
                        const at::Tensor& added_MH) {
  const auto gated = kernels::swiglu(project(x_MH, weights.gate, adapters), project(x_MH, weights.up, adapters));
  if (!added_MH.defined() || !weights.down.bias.defined()) return project(gated, weights.down, adapters, added_MH);
  return added_MH + project(gated, weights.down, adapters);
}

ChosenExperts choose_experts(const at::Tensor& x_MH, const Experts& weights, const ExpertChoice& choice) {
  const auto type = at::toOpMathType(x_MH.scalar_type());
  const auto logit_ME = kernels::product(x_MH.to(type), weights.router_EH.to(type));
  const auto score_ME = choice.sigmoid ? at::sigmoid(logit_ME) : at::softmax(logit_ME, -1);
  ChosenExperts chosen;
  {
    const at::NoGradGuard no_gradient;
    const auto& bias_E = weights.router_bias_E;
    chosen.expert_MK = best_experts(bias_E.defined() ? score_ME + bias_E.to(type) : score_ME, choice);
  }
  chosen.weight_MK = score_ME.gather(1, chosen.expert_MK);
  constexpr double kLeastSum = 1e-20;  // as in the originals
  if (choice.per_token > 1 || !choice.sigmoid)
    chosen.weight_MK = chosen.weight_MK / (chosen.weight_MK.sum(-1, /*keepdim=*/true) + kLeastSum);
  if (choice.scale != 1) chosen.weight_MK = chosen.weight_MK * choice.scale;
  return chosen;
}

at::Tensor mixed_experts(const at::Tensor& x_MH, const Experts& weights, const ExpertChoice& choice,
                         const AdapterUse& adapters) {
  if (x_MH.size(0) == 0) return x_MH;
  const auto [expert_MK, weight_MK] = choose_experts(x_MH, weights, choice);
  // Each token's K experts are K rows; the rows of an expert come to lie together.
  const auto [expert_N, order_N] = expert_MK.reshape({-1}).sort(/*stable=*/true, 0, /*descending=*/false);
  const auto back_N = at::empty_like(order_N).scatter_(0, order_N, at::arange(order_N.numel(), order_N.options()));
  const auto token_N = order_N.div(choice.per_token, "floor");
  const auto end_E = at::searchsorted(expert_N, at::arange(choice.experts, order_N.options()), /*out_int32=*/false,
                                      /*right=*/true)
                         .cpu();
  std::vector<std::int64_t> rows_of_expert, expert_with_rows;
  for (std::int64_t e = 0, begin = 0; e < choice.experts; ++e) {
    const std::int64_t end = end_E.const_data_ptr<std::int64_t>()[e];
    if (end == begin) continue;
    expert_with_rows.push_back(e);
    rows_of_expert.push_back(end - begin);
    begin = end;
  }
  const AdapterUse use = adapters.select(token_N);
  const auto parts = MovedRows::apply(x_MH, token_N, back_N).split_with_sizes(rows_of_expert);
  std::vector<at::Tensor> made;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t rows = rows_of_expert[i];
    const auto own = [&](const at::Tensor& of) { return of.defined() ? of.narrow(0, begin, rows) : of; };
    const auto& expert = weights.experts[static_cast<std::size_t>(expert_with_rows[i])];
    made.push_back(feed_forward(parts[i], expert, {use.on, own(use.adapted_M1), own(use.dropout_key_M)}));
    begin += rows;
  }
  const auto out_NH = MovedRows::apply(at::cat(made), back_N, order_N);
  const auto out_MKH = out_NH.view({x_MH.size(0), choice.per_token, x_MH.size(1)});
  return (out_MKH * weight_MK.unsqueeze(-1)).sum(1).to(x_MH.scalar_type());
}

}  // namespace drift::nn
