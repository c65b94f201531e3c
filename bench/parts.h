#pragma once

#include "bench/bare_model.h"
#include "bench/measure.h"

#include <core/nn/transformer.h>

#include <ATen/core/Tensor.h>

namespace drift::bench {

/// The parts of a transformer's forward that are not products, each run alone on tensors of the right sizes; with
/// gradients enabled also its backward.
class Parts {
 public:
  explicit Parts(const ModelShape& shape, std::int64_t sequence, std::int64_t largest_forward_tokens);

  /// A case for each part, which runs it for every forward of `work`.
  std::vector<Case> cases(const Work& work) const;

 private:
  void attention(const ForwardSize& size) const;  // as the model computes it, change of order included
  void norms(const ForwardSize& size) const;
  void rotary(const ForwardSize& size) const;
  void swiglu(const ForwardSize& size) const;
  void residuals(const ForwardSize& size) const;
  void embedding(const ForwardSize& size) const;  // and the selection of rows in the last layer
  at::Tensor rows(const at::Tensor& values, std::int64_t count) const;
  std::int64_t rows_after_attention(const ForwardSize& size, std::int64_t layer) const;
  static void backward(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs);

  ModelShape shape_;
  nn::RotaryTable table_;
  at::Tensor hidden_, inner_, weight_H_, embedding_VH_, tokens_, wanted_;
};

}  // namespace drift::bench
