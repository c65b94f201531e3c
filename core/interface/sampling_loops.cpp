#include <core/interface/sampling_loops.h>

#include <core/interface/row_sampler.h>
#include <core/kernels/simd.h>

#include <drift/error.h>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <string>
#include <vector>

namespace drift {
namespace {

/// The draws of each row.
class DrawsOfRows {
 public:
  DrawsOfRows(const at::Tensor& row_M, std::int64_t rows) : begin_(static_cast<std::size_t>(rows) + 1) {
    const std::int64_t* row = row_M.const_data_ptr<std::int64_t>();
    const std::int64_t draws = row_M.size(0);
    for (std::int64_t m = 0; m < draws; ++m) {
      if (row[m] < 0 || row[m] >= rows) {
        throw Error("sample_tokens(): `row_M` holds " + std::to_string(row[m]), "drift/sampling.h says what it takes");
      }
      ++begin_[static_cast<std::size_t>(row[m]) + 1];
    }
    for (std::size_t n = 1; n < begin_.size(); ++n) begin_[n] += begin_[n - 1];
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    draws_.resize(static_cast<std::size_t>(draws));
    for (std::int64_t m = 0; m < draws; ++m) draws_[next[static_cast<std::size_t>(row[m])]++] = m;
  }

  const std::int64_t* begin(std::int64_t row) const { return draws_.data() + begin_[static_cast<std::size_t>(row)]; }
  const std::int64_t* end(std::int64_t row) const { return begin(row + 1); }

 private:
  std::vector<std::size_t> begin_;
  std::vector<std::int64_t> draws_;
};

template <class T>
void sample_rows(const at::Tensor& logits_NV, const DrawsOfRows& draws, const double* uniform,
                 const SamplingOptions& options, const SampledTokens& result) {
  const AllowedIds allowed(options.forbidden_ids, logits_NV.size(1));
  const T* logits = logits_NV.const_data_ptr<T>();
  auto* token = result.token_M.data_ptr<std::int64_t>();
  float *logprob = result.logprob_M.data_ptr<float>(), *confidence = result.confidence_M.data_ptr<float>();
  const std::int64_t grain = kernels::rows_per_task(allowed.vocabulary());
  at::parallel_for(0, logits_NV.size(0), grain, [&](std::int64_t begin, std::int64_t end) {
    RowSampler<T> sampler(options, allowed);
    for (std::int64_t n = begin; n < end; ++n) {
      if (draws.begin(n) == draws.end(n)) continue;
      sampler.begin_row(logits + n * allowed.vocabulary());
      for (const std::int64_t* m = draws.begin(n); m != draws.end(n); ++m) {
        const RowDraw drawn = sampler.draw(uniform == nullptr ? 0 : uniform[*m]);
        token[*m] = drawn.token;
        logprob[*m] = drawn.logprob;
        confidence[*m] = drawn.confidence;
      }
    }
  });
}

}  // namespace

SampledTokens sample_with_loops(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
                                const SamplingOptions& options) {
  const auto rows = row_M.cpu().contiguous();
  const auto uniforms = options.temperature == 0 ? at::Tensor() : uniform_M.cpu().contiguous();
  const DrawsOfRows draws(rows, logits_NV.size(0));
  const std::int64_t count = rows.size(0);
  SampledTokens result{
      at::empty({count}, at::kLong), at::empty({count}, at::kFloat), at::empty({count}, at::kFloat), {}};
  const double* uniform = uniforms.defined() ? uniforms.const_data_ptr<double>() : nullptr;
  if (logits_NV.scalar_type() == at::kBFloat16) {
    sample_rows<c10::BFloat16>(logits_NV.contiguous(), draws, uniform, options, result);
  } else {
    sample_rows<float>(logits_NV.to(at::kFloat).contiguous(), draws, uniform, options, result);
  }
  return result;
}

}  // namespace drift
