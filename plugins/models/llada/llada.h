#pragma once

#include "config.h"

#include <drift/model.h>

#include <core/nn/transformer.h>

#include <vector>

/// LLaDA (Large Language Diffusion with mAsking): a llama-like transformer without a causal mask. Row j of the hidden
/// states predicts the token at position j.
class Llada final : public drift::Model {
 public:
  Llada(const drift::ModelConfig& config, const drift::Params& params);

  const drift::ModelTraits& traits() const override { return traits_; }
  at::Tensor forward(const drift::ForwardInput& input) const override;
  at::Tensor lm_head_VH() const override { return config_.weight_tying ? embedding_VH_ : head_VH_; }
  std::vector<drift::NamedTensor> parameters() const override;
  void initialize(const drift::RandomStream& random) override;
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override;

 private:
  LladaConfig config_;
  drift::ModelTraits traits_;
  at::Tensor embedding_VH_;
  std::vector<drift::nn::BlockWeights> blocks_;
  at::Tensor final_norm_H_;
  at::Tensor head_VH_;  // undefined when tied to the embedding
  drift::nn::RotaryTable rotary_;
};
