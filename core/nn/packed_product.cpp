#include <core/nn/packed_product.h>

#include <core/kernels/product.h>

#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <utility>

namespace drift::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Packed = std::shared_ptr<const kernels::Nf4>;

struct PackedHolder final : torch::CustomClassHolder {
  explicit PackedHolder(Packed given) : packed(std::move(given)) {}
  Packed packed;
};

struct PackedProduct : torch::autograd::Function<PackedProduct> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_MI, const std::optional<at::Tensor>& added,
                            const Packed& packed) {
    context->saved_data["packed"] = c10::IValue::make_capsule(c10::make_intrusive<PackedHolder>(packed));
    context->saved_data["columns"] = x_MI.size(1);
    context->saved_data["has_added"] = added.has_value();
    context->saved_data["is_bias"] = added && added->dim() == 1;
    // The product that a wide weight would have had here: with and without a graph it may be computed differently. The
    // graph, which knows the workspace, is not kept.
    const at::AutoGradMode with_graph(true);
    return kernels::product(x_MI, widened(*packed, x_MI.size(1), x_MI.options()), added.value_or(at::Tensor()))
        .detach();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::NoGradGuard no_gradient;
    const auto capsule = context->saved_data["packed"].toCapsule();
    const auto& packed = *static_cast<const PackedHolder&>(*capsule).packed;
    const auto gradient_MO = gradients[0].scalar_type() == at::kBFloat16 ? gradients[0].contiguous() : gradients[0];
    variable_list found(3);
    if (context->needs_input_grad(0)) {
      const std::int64_t columns = context->saved_data["columns"].toInt();
      found[0] = at::empty({gradient_MO.size(0), columns}, gradient_MO.options());
      kernels::input_gradient_out(found[0], gradient_MO, widened(packed, columns, gradient_MO.options()));
    }
    // What is absent has no place in the graph.
    if (context->saved_data["has_added"].toBool() && context->needs_input_grad(1))
      found[1] = context->saved_data["is_bias"].toBool() ? gradient_MO.sum(0) : gradient_MO;
    return found;
  }
};

}  // namespace

at::Tensor widened(const kernels::Nf4& packed, std::int64_t columns, const at::TensorOptions& options) {
  thread_local at::Tensor workspace;
  const bool fits = workspace.defined() && workspace.numel() >= packed.count && workspace.dtype() == options.dtype() &&
                    workspace.device() == options.device();
  if (!fits) {
    const c10::InferenceMode plain(false);
    workspace = at::Tensor();  // before the next one is there
    workspace = at::empty({packed.count}, options.requires_grad(false));
  }
  const auto values = workspace.narrow(0, 0, packed.count);
  kernels::nf4_widen(packed, values);
  return values.view({-1, columns});
}

at::Tensor packed_product(const at::Tensor& x_MI, const Packed& packed, const at::Tensor& added) {
  const bool has_gradient =
      c10::GradMode::is_enabled() && (x_MI.requires_grad() || (added.defined() && added.requires_grad()));
  if (has_gradient)
    return PackedProduct::apply(x_MI, added.defined() ? std::optional<at::Tensor>(added) : std::nullopt, packed);
  return kernels::product(x_MI, widened(*packed, x_MI.size(1), x_MI.options()), added);
}

}  // namespace drift::nn
