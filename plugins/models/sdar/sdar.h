#pragma once

#include "config.h"

#include <core/nn/transformer_model.h>

namespace drift::sdar {

/// Sdar (Ye et al. 2025): a Qwen2.5 transformer made bidirectional. Its head keeps the alignment of next-token
/// prediction: row j - 1 of the hidden states predicts the token at position j.
class Sdar final : public nn::TransformerModel {
 public:
  Sdar(const ModelConfig& model, const Parameters& params);
  void initialize(const RandomStream& random) override;

 private:
  Sdar(const ModelConfig& model, const Parameters& params, const SdarConfig& config);
};

}  // namespace drift::sdar
