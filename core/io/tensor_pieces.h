#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

/// The piece that a thread reads or writes at a time: long enough for a disk, short enough for memory.
inline constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;

/// A tensor in pieces of at most kPieceBytes that share its memory and follow each other in row-major order: runs of
/// elements if it is contiguous, else runs of rows of its first dimension (at least one row).
std::vector<at::Tensor> tensor_pieces(const at::Tensor& tensor);

}  // namespace drift
