#include <core/kernels/swiglu.h>

#include <core/kernels/simd.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/silu.h>
#include <torch/csrc/autograd/custom_function.h>

namespace drift::kernels {
namespace {

constexpr std::int64_t kGrain = 1 << 15;

DRIFT_MULTIVERSION void forward_range(const float* gate, const float* up, float* y, std::int64_t begin,
                                      std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) y[i] = gate[i] / (1.0f + vector_exp(-gate[i])) * up[i];
}

DRIFT_MULTIVERSION void backward_range(const float* gradient, const float* gate, const float* up, float* dgate,
                                       float* dup, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float sigmoid = 1.0f / (1.0f + vector_exp(-gate[i]));
    dup[i] = gradient[i] * gate[i] * sigmoid;
    dgate[i] = gradient[i] * up[i] * sigmoid * (1.0f + gate[i] * (1.0f - sigmoid));
  }
}

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& gate, const at::Tensor& up) {
    auto y = at::empty_like(gate);
    at::parallel_for(0, gate.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      forward_range(gate.const_data_ptr<float>(), up.const_data_ptr<float>(), y.data_ptr<float>(), begin, end);
    });
    context->save_for_backward({gate, up});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto gradient = gradients[0].contiguous();
    auto dgate = at::empty_like(saved[0]);
    auto dup = at::empty_like(saved[1]);
    at::parallel_for(0, gradient.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      backward_range(gradient.const_data_ptr<float>(), saved[0].const_data_ptr<float>(),
                     saved[1].const_data_ptr<float>(), dgate.data_ptr<float>(), dup.data_ptr<float>(), begin, end);
    });
    return {dgate, dup};
  }
};

}  // namespace

at::Tensor swiglu_reference(const at::Tensor& gate, const at::Tensor& up) { return at::silu(gate) * up; }

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (!gate.is_cpu() || gate.scalar_type() != at::kFloat) return swiglu_reference(gate, up);
  return SwiGlu::apply(gate.contiguous(), up.contiguous());
}

}  // namespace drift::kernels
