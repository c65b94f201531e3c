#pragma once

#include <drift/loss_estimator.h>
#include <drift/model.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace drift::bench {

/// Sizes that config.json of an SDAR says.
struct SdarShape {
  std::int64_t layers = 0, heads = 0, kv_heads = 0, head_dimension = 0, block = 0;
  double epsilon = 0, rope_theta = 0;
};

/// Rotated keys and values of each layer, [B, S, G, D]: the originals' DynamicCache.
struct SdarCache {
  std::vector<at::Tensor> keys, values;
};

/// An SDAR in plain LibTorch, by the names of its checkpoint: dense masks, logits at all positions.
class PlainSdar {
 public:
  PlainSdar(const SdarShape& shape, const Model& model);

  /// Logits [B, S, V]. @param mask_QK  bool, over kept and own keys; undefined: all
  at::Tensor logits(const at::Tensor& tokens_BS, const at::Tensor& position_S, const at::Tensor& mask_QK,
                    SdarCache* cache = nullptr, bool store = false) const;

  const SdarShape& shape() const { return shape_; }

 private:
  at::Tensor layer(const at::Tensor& x, std::int64_t number, const at::Tensor& cosine, const at::Tensor& sine,
                   const at::Tensor& bias, std::int64_t batch, SdarCache* cache, bool store) const;
  const at::Tensor& weight(const std::string& name) const { return weights_.at(name + ".weight"); }

  SdarShape shape_;
  std::map<std::string, at::Tensor> weights_;
};

/// SDAR's generate.py, greedy, static: a block's denoising forwards over it alone, then one that keeps its keys
/// (docs/spec/models_rollout.md). All rows have the same prompt length. @return [B, length]
at::Tensor plain_block_decode(const PlainSdar& model, const at::Tensor& prompt_BP, std::int64_t length,
                              std::int64_t mask_id);

/// One update of TraceRL as its program computes it: each view by itself, [prompt | response | masked response] with a
/// dense mask, logits at all of its positions, log-softmax over the prompt's and the masked ones.
/// @param input  without log-probabilities. @return the gradients; .grad is empty again.
std::vector<at::Tensor> plain_trace_update(const PlainSdar& model, const Model& weights, const LossEstimator& loss,
                                           const LossInput& input, const at::Tensor& prompt_BP,
                                           const at::Tensor& tokens_BL);

}  // namespace drift::bench
