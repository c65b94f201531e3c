#include <core/kernels/rms_norm.h>

#include <core/kernels/simd.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

namespace drift::kernels {
namespace {

template <class T>
DRIFT_MULTIVERSION void forward_rows(const T* x, const T* weight, T* y, float* inverse, std::int64_t begin,
                                     std::int64_t end, std::int64_t width, float epsilon) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* in = x + row * width;
    T* out = y + row * width;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t i = 0; i < width; ++i) squares += widen(in[i]) * widen(in[i]);
    const float scale = 1.0f / std::sqrt(squares / static_cast<float>(width) + epsilon);
    inverse[row] = scale;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      out[i] = narrow<T>(rounded_to<T>(widen(in[i]) * scale) * widen(weight[i]));
    }
  }
}

// With r = 1 / rms: dx = r (g w - x r^2 mean(g w x)), dw = sum over rows of g x r.
template <class T>
DRIFT_MULTIVERSION void backward_rows(const T* gradient, const T* x, const T* weight, const float* inverse, T* dx,
                                      float* dweight, std::int64_t begin, std::int64_t end, std::int64_t width) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* g = gradient + row * width;
    const T* in = x + row * width;
    T* out = dx + row * width;
    const float r = inverse[row];
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (std::int64_t i = 0; i < width; ++i) dot += widen(g[i]) * widen(weight[i]) * widen(in[i]);
    const float through_norm = dot * r * r / static_cast<float>(width);
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      out[i] = narrow<T>(r * (widen(g[i]) * widen(weight[i]) - widen(in[i]) * through_norm));
      dweight[i] += widen(g[i]) * widen(in[i]) * r;
    }
  }
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            double epsilon) {
    const std::int64_t rows = x.size(0), width = x.size(1);
    auto y = at::empty_like(x);
    auto inverse = at::empty({rows}, x.options().dtype(at::kFloat));
    with_element_type(x.scalar_type(), [&](auto type) {
      using T = decltype(type);
      at::parallel_for(0, rows, rows_per_task(width), [&](std::int64_t begin, std::int64_t end) {
        forward_rows(x.const_data_ptr<T>(), weight.const_data_ptr<T>(), y.data_ptr<T>(), inverse.data_ptr<float>(),
                     begin, end, width, static_cast<float>(epsilon));
      });
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
    auto partial = at::zeros({kParts, width}, inverse.options());
    with_element_type(x.scalar_type(), [&](auto type) {
      using T = decltype(type);
      const std::int64_t parts_per_task = rows_per_task(width * std::max<std::int64_t>(1, rows / kParts));
      at::parallel_for(0, kParts, parts_per_task, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t part = begin; part < end; ++part) {
          backward_rows(gradient.const_data_ptr<T>(), x.const_data_ptr<T>(), weight.const_data_ptr<T>(),
                        inverse.const_data_ptr<float>(), dx.data_ptr<T>(), partial.data_ptr<float>() + part * width,
                        rows * part / kParts, rows * (part + 1) / kParts, width);
        }
      });
    });
    return {dx, partial.sum(0).to(weight.scalar_type()), at::Tensor()};
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
  if (!has_fused_path(x_NH) || weight_H.scalar_type() != x_NH.scalar_type())
    return rms_norm_reference(x_NH, weight_H, epsilon);
  return RmsNorm::apply(x_NH.contiguous(), weight_H.contiguous(), epsilon);
}

}  // namespace drift::kernels
