#pragma once

#include "config.h"

#include <core/nn/transformer_model.h>

namespace drift::llada {

/// LLaDA (Large Language Diffusion with mAsking): a llama-like transformer without a causal mask. Row j of the hidden
/// states predicts the token at position j.
class Llada final : public nn::TransformerModel {
 public:
  Llada(const ModelConfig& model, const Parameters& params);
  void initialize(const RandomStream& random) override;

 private:
  Llada(const ModelConfig& model, const Parameters& params, const LladaConfig& config);
};

}  // namespace drift::llada
