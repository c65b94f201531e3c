#include <core/kernels/cuda/transformer_ops.h>

#include <core/kernels/cuda/library.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <utility>

namespace drift::kernels::cuda {
namespace {

using torch::autograd::AutogradContext, torch::autograd::variable_list;

// A table lives as long as the process.
void keep(AutogradContext* context, const KernelTable& kernels) {
  context->saved_data["kernels"] = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&kernels));
}

const KernelTable& kept(AutogradContext* context) {
  return *reinterpret_cast<const KernelTable*>(static_cast<std::intptr_t>(context->saved_data["kernels"].toInt()));
}

/// Without one the kernels are called at once: a node of a graph takes the host as long as a launch.
template <class... Tensors>
bool has_graph(const Tensors&... tensors) {
  return c10::GradMode::is_enabled() && (tensors.requires_grad() || ...);
}

/// y, and 1 / rms of each row.
std::pair<at::Tensor, at::Tensor> normalized(const KernelTable& kernels, const at::Tensor& x, const at::Tensor& weight,
                                             double epsilon, bool weight_first) {
  auto y = at::empty_like(x);
  auto inverse = at::empty({x.size(0)}, x.options().dtype(at::kFloat));
  check(kernels,
        kernels.rms_norm({element_of(x), x.const_data_ptr(), weight.const_data_ptr(), y.data_ptr(),
                          inverse.data_ptr<float>(), x.size(0), x.size(1), static_cast<float>(epsilon), weight_first},
                         stream_of(x)));
  return {y, inverse};
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, double epsilon,
                            bool weight_first, const KernelTable* kernels) {
    auto [y, inverse] = normalized(*kernels, x, weight, epsilon, weight_first);
    context->save_for_backward({x, weight, inverse});
    keep(context, *kernels);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1], &inverse = saved[2];
    const auto& kernels = kept(context);
    const auto gradient = gradients[0].contiguous();
    // As many parts as fill a large GPU twice. Their number does not depend on the device, nor does the sum.
    const std::int64_t rows = x.size(0), width = x.size(1), parts = std::clamp<std::int64_t>(rows, 1, 264);
    auto dx = at::empty_like(x);
    auto partial = at::empty({parts, width}, inverse.options());
    check(kernels, kernels.rms_norm_backward(
                       {element_of(x), gradient.const_data_ptr(), x.const_data_ptr(), weight.const_data_ptr(),
                        inverse.const_data_ptr<float>(), dx.data_ptr(), partial.data_ptr<float>(), parts, rows, width},
                       stream_of(x)));
    return {dx, partial.sum(0).to(weight.scalar_type()), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

/// @param headed  [B, heads, S, D], a head's components dense
void rotate(const KernelTable& kernels, bool backward, const at::Tensor& dense, const at::Tensor& headed,
            const at::Tensor& cosine, const at::Tensor& sine) {
  check(kernels, kernels.rotate({element_of(dense), element_of(cosine), backward, dense.data_ptr(), headed.data_ptr(),
                                 cosine.const_data_ptr(), sine.const_data_ptr(), dense.size(0), headed.size(1),
                                 headed.size(2), headed.size(3), headed.stride(0), headed.stride(1), headed.stride(2)},
                                stream_of(dense)));
}

/// [B, heads, S, D]
at::Tensor rotated(const KernelTable& kernels, const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                   std::int64_t heads, bool heads_last) {
  const std::int64_t sequence = cosine.size(0), width = x.size(1), dimension = width / heads;
  const std::array strides{sequence * width, heads_last ? dimension : sequence * dimension,
                           heads_last ? width : dimension, std::int64_t{1}};
  auto out =
      at::empty_strided({x.size(0) / sequence, heads, sequence, dimension}, strides, x.options().requires_grad(false));
  rotate(kernels, false, x, out, cosine, sine);
  return out;
}

struct RotateHeads : torch::autograd::Function<RotateHeads> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& cosine,
                            const at::Tensor& sine, std::int64_t heads, bool heads_last, const KernelTable* kernels) {
    auto out = rotated(*kernels, x, cosine, sine, heads, heads_last);
    context->save_for_backward({cosine, sine});
    keep(context, *kernels);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    // Attention's backward may return heads last in memory: read them in place.
    const auto gradient = gradients[0].stride(3) == 1 ? gradients[0] : gradients[0].contiguous();
    auto dx = at::empty({gradient.size(0) * gradient.size(2), gradient.size(1) * gradient.size(3)}, gradient.options());
    rotate(kept(context), true, dx, gradient, saved[0], saved[1]);
    return {dx, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

at::Tensor gated(const KernelTable& kernels, const at::Tensor& gate, const at::Tensor& up) {
  auto y = at::empty_like(gate);
  check(kernels, kernels.swiglu({element_of(gate), gate.const_data_ptr(), up.const_data_ptr(), y.data_ptr(), nullptr,
                                 nullptr, nullptr, gate.numel()},
                                stream_of(gate)));
  return y;
}

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate, const at::Tensor& up,
                            const KernelTable* kernels) {
    auto y = gated(*kernels, gate, up);
    context->save_for_backward({gate, up});
    keep(context, *kernels);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &gate = saved[0], &up = saved[1];
    const auto& kernels = kept(context);
    const auto gradient = gradients[0].contiguous();
    auto dgate = at::empty_like(gate), dup = at::empty_like(up);
    check(kernels, kernels.swiglu({element_of(gate), gate.const_data_ptr(), up.const_data_ptr(), nullptr,
                                   gradient.const_data_ptr(), dgate.data_ptr(), dup.data_ptr(), gate.numel()},
                                  stream_of(gate)));
    return {dgate, dup, at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const KernelTable& kernels, const at::Tensor& x_NH, const at::Tensor& weight_H, double epsilon,
                    bool weight_first) {
  const auto x = x_NH.contiguous(), weight = weight_H.contiguous();
  return has_graph(x, weight) ? RmsNorm::apply(x, weight, epsilon, weight_first, &kernels)
                              : normalized(kernels, x, weight, epsilon, weight_first).first;
}

at::Tensor rotate_heads(const KernelTable& kernels, const at::Tensor& x, const at::Tensor& cosine_SD2,
                        const at::Tensor& sine_SD2, std::int64_t heads, bool heads_last) {
  const auto dense = x.contiguous(), cosine = cosine_SD2.contiguous(), sine = sine_SD2.contiguous();
  return has_graph(dense) ? RotateHeads::apply(dense, cosine, sine, heads, heads_last, &kernels)
                          : rotated(kernels, dense, cosine, sine, heads, heads_last);
}

at::Tensor swiglu(const KernelTable& kernels, const at::Tensor& gate, const at::Tensor& up) {
  const auto gates = gate.contiguous(), ups = up.contiguous();
  return has_graph(gates, ups) ? SwiGlu::apply(gates, ups, &kernels) : gated(kernels, gates, ups);
}

}  // namespace drift::kernels::cuda
