// Bytes per logit in bfloat16, at least (and here): scores 2 (read; the second look at a tile's row is in the cache),
// gradient 4 (read, write). The product of hidden states and weights is LibTorch's.

#include <core/kernels/cuda/target.h>

namespace drift::kernels::DRIFT_TARGET {

constexpr int kLogitThreads = 512;

/// sum e^(x - m) over what has been seen, m the largest, and sum e^(x - m) (x - m), by row; one block per row.
template <class T, int kPack>
__global__ void add_logits(const T* logits, std::int64_t stride, std::int64_t columns, float* largests, float* totals,
                           float* weighteds) {
  const std::int64_t row = blockIdx.x, packs = columns / kPack;
  const T* x = logits + row * stride;
  const float before = largests[row];
  float largest = before;
  for (std::int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    const auto values = load<kPack>(x, p);
    for (int i = 0; i < kPack; ++i) {
      const float value = widen(values.at[i]);
      largest = value > largest ? value : largest;
    }
  }
  largest = block_reduce(largest, Largest(), kLowest);
  float total = 0, weighted = 0;
  for (std::int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    const auto values = load<kPack>(x, p);
    for (int i = 0; i < kPack; ++i) {
      const float below = widen(values.at[i]) - largest, e = vector_exp(below);
      total += e;
      weighted += e * below;
    }
  }
  total = block_reduce(total, Sum(), 0.0f);
  if (weighteds != nullptr) weighted = block_reduce(weighted, Sum(), 0.0f);
  if (threadIdx.x != 0) return;
  const float shift = before - largest, shrink = vector_exp(shift), seen = totals[row];
  // The first tile's shift is infinite.
  if (weighteds != nullptr) weighteds[row] = (seen == 0 ? 0 : weighteds[row] + shift * seen) * shrink + weighted;
  totals[row] = seen * shrink + total;
  largests[row] = largest;
}

template <class T>
__global__ void take_target_logits(const T* logits, std::int64_t stride, std::int64_t first, std::int64_t columns,
                                   const std::int64_t* target_row, const std::int64_t* target_token,
                                   float* target_logit, std::int64_t targets) {
  const std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (e >= targets) return;
  const std::int64_t column = target_token[e] - first;
  if (column >= 0 && column < columns) target_logit[e] = widen(logits[target_row[e] * stride + column]);
}

/// The first target of this row or of a later one: rows ascend.
inline __device__ std::int64_t first_target(const std::int64_t* target_row, std::int64_t targets, std::int64_t row) {
  std::int64_t low = 0, high = targets;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (target_row[middle] < row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

struct LogitTargets {
  const std::int64_t *row, *token;
  const float *logit, *gradient, *entropy_gradient;
  std::int64_t count;
};

/// d loss / d logit of one row: p (a + b (ln p + H)), with a = -sum of the targets' gradients and b = -gradient of the
/// entropy.
struct RowSlope {
  float log_total, a, b, entropy;

  __device__ float operator()(float logit) const {
    const float log_p = logit - log_total;
    return vector_exp(log_p) * (a + b * (log_p + entropy));
  }
};

template <class T, int kPack>
__global__ void logits_to_gradient(T* logits, std::int64_t vocabulary, const float* log_total, const float* entropy,
                                   LogitTargets targets) {
  const std::int64_t row = blockIdx.x, packs = vocabulary / kPack;
  const std::int64_t first = first_target(targets.row, targets.count, row);
  const std::int64_t last = first_target(targets.row, targets.count, row + 1);
  RowSlope slope{log_total[row], 0, 0, entropy == nullptr ? 0 : entropy[row]};
  for (std::int64_t e = first; e < last; ++e) {
    slope.a -= targets.gradient[e];
    if (targets.entropy_gradient != nullptr) slope.b -= targets.entropy_gradient[e];
  }
  T* x = logits + row * vocabulary;
  for (std::int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    auto values = load<kPack>(x, p);
    for (int i = 0; i < kPack; ++i) {
      const float logit = widen(values.at[i]);
      values.at[i] = narrow<T>(slope.b == 0 ? vector_exp(logit - slope.log_total) * slope.a : slope(logit));
    }
    store(x, p, values);
  }
  __syncthreads();
  // A target's own token: in float32 before it is rounded, however many targets of the row it is.
  for (std::int64_t e = first + threadIdx.x; e < last; e += blockDim.x) {
    float value = slope.b == 0 ? vector_exp(targets.logit[e] - slope.log_total) * slope.a : slope(targets.logit[e]);
    for (std::int64_t other = first; other < last; ++other) {
      value += targets.token[other] == targets.token[e] ? targets.gradient[other] : 0;
    }
    x[targets.token[e]] = narrow<T>(value);
  }
}

Status logit_sums(const cuda::LogitSumsCall& call, Stream stream) {
  const std::int64_t size = size_of(call.type);
  const bool aligned = is_aligned(call.stride, size, call.logits) && is_aligned(call.columns, size);
  return with_element(call.type, aligned, [&](auto type, auto pack) {
    using T = decltype(type);
    const auto* logits = static_cast<const T*>(call.logits);
    const Status status =
        launch(add_logits<T, pack.value>, {call.rows, threads_for(call.columns / pack.value, kLogitThreads)}, stream,
               logits, call.stride, call.columns, call.largest, call.total, call.weighted);
    if (status != 0) return status;
    return launch(take_target_logits<T>, {divide_up(call.targets, 128), 128}, stream, logits, call.stride, call.first,
                  call.columns, call.target_row, call.target_token, call.target_logit, call.targets);
  });
}

Status logit_gradient(const cuda::LogitGradientCall& call, Stream stream) {
  const bool aligned = is_aligned(call.vocabulary, size_of(call.type), call.logits);
  return with_element(call.type, aligned, [&](auto type, auto pack) {
    using T = decltype(type);
    const LogitTargets targets{call.target_row, call.target_token,     call.target_logit,
                               call.gradient,   call.entropy_gradient, call.targets};
    return launch(logits_to_gradient<T, pack.value>,
                  {call.rows, threads_for(call.vocabulary / pack.value, kLogitThreads)}, stream,
                  static_cast<T*>(call.logits), call.vocabulary, call.log_total, call.entropy, targets);
  });
}

}  // namespace drift::kernels::DRIFT_TARGET
