#pragma once

#include <drift/policy.h>

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace drift {

/// What a decoder that draws is to draw, to be compared with a trace.
struct TraceDraws {
  bool most_probable = false;  ///< instead of a draw; its probability is still that of being drawn
  at::Tensor token_FK;  ///< int64, of each forward of one response that may commit, for each of its window's places;
                        ///< undefined: none
};

/// A policy that records the forwards that a decoder asks for, and draws what a trace says: it looks for the random
/// number from which the decoder's own sampling draws that token.
class TracePolicy final : public Policy {
 public:
  /// First position, end, 1 if the keys are for later forwards, masks in the input.
  using Call = std::array<std::int64_t, 4>;

  TracePolicy(const Policy& policy, TraceDraws draws) : policy_(policy), draws_(std::move(draws)) {}

  const ModelTraits& traits() const override { return policy_.traits(); }
  at::Device device() const override { return policy_.device(); }
  at::Tensor logits(const ForwardInput& input, const ForwardCache& cache) const override;
  SampledTokens sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                       const at::Tensor& uniform_M, const SamplingOptions& options) const override;
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override {
    return policy_.make_cache(rows, positions);
  }

  /// Those of the first row: of a rollout of one response, all.
  const std::vector<Call>& calls() const { return calls_; }

 private:
  void tell(const ForwardInput& input, const ForwardCache& cache) const;
  at::Tensor wanted(const ForwardInput& input, const at::Tensor& logits_NV, const at::Tensor& row_M) const;

  const Policy& policy_;
  const TraceDraws draws_;
  mutable std::mutex mutex_;
  mutable std::vector<Call> calls_;
  mutable at::Tensor last_W_;  ///< tokens of the last call
};

}  // namespace drift
