#include <core/io/tensor_pieces.h>

#include <algorithm>

namespace drift {

std::vector<at::Tensor> tensor_pieces(const at::Tensor& tensor) {
  std::vector<at::Tensor> pieces;
  if (tensor.numel() == 0) return pieces;
  const at::Tensor rows = tensor.is_contiguous() ? tensor.detach().view(-1) : tensor.detach();
  const std::int64_t row_bytes = static_cast<std::int64_t>(rows.nbytes()) / rows.size(0);
  const std::int64_t at_once = std::max<std::int64_t>(1, kPieceBytes / row_bytes);
  for (std::int64_t first = 0; first < rows.size(0); first += at_once) {
    pieces.push_back(rows.narrow(0, first, std::min(at_once, rows.size(0) - first)));
  }
  return pieces;
}

}  // namespace drift
