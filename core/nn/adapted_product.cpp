#include <core/nn/adapted_product.h>

#include <core/nn/dropout.h>
#include <core/nn/packed_product.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cassert>
#include <optional>
#include <utility>

namespace drift::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What the forward and the backward share, and has no gradient.
struct FrozenPart final : torch::CustomClassHolder {
  at::Tensor weight_OI, adapted_M1, dropout_key_M;  // each may be undefined
  std::shared_ptr<const kernels::Nf4> packed;
  double scale = 0, dropout = 0;
  std::uint64_t stream = 0;

  at::Tensor weight(const at::Tensor& like_MI) const {
    return packed ? widened(*packed, like_MI.size(1), like_MI.options()) : weight_OI;
  }
  /// Where it leaves nothing out, the tensor itself.
  at::Tensor with_dropout(const at::Tensor& x_MI) const {
    return dropout_key_M.defined() ? dropped(x_MI, dropout_key_M, stream, dropout) : x_MI;
  }
};

/// scale a b.
at::Tensor scaled_product(const at::Tensor& a, const at::Tensor& b, double scale) {
  auto out = at::empty({a.size(0), b.size(1)}, a.options().requires_grad(false));
  return at::addmm_out(out, out, a, b, /*beta=*/0, scale);  // beta = 0: what is there is not read
}

/// Inputs with gradients: x, A, B, what is added or nothing.
struct AdaptedProduct : torch::autograd::Function<AdaptedProduct> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_MI, const at::Tensor& a_RI,
                            const at::Tensor& b_OR, const std::optional<at::Tensor>& added,
                            const c10::intrusive_ptr<FrozenPart>& frozen) {
    auto low_MR = at::mm(frozen->with_dropout(x_MI), a_RI.t());
    if (frozen->adapted_M1.defined()) low_MR.mul_(frozen->adapted_M1);
    auto out_MO = added ? at::addmm(*added, low_MR, b_OR.t(), /*beta=*/1, frozen->scale)
                        : scaled_product(low_MR, b_OR.t(), frozen->scale);
    out_MO.addmm_(x_MI, frozen->weight(x_MI).t());
    context->save_for_backward({x_MI, a_RI, b_OR, low_MR});
    context->saved_data["frozen"] = c10::IValue::make_capsule(frozen);
    if (added) context->saved_data["added_rows"] = added->dim() == 2;
    return out_MO;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::NoGradGuard no_gradient;
    const auto saved = context->get_saved_variables();
    const at::Tensor &x_MI = saved[0], &a_RI = saved[1], &b_OR = saved[2], &low_MR = saved[3];
    const auto capsule = context->saved_data["frozen"].toCapsule();
    const auto& frozen = static_cast<const FrozenPart&>(*capsule);
    const auto gradient_MO = gradients[0].contiguous();
    auto gradient_MR = scaled_product(gradient_MO, b_OR, frozen.scale);
    if (frozen.adapted_M1.defined()) gradient_MR.mul_(frozen.adapted_M1);
    variable_list found(5);
    if (context->needs_input_grad(0)) {
      found[0] = frozen.with_dropout(at::mm(gradient_MR, a_RI));
      found[0].addmm_(gradient_MO, frozen.weight(x_MI));
    }
    if (context->needs_input_grad(1)) found[1] = at::mm(gradient_MR.t(), frozen.with_dropout(x_MI));
    if (context->needs_input_grad(2)) found[2] = scaled_product(gradient_MO.t(), low_MR, frozen.scale);
    const auto added = context->saved_data.find("added_rows");
    if (added != context->saved_data.end() && context->needs_input_grad(3))
      found[3] = added->second.toBool() ? gradient_MO : gradient_MO.sum(0);
    return found;
  }
};

}  // namespace

at::Tensor adapted_product(const at::Tensor& x_MI, const Projection& projection, const AdapterUse& use,
                           const at::Tensor& added_MO) {
  assert(!(projection.bias.defined() && added_MO.defined()));
  const LowRank& adapter = projection.adapter;
  auto frozen = c10::make_intrusive<FrozenPart>();
  frozen->weight_OI = projection.weight;
  frozen->packed = projection.packed;
  frozen->adapted_M1 = use.adapted_M1;
  if (adapter.dropout > 0) frozen->dropout_key_M = use.dropout_key_M;
  frozen->scale = adapter.scale;
  frozen->dropout = adapter.dropout;
  frozen->stream = adapter.stream;
  const at::Tensor& added = added_MO.defined() ? added_MO : projection.bias;
  return AdaptedProduct::apply(x_MI, adapter.a, adapter.b,
                               added.defined() ? std::optional<at::Tensor>(added) : std::nullopt, frozen);
}

}  // namespace drift::nn
