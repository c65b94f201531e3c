#include <core/nn/projection.h>

#include <core/kernels/product.h>
#include <core/nn/adapted_product.h>
#include <core/nn/dropout.h>
#include <core/nn/packed_product.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cassert>

namespace drift::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor without_adapter(const at::Tensor& x_MI, const Projection& projection, const at::Tensor& added_MO) {
  assert(!(projection.bias.defined() && added_MO.defined()));
  const at::Tensor& added = added_MO.defined() ? added_MO : projection.bias;
  if (projection.packed) return packed_product(x_MI, projection.packed, added);
  return kernels::product(x_MI, projection.weight, added);
}

/// dropout(x) a^T. Only x is kept for the backward, which all projections of a norm share: masks are made again.
struct DroppedProduct : torch::autograd::Function<DroppedProduct> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_MI, const at::Tensor& a_RI,
                            const at::Tensor& key_M, std::int64_t stream, double share) {
    context->save_for_backward({x_MI, a_RI, key_M});
    context->saved_data["stream"] = stream;
    context->saved_data["share"] = share;
    return kernels::product(dropped(x_MI, key_M, static_cast<std::uint64_t>(stream), share), a_RI);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::NoGradGuard no_gradient;
    const auto saved = context->get_saved_variables();
    const auto& x_MI = saved[0];
    const auto& a_RI = saved[1];
    const auto& key_M = saved[2];
    const auto stream = static_cast<std::uint64_t>(context->saved_data["stream"].toInt());
    const double share = context->saved_data["share"].toDouble();
    const auto gradient_MR = gradients[0].contiguous();
    variable_list found(5);
    if (context->needs_input_grad(0)) {
      const auto gradient_MI = at::empty_like(x_MI);
      kernels::input_gradient_out(gradient_MI, gradient_MR, a_RI);
      found[0] = dropped(gradient_MI, key_M, stream, share);
    }
    if (context->needs_input_grad(1)) {
      found[1] = at::empty_like(a_RI);
      kernels::weight_gradient_out(found[1], gradient_MR, dropped(x_MI, key_M, stream, share), /*add=*/false);
    }
    return found;
  }
};

}  // namespace

AdapterUse AdapterUse::select(const at::Tensor& rows_N) const {
  if (!rows_N.defined()) return *this;
  const auto chosen = [&](const at::Tensor& one) { return one.defined() ? one.index_select(0, rows_N) : one; };
  return {on, chosen(adapted_M1), chosen(dropout_key_M)};
}

at::Tensor project(const at::Tensor& x_MI, const Projection& projection, const AdapterUse& use,
                   const at::Tensor& added_MO) {
  const LowRank& adapter = projection.adapter;
  const bool is_adapted = adapter.a.defined() && use.on;
  if (is_adapted && !x_MI.is_cpu()) return adapted_product(x_MI, projection, use, added_MO);
  const auto plain_MO = without_adapter(x_MI, projection, added_MO);
  if (!is_adapted) return plain_MO;
  const bool drops = adapter.dropout > 0 && use.dropout_key_M.defined();
  auto low_MR = drops ? DroppedProduct::apply(x_MI, adapter.a, use.dropout_key_M,
                                              static_cast<std::int64_t>(adapter.stream), adapter.dropout)
                      : kernels::product(x_MI, adapter.a);
  if (use.adapted_M1.defined()) low_MR = low_MR * use.adapted_M1;
  return kernels::product(low_MR * adapter.scale, adapter.b, plain_MO);
}

}  // namespace drift::nn
