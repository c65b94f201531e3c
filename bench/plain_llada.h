#pragma once

#include "bench/update_case.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

namespace drift::bench {

/// Keys, before their rotary angles as the originals keep them, and values of each layer: [B, S, H].
struct PlainCache {
  std::vector<at::Tensor> keys, values;
};

/// A LLaDA in plain LibTorch, by the names of its checkpoint.
class PlainLlada {
 public:
  explicit PlainLlada(const UpdateCases& cases);

  /// [B, S] -> logits [B, S, V].
  at::Tensor logits(const at::Tensor& tokens_BS) const { return forward(tokens_BS, nullptr, nullptr, -1); }
  /// The same, keeping the keys and values of all positions.
  at::Tensor fill(const at::Tensor& tokens_BS, PlainCache& cache) const {
    return forward(tokens_BS, &cache, nullptr, -1);
  }
  /// Tokens after those of the cache, which stays as it is: concatenated, as in Fast-dLLM's prefix cache.
  at::Tensor append(const at::Tensor& tokens_BW, const PlainCache& cache) const {
    return forward(tokens_BW, nullptr, &cache, -1);
  }
  /// Tokens in the place of those from `begin` on, as in Fast-dLLM's dual cache.
  at::Tensor replace(const at::Tensor& tokens_BW, PlainCache& cache, std::int64_t begin) const {
    return forward(tokens_BW, &cache, &cache, begin);
  }

 private:
  at::Tensor forward(const at::Tensor& tokens_BS, PlainCache* keep, const PlainCache* past, std::int64_t begin) const;
  at::Tensor weight(const std::string& name) const { return weights_.at("model.transformer." + name + ".weight"); }
  /// x W^T and what an adapter adds, as peft computes it.
  at::Tensor projected(const at::Tensor& x, const std::string& name) const;

  UpdateShape shape_;
  double adapter_scale_;
  std::map<std::string, at::Tensor> weights_;
};

}  // namespace drift::bench
