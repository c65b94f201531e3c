#include <core/kernels/rotate_rows.h>

#include <core/kernels/simd.h>

namespace drift::kernels {
namespace {

template <bool kBackward, class T, class Table>
DRIFT_MULTIVERSION void rotate(const T* in, T* out, const Table* cosine, const Table* sine, std::int64_t begin,
                               std::int64_t end, HeadsLayout layout) {
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

}  // namespace

template <bool kBackward, class T, class Table>
void rotate_rows(const T* in, T* out, const Table* cosine, const Table* sine, std::int64_t begin, std::int64_t end,
                 HeadsLayout layout) {
  rotate<kBackward>(in, out, cosine, sine, begin, end, layout);
}

#define DRIFT_ROTATE_ROWS(backward, T, Table)                                                                         \
  template void rotate_rows<backward, T, Table>(const T*, T*, const Table*, const Table*, std::int64_t, std::int64_t, \
                                                HeadsLayout)
DRIFT_ROTATE_ROWS(false, float, float);
DRIFT_ROTATE_ROWS(true, float, float);
DRIFT_ROTATE_ROWS(false, c10::BFloat16, float);
DRIFT_ROTATE_ROWS(true, c10::BFloat16, float);
DRIFT_ROTATE_ROWS(false, c10::BFloat16, c10::BFloat16);
DRIFT_ROTATE_ROWS(true, c10::BFloat16, c10::BFloat16);
#undef DRIFT_ROTATE_ROWS

}  // namespace drift::kernels
