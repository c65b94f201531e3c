#include <core/kernels/rms_norm.h>

#include <core/kernels/simd.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

namespace drift::kernels {
namespace {

constexpr std::int64_t kGrain = 1 << 15;  // elements per task: below, a second thread costs more than it saves

DRIFT_MULTIVERSION void forward_rows(const float* x, const float* weight, float* y, float* inverse, std::int64_t begin,
                                     std::int64_t end, std::int64_t width, float epsilon) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float* in = x + row * width;
    float* out = y + row * width;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t i = 0; i < width; ++i) squares += in[i] * in[i];
    const float scale = 1.0f / std::sqrt(squares / static_cast<float>(width) + epsilon);
    inverse[row] = scale;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) out[i] = in[i] * scale * weight[i];
  }
}

// With r = 1 / rms: dx = r (g w - x r^2 mean(g w x)), dw = sum over rows of g x r.
DRIFT_MULTIVERSION void backward_rows(const float* gradient, const float* x, const float* weight, const float* inverse,
                                      float* dx, float* dweight, std::int64_t begin, std::int64_t end,
                                      std::int64_t width) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float* g = gradient + row * width;
    const float* in = x + row * width;
    float* out = dx + row * width;
    const float r = inverse[row];
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (std::int64_t i = 0; i < width; ++i) dot += g[i] * weight[i] * in[i];
    const float pull = dot * r * r / static_cast<float>(width);
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      out[i] = r * (g[i] * weight[i] - in[i] * pull);
      dweight[i] += g[i] * in[i] * r;
    }
  }
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            double epsilon) {
    const std::int64_t rows = x.size(0), width = x.size(1);
    auto y = at::empty_like(x);
    auto inverse = at::empty({rows}, x.options());
    at::parallel_for(0, rows, std::max<std::int64_t>(1, kGrain / width), [&](std::int64_t begin, std::int64_t end) {
      forward_rows(x.const_data_ptr<float>(), weight.const_data_ptr<float>(), y.data_ptr<float>(),
                   inverse.data_ptr<float>(), begin, end, width, static_cast<float>(epsilon));
    });
    context->save_for_backward({x, weight, inverse});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1], &inverse = saved[2];
    const auto gradient = gradients[0].contiguous();
    const std::int64_t rows = x.size(0), width = x.size(1);
    auto dx = at::empty_like(x);
    // A fixed number of partial sums, added in order: the same result on any number of threads.
    constexpr std::int64_t kParts = 8;
    auto partial = at::zeros({kParts, width}, x.options());
    at::parallel_for(0, kParts, std::max<std::int64_t>(1, kParts * kGrain / std::max<std::int64_t>(1, rows * width)),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t part = begin; part < end; ++part) {
                         backward_rows(gradient.const_data_ptr<float>(), x.const_data_ptr<float>(),
                                       weight.const_data_ptr<float>(), inverse.const_data_ptr<float>(),
                                       dx.data_ptr<float>(), partial.data_ptr<float>() + part * width,
                                       rows * part / kParts, rows * (part + 1) / kParts, width);
                       }
                     });
    return {dx, partial.sum(0), at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm_reference(const at::Tensor& x_NH, const at::Tensor& weight_H, double epsilon) {
  const auto type = x_NH.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto wide = x_NH.to(type);
  const auto normed = wide * at::rsqrt((wide * wide).mean(-1, true) + epsilon);
  return weight_H * normed.to(x_NH.scalar_type());
}

at::Tensor rms_norm(const at::Tensor& x_NH, const at::Tensor& weight_H, double epsilon) {
  const bool fused = x_NH.is_cpu() && x_NH.scalar_type() == at::kFloat && weight_H.scalar_type() == at::kFloat;
  if (!fused) return rms_norm_reference(x_NH, weight_H, epsilon);
  return RmsNorm::apply(x_NH.contiguous(), weight_H, epsilon);
}

}  // namespace drift::kernels
