#include <core/kernels/rotary.h>

#include <core/kernels/simd.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

namespace drift::kernels {
namespace {

struct Shape {
  std::int64_t sequence, heads, dimension;
};

// Row r of x is position r % sequence of sequence r / sequence. The backward turns by the negative angle.
template <bool kBackward>
__attribute__((always_inline)) inline void rotate(const float* in, float* out, const float* cosine, const float* sine,
                                                  std::int64_t begin, std::int64_t end, Shape shape) {
  const std::int64_t half = shape.dimension / 2;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t batch = row / shape.sequence, position = row % shape.sequence;
    const float* c = cosine + position * half;
    const float* s = sine + position * half;
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t token_first = (row * shape.heads + head) * shape.dimension;
      const std::int64_t head_first = ((batch * shape.heads + head) * shape.sequence + position) * shape.dimension;
      const float* a = in + (kBackward ? head_first : token_first);
      float* b = out + (kBackward ? token_first : head_first);
#pragma omp simd
      for (std::int64_t j = 0; j < half; ++j) {
        const float low = a[j], high = a[j + half], turn = kBackward ? -s[j] : s[j];
        b[j] = low * c[j] - high * turn;
        b[j + half] = high * c[j] + low * turn;
      }
    }
  }
}

DRIFT_MULTIVERSION void rotate_forward(const float* in, float* out, const float* cosine, const float* sine,
                                       std::int64_t begin, std::int64_t end, Shape shape) {
  rotate<false>(in, out, cosine, sine, begin, end, shape);
}

DRIFT_MULTIVERSION void rotate_backward(const float* in, float* out, const float* cosine, const float* sine,
                                        std::int64_t begin, std::int64_t end, Shape shape) {
  rotate<true>(in, out, cosine, sine, begin, end, shape);
}

struct RotateHeads : torch::autograd::Function<RotateHeads> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& cosine,
                            const at::Tensor& sine, std::int64_t heads) {
    const Shape shape{cosine.size(0), heads, x.size(1) / heads};
    auto out = at::empty({x.size(0) / shape.sequence, heads, shape.sequence, shape.dimension}, x.options());
    at::parallel_for(0, x.size(0), 256, [&](std::int64_t begin, std::int64_t end) {
      rotate_forward(x.const_data_ptr<float>(), out.data_ptr<float>(), cosine.const_data_ptr<float>(),
                     sine.const_data_ptr<float>(), begin, end, shape);
    });
    context->save_for_backward({cosine, sine});
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto gradient = gradients[0].contiguous();
    const Shape shape{gradient.size(2), gradient.size(1), gradient.size(3)};
    const std::int64_t rows = gradient.size(0) * shape.sequence;
    auto dx = at::empty({rows, shape.heads * shape.dimension}, gradient.options());
    at::parallel_for(0, rows, 256, [&](std::int64_t begin, std::int64_t end) {
      rotate_backward(gradient.const_data_ptr<float>(), dx.data_ptr<float>(), saved[0].const_data_ptr<float>(),
                      saved[1].const_data_ptr<float>(), begin, end, shape);
    });
    return {dx, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor rotate_heads_reference(const at::Tensor& x, const at::Tensor& cosine_SD2, const at::Tensor& sine_SD2,
                                  std::int64_t heads) {
  const std::int64_t sequence = cosine_SD2.size(0), dimension = x.size(1) / heads;
  const auto type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto parts = x.view({-1, sequence, heads, dimension}).transpose(1, 2).to(type).chunk(2, -1);
  const auto rotated =
      at::cat({parts[0] * cosine_SD2 - parts[1] * sine_SD2, parts[1] * cosine_SD2 + parts[0] * sine_SD2}, -1);
  return rotated.to(x.scalar_type());
}

at::Tensor rotate_heads(const at::Tensor& x, const at::Tensor& cosine_SD2, const at::Tensor& sine_SD2,
                        std::int64_t heads) {
  if (!x.is_cpu() || x.scalar_type() != at::kFloat) return rotate_heads_reference(x, cosine_SD2, sine_SD2, heads);
  return RotateHeads::apply(x.contiguous(), cosine_SD2.contiguous(), sine_SD2.contiguous(), heads);
}

}  // namespace drift::kernels
