#pragma once

#include "config.h"

#include <core/nn/transformer_model.h>

/// LLaDA (Large Language Diffusion with mAsking): a llama-like transformer without a causal mask. Row j of the hidden
/// states predicts the token at position j.
class Llada final : public drift::nn::TransformerModel {
 public:
  Llada(const drift::ModelConfig& model, const drift::Params& params);
  void initialize(const drift::RandomStream& random) override;

 private:
  Llada(const drift::ModelConfig& model, const drift::Params& params, const LladaConfig& config);
};
