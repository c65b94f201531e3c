#pragma once

#include <drift/policy.h>

#include <cstdint>
#include <memory>

namespace drift {

/// The policy that a rollout is given: a model, its LM head, and the row that predicts a position. The model lives as
/// long as this.
class ModelPolicy final : public Policy {
 public:
  explicit ModelPolicy(const Model& model) : model_(model) {}

  const ModelTraits& traits() const override { return model_.traits(); }
  at::Device device() const override { return model_.device(); }
  at::Tensor logits(const ForwardInput& input, const ForwardCache& cache) const override;
  SampledTokens sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                       const at::Tensor& uniform_M, const SamplingOptions& options) const override;
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override;

 private:
  const Model& model_;
};

}  // namespace drift
