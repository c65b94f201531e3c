#include <core/kernels/rotary.h>

#include <core/kernels/simd.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

namespace drift::kernels {
namespace {

/// The layouts: x by rows, dense; the other side [B, heads, S, D] with these strides, a head's components dense.
struct Layout {
  explicit Layout(const at::Tensor& heads_first)
      : heads(heads_first.size(1)),
        sequence(heads_first.size(2)),
        dimension(heads_first.size(3)),
        batch_stride(heads_first.stride(0)),
        head_stride(heads_first.stride(1)),
        position_stride(heads_first.stride(2)) {}
  std::int64_t heads, sequence, dimension, batch_stride, head_stride, position_stride;
};

// Row r of x is position r % S of sequence r / S. Products are rounded to the tables' type, as plain operations round
// them. The backward turns by the negative angle.
template <bool kBackward, class T, class Table>
DRIFT_MULTIVERSION void rotate(const T* in, T* out, const Table* cosine, const Table* sine, std::int64_t begin,
                               std::int64_t end, Layout layout) {
  const std::int64_t half = layout.dimension / 2;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t batch = row / layout.sequence, position = row % layout.sequence;
    const Table* c = cosine + position * half;
    const Table* s = sine + position * half;
    for (std::int64_t head = 0; head < layout.heads; ++head) {
      const std::int64_t row_first = (row * layout.heads + head) * layout.dimension;
      const std::int64_t head_first =
          batch * layout.batch_stride + head * layout.head_stride + position * layout.position_stride;
      const T* a = in + (kBackward ? head_first : row_first);
      T* b = out + (kBackward ? row_first : head_first);
#pragma omp simd
      for (std::int64_t j = 0; j < half; ++j) {
        const float low = widen(a[j]), high = widen(a[j + half]);
        const float turn = kBackward ? -widen(s[j]) : widen(s[j]);
        b[j] = narrow<T>(rounded_to<Table>(low * widen(c[j])) - rounded_to<Table>(high * turn));
        b[j + half] = narrow<T>(rounded_to<Table>(high * widen(c[j])) + rounded_to<Table>(low * turn));
      }
    }
  }
}

template <bool kBackward>
void rotate_all(const at::Tensor& in, const at::Tensor& out, const at::Tensor& cosine, const at::Tensor& sine,
                const Layout& layout) {
  const std::int64_t rows = kBackward ? out.size(0) : in.size(0);
  with_element_type(in.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const auto with_table_type = [&](auto table_type) {
      using Table = decltype(table_type);
      at::parallel_for(0, rows, rows_per_task(layout.heads * layout.dimension), [&](auto begin, auto end) {
        rotate<kBackward>(in.const_data_ptr<T>(), out.data_ptr<T>(), cosine.const_data_ptr<Table>(),
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
    rotate_all<false>(x, out, cosine, sine, Layout(out));
    context->save_for_backward({cosine, sine});
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    // Attention's backward may return heads last in memory: read them in place.
    const auto gradient = gradients[0].stride(3) == 1 ? gradients[0] : gradients[0].contiguous();
    const Layout layout(gradient);
    auto dx = at::empty({gradient.size(0) * layout.sequence, layout.heads * layout.dimension}, gradient.options());
    rotate_all<true>(gradient, dx, saved[0], saved[1], layout);
    return {dx, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

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
                        std::int64_t heads) {
  const auto table_type = cosine_SD2.scalar_type();
  if (!has_fused_path(x) || (table_type != at::kFloat && table_type != x.scalar_type()))
    return rotate_heads_reference(x, cosine_SD2, sine_SD2, heads);
  return RotateHeads::apply(x.contiguous(), cosine_SD2.contiguous(), sine_SD2.contiguous(), heads);
}

}  // namespace drift::kernels
