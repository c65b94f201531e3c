#include <core/kernels/transformer_ops.h>

#include <core/kernels/cuda/library.h>
#include <core/kernels/cuda/transformer_ops.h>
#include <core/kernels/fused_path.h>
#include <core/kernels/rotate_rows.h>
#include <core/kernels/simd.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>
#include <vector>

namespace drift::kernels {
namespace {

template <class T>
DRIFT_MULTIVERSION void normalize_rows(const T* x, const T* weight, T* y, float* inverse, std::int64_t begin,
                                       std::int64_t end, std::int64_t width, float epsilon, bool weight_first) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* in = x + row * width;
    T* out = y + row * width;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t i = 0; i < width; ++i) squares += widen(in[i]) * widen(in[i]);
    const float scale = 1.0f / std::sqrt(squares / static_cast<float>(width) + epsilon);
    inverse[row] = scale;
    if (weight_first) {
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) out[i] = narrow<T>(widen(in[i]) * scale * widen(weight[i]));
      continue;
    }
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      out[i] = narrow<T>(rounded_to<T>(widen(in[i]) * scale) * widen(weight[i]));
    }
  }
}

// With r = 1 / rms: dx = r (g w - x r^2 mean(g w x)), dw = sum over rows of g x r.
template <class T>
DRIFT_MULTIVERSION void normalize_rows_backward(const T* gradient, const T* x, const T* weight, const float* inverse,
                                                T* dx, float* dweight, std::int64_t begin, std::int64_t end,
                                                std::int64_t width) {
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
                            double epsilon, bool weight_first) {
    const std::int64_t rows = x.size(0), width = x.size(1);
    auto y = at::empty_like(x);
    auto inverse = at::empty({rows}, x.options().dtype(at::kFloat));
    with_element_type(x.scalar_type(), [&](auto type) {
      using T = decltype(type);
      at::parallel_for(0, rows, rows_per_task(width), [&](std::int64_t begin, std::int64_t end) {
        normalize_rows(x.const_data_ptr<T>(), weight.const_data_ptr<T>(), y.data_ptr<T>(), inverse.data_ptr<float>(),
                       begin, end, width, static_cast<float>(epsilon), weight_first);
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
          normalize_rows_backward(gradient.const_data_ptr<T>(), x.const_data_ptr<T>(), weight.const_data_ptr<T>(),
                                  inverse.const_data_ptr<float>(), dx.data_ptr<T>(),
                                  partial.data_ptr<float>() + part * width, rows * part / kParts,
                                  rows * (part + 1) / kParts, width);
        }
      });
    });
    return {dx, partial.sum(0).to(weight.scalar_type()), at::Tensor(), at::Tensor()};
  }
};

/// Of a tensor [B, heads, S, D].
HeadsLayout layout_of(const at::Tensor& heads_first) {
  return {heads_first.size(1),   heads_first.size(2),   heads_first.size(3),
          heads_first.stride(0), heads_first.stride(1), heads_first.stride(2)};
}

template <bool kBackward>
void rotate_all(const at::Tensor& in, const at::Tensor& out, const at::Tensor& cosine, const at::Tensor& sine,
                const HeadsLayout& layout) {
  const std::int64_t rows = kBackward ? out.size(0) : in.size(0);
  with_element_type(in.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const auto with_table_type = [&](auto table_type) {
      using Table = decltype(table_type);
      at::parallel_for(0, rows, rows_per_task(layout.heads * layout.dimension), [&](auto begin, auto end) {
        rotate_rows<kBackward>(in.const_data_ptr<T>(), out.data_ptr<T>(), cosine.const_data_ptr<Table>(),
                               sine.const_data_ptr<Table>(), begin, end, layout);
      });
    };
    cosine.scalar_type() == at::kFloat ? with_table_type(float()) : with_table_type(T());
  });
}

struct RotateHeads : torch::autograd::Function<RotateHeads> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& cosine,
                            const at::Tensor& sine, std::int64_t heads) {
    const std::int64_t sequence = cosine.size(0);
    auto out = at::empty({x.size(0) / sequence, heads, sequence, x.size(1) / heads}, x.options());
    rotate_all<false>(x, out, cosine, sine, layout_of(out));
    context->save_for_backward({cosine, sine});
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    // Attention's backward may return heads last in memory: read them in place.
    const auto gradient = gradients[0].stride(3) == 1 ? gradients[0] : gradients[0].contiguous();
    const HeadsLayout layout = layout_of(gradient);
    auto dx = at::empty({gradient.size(0) * layout.sequence, layout.heads * layout.dimension}, gradient.options());
    rotate_all<true>(gradient, dx, saved[0], saved[1], layout);
    return {dx, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

template <class T>
DRIFT_MULTIVERSION void gate_range(const T* gate, const T* up, T* y, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float x = widen(gate[i]);
    y[i] = narrow<T>(rounded_to<T>(x / (1.0f + vector_exp(-x))) * widen(up[i]));
  }
}

template <class T>
DRIFT_MULTIVERSION void gate_range_backward(const T* gradient, const T* gate, const T* up, T* dgate, T* dup,
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
        gate_range(gate.const_data_ptr<T>(), up.const_data_ptr<T>(), y.data_ptr<T>(), begin, end);
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
        gate_range_backward(gradient.const_data_ptr<T>(), gate.const_data_ptr<T>(), up.const_data_ptr<T>(),
                            dgate.data_ptr<T>(), dup.data_ptr<T>(), begin, end);
      });
    });
    return {dgate, dup};
  }
};

