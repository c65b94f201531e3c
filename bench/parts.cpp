#include "bench/parts.h"

#include <core/kernels/transformer_ops.h>
#include <core/nn/attention.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

namespace drift::bench {

Parts::Parts(const ModelShape& shape, std::int64_t sequence, std::int64_t largest_forward_tokens)
    : shape_(shape),
      table_(sequence, shape.dimension(), 10000.0, at::kFloat),
      hidden_(at::randn({largest_forward_tokens, shape.hidden}).to(shape.type)),
      inner_(at::randn({largest_forward_tokens, shape.inner}).to(shape.type)),
      weight_H_(at::randn({shape.hidden}).to(shape.type).set_requires_grad(true)),
      embedding_VH_(at::randn({shape.vocabulary, shape.hidden}).to(shape.type).set_requires_grad(true)),
      tokens_(at::arange(largest_forward_tokens, at::kLong).remainder(std::max<std::int64_t>(1, shape.vocabulary))),
      wanted_(at::arange(largest_forward_tokens, at::kLong)) {}

std::vector<Case> Parts::cases(const Work& work) const {
  const auto part = [&](const std::string& name, void (Parts::*run)(const ForwardSize&) const) {
    return Case{"  " + name,
                [&, run] { for_each_forward(work, [&](const ForwardSize& size) { (this->*run)(size); }); }};
  };
  std::vector<Case> all{part("attention", &Parts::attention), part("norms", &Parts::norms),
                        part("rotary angles", &Parts::rotary), part("SwiGLU", &Parts::swiglu),
                        part("residuals", &Parts::residuals)};
  if (shape_.vocabulary > 0) all.push_back(part("embedding, selection of rows", &Parts::embedding));
  return all;
}

at::Tensor Parts::rows(const at::Tensor& values, std::int64_t count) const {
  const auto some = values.narrow(0, 0, count);
  return at::GradMode::is_enabled() ? some.detach().set_requires_grad(true) : some;
}

std::int64_t Parts::rows_after_attention(const ForwardSize& size, std::int64_t layer) const {
  return layer + 1 == shape_.layers ? size.rows : size.sequences * size.tokens;
}

// One call for all layers: the engine's own start-up is not the part's.
void Parts::backward(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) {
  if (!at::GradMode::is_enabled()) return;
  std::vector<at::Tensor> gradients;
  for (const auto& output : outputs) gradients.push_back(output.detach());
  torch::autograd::grad(outputs, inputs, gradients);
}

void Parts::attention(const ForwardSize& size) const {
  std::vector<at::Tensor> outputs, inputs;
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    const auto heads_first = [&] {
      inputs.push_back(rows(hidden_, size.sequences * size.tokens));
      return inputs.back().view({size.sequences, shape_.heads, size.tokens, shape_.dimension()});
    };
    const auto q = heads_first(), k = heads_first();
    inputs.push_back(rows(hidden_, size.sequences * size.tokens));
    const auto v = inputs.back().view({size.sequences, size.tokens, shape_.heads, shape_.dimension()}).transpose(1, 2);
    outputs.push_back(nn::attention(q, k, v, {}));
  }
  backward(outputs, inputs);
}

void Parts::norms(const ForwardSize& size) const {
  std::vector<at::Tensor> outputs, inputs{weight_H_};
  const auto norm = [&](std::int64_t count) {
    inputs.push_back(rows(hidden_, count));
    outputs.push_back(kernels::rms_norm(inputs.back(), weight_H_, 1e-5));
  };
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    norm(size.sequences * size.tokens);
    norm(rows_after_attention(size, layer));
  }
  if (shape_.vocabulary > 0) norm(size.rows);
  backward(outputs, inputs);
}

void Parts::rotary(const ForwardSize& size) const {
  std::vector<at::Tensor> outputs, inputs;
  for (std::int64_t i = 0; i < 2 * shape_.layers; ++i) {
    inputs.push_back(rows(hidden_, size.sequences * size.tokens));
    outputs.push_back(kernels::rotate_heads(inputs.back(), table_.cosine_SD2, table_.sine_SD2, shape_.heads));
  }
  backward(outputs, inputs);
}

void Parts::swiglu(const ForwardSize& size) const {
  std::vector<at::Tensor> outputs, inputs;
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    const auto gate = rows(inner_, rows_after_attention(size, layer)), up = rows(inner_, gate.size(0));
    inputs.insert(inputs.end(), {gate, up});
    outputs.push_back(kernels::swiglu(gate, up));
  }
  backward(outputs, inputs);
}

void Parts::embedding(const ForwardSize& size) const {
  const auto embedded = at::embedding(embedding_VH_, tokens_.narrow(0, 0, size.sequences * size.tokens));
  const auto wanted = wanted_.narrow(0, 0, size.rows);
  backward({embedded.index_select(0, wanted), embedded.index_select(0, wanted)}, {embedding_VH_});
}

// A sum in the forward; in the backward the sum of the two gradients that meet.
void Parts::residuals(const ForwardSize& size) const {
  std::vector<at::Tensor> outputs, inputs;
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    for (int i = 0; i < 2; ++i) {
      inputs.push_back(rows(hidden_, rows_after_attention(size, layer)));
      outputs.push_back(inputs.back() + inputs.back().view_as(inputs.back()));
    }
  }
  backward(outputs, inputs);
}

}  // namespace drift::bench
