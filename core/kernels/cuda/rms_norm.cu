// Bytes per element of x in bfloat16, at least (and here): forward 4 (read x, write y; the second look at a row is in
// the cache), backward 6 (read x and the gradient, write dx).

#include <core/kernels/cuda/target.h>

namespace drift::kernels::DRIFT_TARGET {

constexpr int kNormThreads = 256;

/// One block per row.
template <class T, int kPack>
__global__ void normalize_rows(const T* x, const T* weight, T* y, float* inverse, std::int64_t width, float epsilon,
                               bool weight_first) {
  const std::int64_t row = blockIdx.x, packs = width / kPack;
  const T* in = x + row * width;
  float squares = 0;
  for (std::int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    const auto values = load<kPack>(in, p);
    for (int i = 0; i < kPack; ++i) squares += widen(values.at[i]) * widen(values.at[i]);
  }
  squares = block_reduce(squares, Sum(), 0.0f);
  const float scale = 1.0f / sqrtf(squares / static_cast<float>(width) + epsilon);
  if (threadIdx.x == 0) inverse[row] = scale;
  for (std::int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    const auto values = load<kPack>(in, p), weights = load<kPack>(weight, p);
    Pack<T, kPack> out;
    for (int i = 0; i < kPack; ++i) {
      const float normed = widen(values.at[i]) * scale;
      out.at[i] = narrow<T>((weight_first ? normed : rounded_to<T>(normed)) * widen(weights.at[i]));
    }
    store(y + row * width, p, out);
  }
}

/// With r = 1 / rms: dx = r (g w - x r^2 mean(g w x)), dw = sum over rows of g x r. One block per part of the rows; a
/// thread always has the same columns, whose sums are in shared memory.
template <class T, int kPack>
__global__ void normalize_rows_backward(const T* gradient, const T* x, const T* weight, const float* inverse, T* dx,
                                        float* partial, std::int64_t rows, std::int64_t width) {
  const std::int64_t part = blockIdx.x, parts = gridDim.x, packs = width / kPack;
  const auto dweight = dynamic_shared<float>(width);
  for (std::int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    for (int i = 0; i < kPack; ++i) dweight[p * kPack + i] = 0;
  }
  for (std::int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
    const T *g = gradient + row * width, *in = x + row * width;
    const float r = inverse[row];
    float dot = 0;
    for (std::int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
      const auto slopes = load<kPack>(g, p), weights = load<kPack>(weight, p), values = load<kPack>(in, p);
      for (int i = 0; i < kPack; ++i) dot += widen(slopes.at[i]) * widen(weights.at[i]) * widen(values.at[i]);
    }
    const float through_norm = block_reduce(dot, Sum(), 0.0f) * r * r / static_cast<float>(width);
    for (std::int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
      const auto slopes = load<kPack>(g, p), weights = load<kPack>(weight, p), values = load<kPack>(in, p);
      Pack<T, kPack> out;
      for (int i = 0; i < kPack; ++i) {
        const float slope = widen(slopes.at[i]), value = widen(values.at[i]);
        out.at[i] = narrow<T>(r * (slope * widen(weights.at[i]) - value * through_norm));
        dweight[p * kPack + i] += slope * value * r;
      }
      store(dx + row * width, p, out);
    }
  }
  for (std::int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    for (int i = 0; i < kPack; ++i) partial[part * width + p * kPack + i] = dweight[p * kPack + i];
  }
}

Status rms_norm(const cuda::RmsNormCall& call, Stream stream) {
  const bool aligned = is_aligned(call.width, size_of(call.type), call.x, call.weight, call.y);
  return with_element(call.type, aligned, [&](auto type, auto pack) {
    using T = decltype(type);
    return launch(normalize_rows<T, pack.value>, {call.rows, threads_for(call.width / pack.value, kNormThreads)},
                  stream, static_cast<const T*>(call.x), static_cast<const T*>(call.weight), static_cast<T*>(call.y),
                  call.inverse, call.width, call.epsilon, call.weight_first);
  });
}

Status rms_norm_backward(const cuda::RmsNormBackwardCall& call, Stream stream) {
  const bool aligned = is_aligned(call.width, size_of(call.type), call.gradient, call.x, call.weight, call.dx);
  return with_element(call.type, aligned, [&](auto type, auto pack) {
    using T = decltype(type);
    const Grid grid{call.parts, threads_for(call.width / pack.value, kNormThreads),
                    call.width * static_cast<std::int64_t>(sizeof(float))};
    return launch(normalize_rows_backward<T, pack.value>, grid, stream, static_cast<const T*>(call.gradient),
                  static_cast<const T*>(call.x), static_cast<const T*>(call.weight), call.inverse,
                  static_cast<T*>(call.dx), call.partial, call.rows, call.width);
  });
}

}  // namespace drift::kernels::DRIFT_TARGET
