// LinearLogSoftmax by kernels: LibTorch's product makes a tile of logits, a kernel reads it while it is in the GPU's
// cache.

#include <core/kernels/linear_log_softmax.h>

#include <core/kernels/cuda/library.h>
#include <core/kernels/product.h>

#include <ATen/TensorOperators.h>
#include <algorithm>

namespace drift::kernels {
namespace {

// A fraction of the cache of any GPU that trains, and enough columns for a product at full speed.
constexpr std::int64_t kTileBytes = 16 << 20, kLeastColumns = 2048;

std::int64_t tile_width(std::int64_t rows, std::int64_t vocabulary, std::int64_t element_size) {
  const std::int64_t width = kTileBytes / std::max<std::int64_t>(1, rows * element_size);
  return std::min(vocabulary, std::max(kLeastColumns, width / 256 * 256));
}

const float* floats(const at::Tensor& tensor) { return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr; }

}  // namespace

TokenScores LinearLogSoftmax::run_kernels(bool want_entropy, bool keep) {
  const std::int64_t rows = hidden_NH_.size(0);
  const auto add = [&](const at::Tensor& tile, std::int64_t first, const LogitSums& sums) {
    cuda::check(*kernels_,
                kernels_->logit_sums(
                    {cuda::element_of(tile), tile.const_data_ptr(), tile.stride(0), rows, first, tile.size(1),
                     sums.largest_N.data_ptr<float>(), sums.total_N.data_ptr<float>(),
                     want_entropy ? sums.weighted_N.data_ptr<float>() : nullptr,
                     targets_.row_E.const_data_ptr<std::int64_t>(), targets_.token_E.const_data_ptr<std::int64_t>(),
                     targets_.row_E.size(0), target_logit_E_.data_ptr<float>()},
                    cuda::stream_of(tile)));
  };
  return run_tiled(tile_width(rows, weight_VH_.size(0), weight_VH_.element_size()), want_entropy, keep, add);
}

void LinearLogSoftmax::backward_kernels(const at::Tensor& logprob_gradient_E, const at::Tensor& entropy_gradient_E) {
  const auto gradient_E = logprob_gradient_E.contiguous();
  const auto entropy_E = entropy_gradient_E.defined() ? entropy_gradient_E.contiguous() : entropy_gradient_E;
  cuda::check(*kernels_,
              kernels_->logit_gradient(
                  {cuda::element_of(logits_NV_), logits_NV_.data_ptr(), logits_NV_.size(0), logits_NV_.size(1),
                   log_total_N_.const_data_ptr<float>(), entropy_E.defined() ? floats(entropy_N_) : nullptr,
                   targets_.row_E.const_data_ptr<std::int64_t>(), targets_.token_E.const_data_ptr<std::int64_t>(),
                   floats(target_logit_E_), floats(gradient_E), floats(entropy_E), targets_.row_E.size(0)},
                  cuda::stream_of(logits_NV_)));
}

}  // namespace drift::kernels
