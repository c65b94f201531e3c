// Bytes per element in bfloat16, at least (and here): 4 (read, write); the angles are read once per head from the
// cache.

#include <core/kernels/cuda/target.h>

namespace drift::kernels::DRIFT_TARGET {

constexpr int kRotateThreads = 256;

struct HeadsShape {
  std::int64_t rows, heads, sequence, half, batch_stride, head_stride, position_stride;
};

/// One thread per pack of pairs. Row r is position r % sequence of sequence r / sequence.
template <bool kBackward, class T, class Table, int kPack>
__global__ void rotate_pairs(T* dense, T* headed, const Table* cosine, const Table* sine, HeadsShape shape) {
  const std::int64_t packs = shape.half / kPack;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= shape.rows * shape.heads * packs) return;
  const std::int64_t pack = index % packs, row = index / packs / shape.heads, head = index / packs % shape.heads;
  const std::int64_t position = row % shape.sequence;
  T* of_row = dense + (row * shape.heads + head) * 2 * shape.half;
  T* of_head =
      headed + row / shape.sequence * shape.batch_stride + head * shape.head_stride + position * shape.position_stride;
  T *in = kBackward ? of_head : of_row, *out = kBackward ? of_row : of_head;
  const auto lows = load<kPack>(in, pack), highs = load<kPack>(in + shape.half, pack);
  Pack<T, kPack> low_out, high_out;
  for (int i = 0; i < kPack; ++i) {
    const float low = widen(lows.at[i]), high = widen(highs.at[i]);
    const float c = widen(cosine[position * shape.half + pack * kPack + i]);
    const float s = widen(sine[position * shape.half + pack * kPack + i]), turn = kBackward ? -s : s;
    // Each product is rounded, as plain operations round it.
    low_out.at[i] =
        narrow<T>(rounded_to<Table>(rounded_product(low, c)) - rounded_to<Table>(rounded_product(high, turn)));
    high_out.at[i] =
        narrow<T>(rounded_to<Table>(rounded_product(high, c)) + rounded_to<Table>(rounded_product(low, turn)));
  }
  store(out, pack, low_out);
  store(out + shape.half, pack, high_out);
}

template <class T, class Table, int kPack>
Status rotate_all(const cuda::RotateCall& call, Stream stream) {
  const HeadsShape shape{call.rows,         call.heads,       call.sequence,       call.dimension / 2,
                         call.batch_stride, call.head_stride, call.position_stride};
  const std::int64_t threads = shape.rows * shape.heads * (shape.half / kPack);
  return launch(call.backward ? rotate_pairs<true, T, Table, kPack> : rotate_pairs<false, T, Table, kPack>,
                {divide_up(threads, kRotateThreads), kRotateThreads}, stream, static_cast<T*>(call.dense),
                static_cast<T*>(call.headed), static_cast<const Table*>(call.cosine),
                static_cast<const Table*>(call.sine), shape);
}

Status rotate(const cuda::RotateCall& call, Stream stream) {
  const std::int64_t size = size_of(call.type);
  bool aligned = is_aligned(call.dimension / 2, size, call.dense, call.headed);
  for (const std::int64_t stride : {call.batch_stride, call.head_stride, call.position_stride}) {
    aligned = aligned && is_aligned(stride, size);
  }
  return with_element(call.type, aligned, [&](auto type, auto pack) {
    using T = decltype(type);
    return call.table_type == Element::kFloat32 ? rotate_all<T, float, pack.value>(call, stream)
                                                : rotate_all<T, T, pack.value>(call, stream);
  });
}

}  // namespace drift::kernels::DRIFT_TARGET
