#include <core/kernels/swiglu.h>

#include <core/kernels/simd.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/silu.h>
#include <torch/csrc/autograd/custom_function.h>

namespace drift::kernels {
namespace {

template <class T>
DRIFT_MULTIVERSION void forward_range(const T* gate, const T* up, T* y, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float x = widen(gate[i]);
    y[i] = narrow<T>(rounded_to<T>(x / (1.0f + vector_exp(-x))) * widen(up[i]));
  }
}

template <class T>
DRIFT_MULTIVERSION void backward_range(const T* gradient, const T* gate, const T* up, T* dgate, T* dup,
                                       std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float g = widen(gradient[i]), x = widen(gate[i]);
    const float sigmoid = 1.0f / (1.0f + vector_exp(-x));
    dup[i] = narrow<T>(g * x * sigmoid);
    dgate[i] = narrow<T>(g * widen(up[i]) * sigmoid * (1.0f + x * (1.0f - sigmoid)));
  }
}

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& gate, const at::Tensor& up) {
    auto y = at::empty_like(gate);
    with_element_type(gate.scalar_type(), [&](auto type) {
      using T = decltype(type);
      at::parallel_for(0, gate.numel(), rows_per_task(1), [&](std::int64_t begin, std::int64_t end) {
        forward_range(gate.const_data_ptr<T>(), up.const_data_ptr<T>(), y.data_ptr<T>(), begin, end);
      });
    });
    context->save_for_backward({gate, up});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &gate = saved[0], &up = saved[1];
    const auto gradient = gradients[0].contiguous();
    auto dgate = at::empty_like(gate);
    auto dup = at::empty_like(up);
    with_element_type(gate.scalar_type(), [&](auto type) {
      using T = decltype(type);
      at::parallel_for(0, gradient.numel(), rows_per_task(1), [&](std::int64_t begin, std::int64_t end) {
        backward_range(gradient.const_data_ptr<T>(), gate.const_data_ptr<T>(), up.const_data_ptr<T>(),
                       dgate.data_ptr<T>(), dup.data_ptr<T>(), begin, end);
      });
    });
    return {dgate, dup};
  }
};

}  // namespace

at::Tensor swiglu_reference(const at::Tensor& gate, const at::Tensor& up) { return at::silu(gate) * up; }

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (!has_fused_path(gate) || up.scalar_type() != gate.scalar_type()) return swiglu_reference(gate, up);
  return SwiGlu::apply(gate.contiguous(), up.contiguous());
}

}  // namespace drift::kernels