template <class T>
DRIFT_MULTIVERSION void softmax_range(T* x, std::int64_t width, std::int64_t begin, std::int64_t end) {
  std::vector<float> kept(static_cast<std::size_t>(width));
  float* const exponential = kept.data();
  for (T* row = x + begin * width; row < x + end * width; row += width) {
    float largest = -std::numeric_limits<float>::infinity(), total = 0;
#pragma omp simd reduction(max : largest)
    for (std::int64_t i = 0; i < width; ++i) {
      const float value = widen(row[i]);
      largest = value > largest ? value : largest;
    }
#pragma omp simd reduction(+ : total)
    for (std::int64_t i = 0; i < width; ++i) total += exponential[i] = vector_exp(widen(row[i]) - largest);
    const float share = 1.0f / total;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) row[i] = narrow<T>(exponential[i] * share);
  }
}

}  // namespace

at::Tensor rms_norm_reference(const at::Tensor& x_NH, const at::Tensor& weight_H, double epsilon, NormWeight order) {
  const auto type = x_NH.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto wide = x_NH.to(type);
  const auto normed = wide * at::rsqrt((wide * wide).mean(-1, true) + epsilon);
  if (order == NormWeight::kBeforeRounding) return (weight_H.to(type) * normed).to(x_NH.scalar_type());
  return weight_H * normed.to(x_NH.scalar_type());
}

at::Tensor rms_norm(const at::Tensor& x_NH, const at::Tensor& weight_H, double epsilon, NormWeight order) {
  if (weight_H.scalar_type() != x_NH.scalar_type()) return rms_norm_reference(x_NH, weight_H, epsilon, order);
  const bool weight_first = order == NormWeight::kBeforeRounding;
  if (const auto* kernels = cuda::kernels_for(x_NH); kernels != nullptr && x_NH.size(1) <= cuda::kWidestNorm)
    return cuda::rms_norm(*kernels, x_NH, weight_H, epsilon, weight_first);
  if (!has_fused_path(x_NH)) return rms_norm_reference(x_NH, weight_H, epsilon, order);
  return RmsNorm::apply(x_NH.contiguous(), weight_H.contiguous(), epsilon, weight_first);
}

at::Tensor rotate_heads_reference(const at::Tensor& x, const at::Tensor& cosine_SD2, const at::Tensor& sine_SD2,
                                  std::int64_t heads) {
  const std::int64_t sequence = cosine_SD2.size(0), dimension = x.size(1) / heads;
  // Products come in the wider of the two types.
  const auto parts = x.reshape({x.size(0) / sequence, sequence, heads, dimension}).transpose(1, 2).chunk(2, -1);
  const auto rotated =
      at::cat({parts[0] * cosine_SD2 - parts[1] * sine_SD2, parts[1] * cosine_SD2 + parts[0] * sine_SD2}, -1);
  return rotated.to(x.scalar_type());
}

at::Tensor rotate_heads(const at::Tensor& x, const at::Tensor& cosine_SD2, const at::Tensor& sine_SD2,
                        std::int64_t heads, bool heads_last) {
  const auto table_type = cosine_SD2.scalar_type();
  if (table_type != at::kFloat && table_type != x.scalar_type())
    return rotate_heads_reference(x, cosine_SD2, sine_SD2, heads);
  if (const auto* kernels = cuda::kernels_for(x))
    return cuda::rotate_heads(*kernels, x, cosine_SD2, sine_SD2, heads, heads_last);
  if (!has_fused_path(x)) return rotate_heads_reference(x, cosine_SD2, sine_SD2, heads);
  return RotateHeads::apply(x.contiguous(), cosine_SD2.contiguous(), sine_SD2.contiguous(), heads);
}

at::Tensor swiglu_reference(const at::Tensor& gate, const at::Tensor& up) { return at::silu(gate) * up; }

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (up.scalar_type() != gate.scalar_type()) return swiglu_reference(gate, up);
  if (const auto* kernels = cuda::kernels_for(gate)) return cuda::swiglu(*kernels, gate, up);
  if (!has_fused_path(gate)) return swiglu_reference(gate, up);
  return SwiGlu::apply(gate.contiguous(), up.contiguous());
}

void softmax_(at::Tensor& x) {
  if (!has_fused_path(x) || !x.is_contiguous()) {
    at::_softmax_out(x, x, -1, false);
    return;
  }
  const std::int64_t width = x.size(-1);
  with_element_type(x.scalar_type(), [&](auto type) {
    using T = decltype(type);
    at::parallel_for(0, x.numel() / width, rows_per_task(width),
                     [&](std::int64_t begin, std::int64_t end) { softmax_range(x.data_ptr<T>(), width, begin, end); });
  });
}

}  // namespace drift::kernels
