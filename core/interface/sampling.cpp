#include <core/interface/random_operators.h>
#include <core/interface/row_sampler.h>
#include <core/interface/sampling_kernels.h>
#include <core/interface/sampling_loops.h>
#include <core/interface/sampling_operators.h>
#include <core/kernels/cuda/library.h>

#include <drift/error.h>
#include <drift/sampling.h>

#include <ATen/ops/broadcast_tensors.h>
#include <ATen/ops/empty.h>

#include <string>

namespace drift {
namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw Error("sample_tokens(): " + what, "drift/sampling.h says what it takes");
}

// Without waiting for a device: what lies there is not looked at.
void check(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
           const SamplingOptions& options) {
  require(logits_NV.defined() && logits_NV.dim() == 2 && logits_NV.size(1) > 0 &&
              at::isFloatingType(logits_NV.scalar_type()),
          "`logits_NV` must be of a floating-point type, [N, V]");
  require(row_M.defined() && row_M.dim() == 1 && row_M.scalar_type() == at::kLong, "`row_M` must be int64 [M]");
  require(options.temperature >= 0, "the temperature is " + std::to_string(options.temperature));
  if (options.temperature > 0) {
    require(uniform_M.defined() && uniform_M.scalar_type() == at::kDouble && uniform_M.sizes() == row_M.sizes(),
            "`uniform_M` must be float64 [M]");
  }
  for (const auto& [begin, end] : options.forbidden_ids) {
    require(begin >= 0 && begin <= end,
            "`forbidden_ids` holds [" + std::to_string(begin) + ", " + std::to_string(end) + ")");
  }
  require(!AllowedIds(options.forbidden_ids, logits_NV.size(1)).none(), "`forbidden_ids` leaves no token");
  require(options.top_k >= 0, "top_k is " + std::to_string(options.top_k));
  require(options.top_p >= 0 && options.top_p <= 1, "top_p is " + std::to_string(options.top_p));
}

}  // namespace

SampledTokens sample_tokens(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
                            const SamplingOptions& options) {
  check(logits_NV, row_M, uniform_M, options);
  // The loops and the kernels cut in the other order.
  if (options.top_k_first != 0 && options.top_k > 0 && options.top_p > 0 && options.top_p < 1)
    return sample_with_operators(logits_NV, row_M, uniform_M, options);
  if (logits_NV.is_cpu()) return sample_with_loops(logits_NV, row_M, uniform_M, options);
  const auto* kernels = kernels::cuda::kernels_for(logits_NV);
  return kernels != nullptr && can_sample_with_kernels(logits_NV, options)
             ? sample_with_kernels(*kernels, logits_NV, row_M, uniform_M, options)
             : sample_with_operators(logits_NV, row_M, uniform_M, options);
}

at::Tensor uniform(const RandomStream& random, std::int64_t step, const at::Tensor& response_M,
                   const at::Tensor& position_M, const at::Tensor& draw_M) {
  const auto points = at::broadcast_tensors({response_M.to(at::kLong), position_M.to(at::kLong), draw_M.to(at::kLong)});
  if (!response_M.is_cpu()) {
    const auto* kernels = response_M.is_cuda() ? kernels::cuda::built_kernels() : nullptr;
    return kernels != nullptr ? uniform_with_kernels(*kernels, random, step, points[0], points[1], points[2])
                              : uniform_with_operators(random, step, points[0], points[1], points[2]);
  }
  const auto response = points[0].contiguous(), position = points[1].contiguous(), draw = points[2].contiguous();
  auto result = at::empty(response.sizes(), at::kDouble);
  for (std::int64_t m = 0; m < result.numel(); ++m) {
    result.data_ptr<double>()[m] =
        random.uniform({step, response.const_data_ptr<std::int64_t>()[m], position.const_data_ptr<std::int64_t>()[m],
                        draw.const_data_ptr<std::int64_t>()[m]});
  }
  return result;
}

}  // namespace drift
