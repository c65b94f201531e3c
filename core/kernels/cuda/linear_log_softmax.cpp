// LinearLogSoftmax by kernels: LibTorch's product makes a tile of logits, a kernel reads it while it is in the GPU's
// cache.

#include <core/kernels/linear_log_softmax.h>

#include <core/kernels/cuda/library.h>
#include <core/kernels/product.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

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
  const std::int64_t rows = hidden_NH_.size(0), vocabulary = weight_VH_.size(0);
  const std::int64_t width = tile_width(rows, vocabulary, weight_VH_.element_size());
  const auto single = weight_VH_.options().dtype(at::kFloat);
  const auto largest_N = at::full({rows}, -std::numeric_limits<float>::infinity(), single);
  const auto total_N = at::zeros({rows}, single), weighted_N = at::zeros({want_entropy ? rows : 0}, single);
  target_logit_E_ = at::empty({targets_.row_E.size(0)}, single);
  logits_NV_ = buffer(rows, keep ? vocabulary : width);
  for (std::int64_t first = 0; first < vocabulary; first += width) {
    const std::int64_t columns = std::min(width, vocabulary - first);
    auto tile = logits_NV_.narrow(1, keep ? first : 0, columns);
    product_out(tile, hidden_NH_, weight_VH_.narrow(0, first, columns));
    cuda::check(*kernels_, kernels_->logit_sums({cuda::element_of(tile), tile.const_data_ptr(), tile.stride(0), rows,
                                                 first, columns, largest_N.data_ptr<float>(), total_N.data_ptr<float>(),
                                                 want_entropy ? weighted_N.data_ptr<float>() : nullptr,
                                                 targets_.row_E.const_data_ptr<std::int64_t>(),
                                                 targets_.token_E.const_data_ptr<std::int64_t>(),
                                                 targets_.row_E.size(0), target_logit_E_.data_ptr<float>()},
                                                cuda::stream_of(tile)));
  }
  log_total_N_ = total_N.log().add_(largest_N);
  TokenScores scores;
  scores.logprob_E = target_logit_E_ - log_total_N_.index_select(0, targets_.row_E);
  if (want_entropy) {
    entropy_N_ = total_N.log() - weighted_N / total_N;
    scores.entropy_E = entropy_N_.index_select(0, targets_.row_E);
  }
  return scores;
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
