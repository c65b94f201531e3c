#pragma once

#include "config.h"

#include <core/nn/transformer_model.h>

namespace drift::dream {

/// Dream (Ye et al. 2025): a Qwen2.5 transformer made bidirectional. Its head keeps the alignment of next-token
/// prediction: row j - 1 of the hidden states predicts the token at position j.
class Dream final : public nn::TransformerModel, public ScoredRows {
 public:
  Dream(const ModelConfig& model, const Params& params);
  void initialize(const RandomStream& random) override;

  /// scored_row = "within_response" repeats the originals' losses, which shift a response's logits on their own:
  /// its first position takes its own row.
  bool has_capability(const std::type_info& capability) const override {
    return capability != typeid(ScoredRows) || within_response_;
  }
  std::int64_t scored_rows_before(std::int64_t response_position) const override {
    return response_position == 0 ? 0 : 1;
  }

 private:
  Dream(const ModelConfig& model, const Params& params, const DreamConfig& config);

  bool within_response_;
};

}  // namespace drift::dream
