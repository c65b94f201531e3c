#include "bench/bare_model.h"

#include <drift/parallel.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>

#include <cmath>

namespace drift::bench {
namespace {

/// [B, heads, S, D] as [B * heads, S, D].
at::Tensor flat(const at::Tensor& t) { return t.reshape({t.size(0) * t.size(1), t.size(2), t.size(3)}); }

double scale(const at::Tensor& q) { return 1.0 / std::sqrt(static_cast<double>(q.size(3))); }

at::Tensor probabilities(const at::Tensor& q, const at::Tensor& k) {
  return at::softmax(at::baddbmm(at::empty({1, 1, 1}, q.options()), flat(q), flat(k).transpose(1, 2), 0, scale(q)), -1);
}

/// The tensor's elements as [rows, width], without a copy.
at::Tensor as_rows(const at::Tensor& t, std::int64_t rows) {
  const auto dense = t.is_contiguous() ? t : t.transpose(1, 2);
  return dense.is_contiguous() ? dense.view({rows, -1}) : dense.reshape({rows, -1});
}

}  // namespace

void for_each_forward(const Work& work, const std::function<void(std::size_t, std::size_t)>& body) {
  const auto lists = static_cast<std::int64_t>(work.size());
  parallel_rows(lists, lists, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (auto list = static_cast<std::size_t>(begin); list < static_cast<std::size_t>(end); ++list) {
      for (std::size_t i = 0; i < work[list].size(); ++i) body(list, i);
    }
  });
}

void for_each_forward(const Work& work, const std::function<void(const ForwardSize&)>& body) {
  for_each_forward(work, [&](std::size_t list, std::size_t i) { body(work[list][i]); });
}

at::Tensor three_calls_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return at::bmm(probabilities(q, k), flat(v)).view(q.sizes());
}

at::Tensor random_weight(std::int64_t out, std::int64_t in, at::ScalarType type) {
  return at::randn({out, in}).div_(std::sqrt(static_cast<double>(in))).to(type);
}

BareModel::BareModel(const ModelShape& shape, std::int64_t largest_forward_tokens) : shape_(shape) {
  const auto weight = [&](std::int64_t out, std::int64_t in) { return random_weight(out, in, shape.type); };
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    layers_.push_back({.q = weight(shape.hidden, shape.hidden),
                       .k = weight(shape.hidden, shape.hidden),
                       .v = weight(shape.hidden, shape.hidden),
                       .out = weight(shape.hidden, shape.hidden),
                       .gate = weight(shape.inner, shape.hidden),
                       .up = weight(shape.inner, shape.hidden),
                       .down = weight(shape.hidden, shape.inner)});
  }
  if (shape.vocabulary > 0) head_ = weight(shape.vocabulary, shape.hidden);
  values_ = at::randn({largest_forward_tokens, shape.hidden}).to(shape.type);
}

// The products' outputs are read in their memory order: changing the order is not part of a product.
at::Tensor BareModel::attend(Kept& kept, const ForwardSize& size, Attention attention, bool keep) const {
  if (attention == Attention::kNone) return kept.v;
  const auto heads_first = [&](const at::Tensor& t) {
    return t.view({size.sequences, shape_.heads, size.tokens, shape_.dimension()});
  };
  const auto q = heads_first(kept.q), k = heads_first(kept.k), v = heads_first(kept.v);
  if (attention == Attention::kThreeCalls) {
    kept.probabilities = probabilities(q, k);
    kept.attended = at::bmm(kept.probabilities, flat(v)).view(q.sizes());
  } else if (keep) {
    std::tie(kept.attended, kept.probabilities) = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v);
  } else {
    kept.attended = at::scaled_dot_product_attention(q, k, v);
  }
  return as_rows(kept.attended, size.sequences * size.tokens);
}

