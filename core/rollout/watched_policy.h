#pragma once

#include <drift/policy.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace drift {

/// A policy that tells how a rollout with one response gets on: each forward that the rollout asks for holds the state
/// of the response so far.
class WatchedPolicy final : public Policy {
 public:
  /// @param tokens  of the response, masks included, before this forward
  using Watch = std::function<void(const std::vector<std::int64_t>& tokens)>;

  /// @param policy  outlives this
  /// @param prompt  its tokens
  /// @param length  of the response
  WatchedPolicy(const Policy& policy, std::int64_t prompt, std::int64_t length, Watch watch);

  const ModelTraits& traits() const override { return policy_.traits(); }
  at::Device device() const override { return policy_.device(); }
  at::Tensor logits(const ForwardInput& input, const ForwardCache& cache) const override;
  SampledTokens sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                       const at::Tensor& uniform_M, const SamplingOptions& options) const override;
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override {
    return policy_.make_cache(rows, positions);
  }

 private:
  void tell(const ForwardInput& input, const ForwardCache& cache) const;

  const Policy& policy_;
  std::int64_t prompt_;
  Watch watch_;
  mutable std::mutex mutex_;
  mutable std::vector<std::int64_t> tokens_;  ///< as far as they are known: a window leaves the others as they were
};

}  // namespace drift
