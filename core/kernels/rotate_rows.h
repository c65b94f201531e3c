#pragma once

#include <cstdint>

namespace drift::kernels {

/// How rotate_heads() reads and writes: x by rows, dense; the other side [B, heads, S, D] with these strides, a head's
/// components dense.
struct HeadsLayout {
  std::int64_t heads, sequence, dimension, batch_stride, head_stride, position_stride;
};

/// Rows `begin` to `end` of x, which are in for a forward and out for a backward. Row r is position r % S of sequence
/// r / S. Products are rounded to the tables' type, as plain operations round them. The backward turns by the negative
/// angle. T is float or BFloat16, Table float or T.
template <bool kBackward, class T, class Table>
void rotate_rows(const T* in, T* out, const Table* cosine, const Table* sine, std::int64_t begin, std::int64_t end,
                 HeadsLayout layout);

}  // namespace drift::kernels