at::Tensor BareModel::layer_forward(const Layer& layer, const at::Tensor& x, const ForwardSize& size, bool is_last,
                                    Attention attention, Kept* kept) const {
  Kept own;
  Kept& here = kept != nullptr ? *kept : own;
  here.x = x;
  here.q = at::mm(x, layer.q.t());
  here.k = at::mm(x, layer.k.t());
  here.v = at::mm(x, layer.v.t());
  const auto attended = attend(here, size, attention, kept != nullptr);
  here.attended_rows = is_last ? attended.narrow(0, 0, size.rows) : attended;
  here.middle = at::mm(here.attended_rows, layer.out.t());
  const auto gate = at::mm(here.middle, layer.gate.t());
  here.up = at::mm(here.middle, layer.up.t());
  return at::mm(here.up, layer.down.t());
}

at::Tensor BareModel::layers(const ForwardSize& size, Attention attention) const {
  auto x = values_.narrow(0, 0, size.sequences * size.tokens);
  for (std::size_t l = 0; l < layers_.size(); ++l)
    x = layer_forward(layers_[l], x, size, l + 1 == layers_.size(), attention, nullptr);
  return x;
}

void BareModel::forward(const ForwardSize& size, Attention attention) const {
  const auto hidden = layers(size, attention);
  if (head_.defined()) at::mm(hidden, head_.t());
}

void BareModel::attention_backward(const Kept& kept, const at::Tensor& gradient, Attention attention, at::Tensor& dq,
                                   at::Tensor& dk, at::Tensor& dv) const {
  const auto sizes = kept.attended.sizes();
  const auto heads_first = [&](const at::Tensor& t) { return t.view(sizes); };
  const auto q = heads_first(kept.q), k = heads_first(kept.k), v = heads_first(kept.v);
  if (attention == Attention::kThreeCalls) {
    const auto d_out = flat(heads_first(gradient));
    dv = at::bmm(kept.probabilities.transpose(1, 2), d_out);
    const auto d_scores = at::_softmax_backward_data(at::bmm(d_out, flat(v).transpose(1, 2)), kept.probabilities, -1,
                                                     kept.probabilities.scalar_type());
    const auto none = at::empty({1, 1, 1}, q.options());
    dq = at::baddbmm(none, d_scores, flat(k), 0, scale(q));
    dk = at::baddbmm(none, d_scores.transpose(1, 2), flat(q), 0, scale(q));
  } else {
    std::tie(dq, dk, dv) = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        heads_first(gradient), q, k, v, kept.attended, kept.probabilities, 0.0, false);
  }
}

at::Tensor BareModel::layer_backward(const Layer& layer, const at::Tensor& gradient, const ForwardSize& size,
                                     bool is_last, Attention attention, const Kept& kept) const {
  // d y of every product y = x w^T has a gradient by x and by w.
  const auto backward = [](const at::Tensor& dy, const at::Tensor& x, const at::Tensor& w) {
    at::mm(dy.t(), x);
    return at::mm(dy, w);
  };
  const std::int64_t rows = size.sequences * size.tokens;
  const auto d_inner = backward(gradient, kept.up, layer.down);
  backward(d_inner, kept.middle, layer.gate);
  const auto d_middle = backward(d_inner, kept.middle, layer.up);
  auto d_attended = backward(d_middle, kept.attended_rows, layer.out);
  if (is_last) d_attended = values_.narrow(0, 0, rows);
  at::Tensor dq = d_attended, dk = d_attended, dv = d_attended;
  if (attention != Attention::kNone) attention_backward(kept, d_attended, attention, dq, dk, dv);
  backward(as_rows(dk, rows), kept.x, layer.k);
  backward(as_rows(dv, rows), kept.x, layer.v);
  return backward(as_rows(dq, rows), kept.x, layer.q);
}

void BareModel::forward_backward(const ForwardSize& size, Attention attention) const {
  auto x = values_.narrow(0, 0, size.sequences * size.tokens);
  std::vector<Kept> kept(layers_.size());
  for (std::size_t l = 0; l < layers_.size(); ++l)
    x = layer_forward(layers_[l], x, size, l + 1 == layers_.size(), attention, &kept[l]);
  auto gradient = x;
  if (head_.defined()) {
    const auto logits = at::mm(x, head_.t());
    at::mm(logits.t(), x);
    gradient = at::mm(logits, head_);
  }
  for (std::size_t l = layers_.size(); l-- > 0;)
    gradient = layer_backward(layers_[l], gradient, size, l + 1 == layers_.size(), attention, kept[l]);
}

}  // namespace drift::bench
