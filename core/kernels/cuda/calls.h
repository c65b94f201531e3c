#pragma once

// The kernels as plain functions: what the library of nvcc exports, and what the same sources compiled by g++ give to
// tests. Pointers are to memory of the kernel's device; every call queues its work on a stream and returns. Without
// LibTorch, for code that nvcc compiles as well. What the numbers mean: the functions of the room that call them.

#include <cstdint>

namespace drift::kernels::cuda {

enum class Element : std::int32_t { kFloat32, kBfloat16 };

/// What a call returns: 0, or an error of the CUDA runtime.
using Status = std::int32_t;

/// A cudaStream_t.
using Stream = void*;

/// rms_norm(): y, and 1 / rms of each row.
struct RmsNormCall {
  Element type;
  const void *x, *weight;
  void* y;
  float* inverse;
  std::int64_t rows, width;
  float epsilon;
  bool weight_first;  ///< NormWeight::kBeforeRounding
};

/// Its gradient. `partial` [parts, width] receives sums of the weight's gradient, of consecutive rows each.
struct RmsNormBackwardCall {
  Element type;
  const void *gradient, *x, *weight;
  const float* inverse;
  void* dx;
  float* partial;
  std::int64_t parts, rows, width;
};
/// Wider rows do not fit into shared memory.
constexpr std::int64_t kWidestNorm = 12000;

/// rotate_heads() and its gradient, which turns back. `dense` is [rows, heads * dimension], `headed` [B, heads,
/// sequence, dimension] with these strides; a forward reads the first and writes the second, a backward the reverse.
struct RotateCall {
  Element type, table_type;
  bool backward;
  void *dense, *headed;
  const void *cosine, *sine;
  std::int64_t rows, heads, sequence, dimension, batch_stride, head_stride, position_stride;
};

/// swiglu(): y; with a gradient dgate and dup instead.
struct SwigluCall {
  Element type;
  const void *gate, *up;
  void* y;
  const void* gradient;
  void *dgate, *dup;
  std::int64_t size;
};

/// Adds `columns` columns of the logits of each row, `stride` apart, to the row's running sums (linear_log_softmax.h),
/// and takes the logits of targets that lie in them. `weighted` may be null.
struct LogitSumsCall {
  Element type;
  const void* logits;
  std::int64_t stride, rows, first, columns;
  float *largest, *total, *weighted;
  const std::int64_t *target_row, *target_token;
  std::int64_t targets;
  float* target_logit;
};

/// Turns logits [rows, vocabulary] into their gradient in place. `entropy` and `entropy_gradient` may be null.
struct LogitGradientCall {
  Element type;
  void* logits;
  std::int64_t rows, vocabulary;
  const float *log_total, *entropy;
  const std::int64_t *target_row, *target_token;
  const float *target_logit, *gradient, *entropy_gradient;
  std::int64_t targets;
};

/// RandomStream::uniform() for points that differ in three of their four fields.
struct UniformCall {
  std::uint64_t key;
  std::int64_t step;
  const std::int64_t *response, *position, *draw;
  double* uniform;
  std::int64_t size;
};

/// Ascending and apart.
struct IdRanges {
  static constexpr std::int32_t kMost = 16;
  std::int32_t count;
  std::int64_t begin[kMost], end[kMost];
};

/// sample_tokens().
struct SampleCall {
  static constexpr std::int64_t kTile = 256, kMostTiles = 1024;
  Element type;
  const void* logits;
  std::int64_t vocabulary;  ///< at most kTile * kMostTiles
  const std::int64_t* row;
  const double* uniform;  ///< null: temperature 0
  std::int64_t draws;
  float inverse_temperature;
  std::int32_t confidence;  ///< as Confidence
  bool of_draw;
  std::int64_t top_k;
  double top_p;
  IdRanges forbidden;
  std::int64_t* token;
  float *logprob, *confidence_out;
};

/// choose_commits().
struct CommitCall {
  static constexpr std::int64_t kMostPositions = 4096;
  const float* score;
  const std::int64_t* count;  ///< by row; null: by the factor or the threshold
  bool by_factor;
  double threshold, factor;
  std::int64_t rows, positions;
  bool* chosen;
  bool* failed;  ///< set if a score is not a number
};

/// One tensor of adamw().
struct AdamwTensorCall {
  float* weight;
  void *first, *second;
  const float* gradient;
  void* rounded;  ///< bfloat16; null: none
  std::int64_t size;
  std::uint64_t rounding_key;
};

/// Factors that all elements share, as adamw.cpp computes them.
struct AdamwFactors {
  float scale, keep, beta1, add1, beta2, add2, root, epsilon, move;
};

struct AdamwCall {
  Element moment_type;
  const AdamwTensorCall* tensors;  ///< in the host's memory
  std::int64_t count;
  AdamwFactors factors;
  std::int32_t* diverged;  ///< by tensor: set if a new weight is not finite or beyond kLargestWeight
};

/// nf4_widen(): the values. The pointers are to an Nf4's tensors.
struct WidenNf4Call {
  Element type;
  const std::uint8_t *codes, *scale_codes;  ///< without codes of scales: null
  const float* scales;                      ///< of blocks; with codes, of groups
  float scale_offset;
  void* out;
  std::int64_t count;
};

/// nn::dropped(): an element goes if the upper half of its 64 bits is below the threshold.
struct DropoutCall {
  Element type;
  const void* x;
  const std::int64_t* key;  ///< by row
  std::uint64_t stream, threshold;
  float factor;
  void* out;
  std::int64_t rows, width;
};

struct KernelTable {
  Status (*rms_norm)(const RmsNormCall&, Stream);
  Status (*rms_norm_backward)(const RmsNormBackwardCall&, Stream);
  Status (*rotate)(const RotateCall&, Stream);
  Status (*swiglu)(const SwigluCall&, Stream);
  Status (*logit_sums)(const LogitSumsCall&, Stream);
  Status (*logit_gradient)(const LogitGradientCall&, Stream);
  Status (*uniform)(const UniformCall&, Stream);
  Status (*sample)(const SampleCall&, Stream);
  Status (*choose_commits)(const CommitCall&, Stream);
  Status (*adamw)(const AdamwCall&, Stream);
  Status (*widen_nf4)(const WidenNf4Call&, Stream);
  Status (*dropout)(const DropoutCall&, Stream);
  const char* (*describe)(Status);
};

}  // namespace drift::kernels::cuda
