#pragma once

#include "config.h"

#include <core/nn/transformer_model.h>

/// Dream (Ye et al. 2025): a Qwen2.5 transformer made bidirectional. Its head keeps the alignment of next-token
/// prediction: row j - 1 of the hidden states predicts the token at position j.
class Dream final : public drift::nn::TransformerModel {
 public:
  Dream(const drift::ModelConfig& model, const drift::Params& params);
  void initialize(const drift::RandomStream& random) override;

 private:
  Dream(const drift::ModelConfig& model, const drift::Params& params, const DreamConfig& config);
};
