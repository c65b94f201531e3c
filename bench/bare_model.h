#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace drift::bench {

/// What decides the size of every product of one forward.
struct ForwardSize {
  std::int64_t sequences = 0;  ///< B
  std::int64_t tokens = 0;     ///< S, of each
  std::int64_t rows = 0;       ///< N, hidden rows that are wanted: all that the last layer computes after attention
};
/// What each thread runs, in order.
using Work = std::vector<std::vector<ForwardSize>>;

/// Call `body(size)` for each forward, the lists of different threads at the same time, as parallel_rows() does it.
void for_each_forward(const Work& work, const std::function<void(const ForwardSize&)>& body);
/// The same for `body(list, i)`, for work that needs more than the sizes.
void for_each_forward(const Work& work, const std::function<void(std::size_t, std::size_t)>& body);

struct ModelShape {
  std::int64_t layers = 0, hidden = 0, heads = 0, inner = 0;
  std::int64_t vocabulary = 0;  ///< 0: a stack of layers, without embedding, last norm and LM head
  at::ScalarType type = at::kFloat;
  std::int64_t dimension() const { return hidden / heads; }
};

enum class Attention {
  kNone,
  kScaledDotProduct,  ///< at::scaled_dot_product_attention (its CPU kernel by name if a backward is needed)
  kThreeCalls,        ///< product, softmax, product
};

/// Attention without a mask as three plain calls. q, k, v [B, heads, S, D], contiguous. @return [B, heads, S, D].
at::Tensor three_calls_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

/// As many weights as a linear layer has, of a size that keeps its outputs' size.
at::Tensor random_weight(std::int64_t out, std::int64_t in, at::ScalarType type);

/// The matrix products and attentions of a transformer of this shape and nothing else: no norm, no rotary angle, no
/// activation function, no residual, no copy. Random weights; the numbers mean nothing.
class BareModel {
 public:
  explicit BareModel(const ModelShape& shape, std::int64_t largest_forward_tokens);

  /// Every product of the layers. @return what the LM head reads, [N, H].
  at::Tensor layers(const ForwardSize& size, Attention attention) const;
  /// Those, and the LM head.
  void forward(const ForwardSize& size, Attention attention) const;
  /// The same, then for every product y = x w^T the two of its backward, and the attention's backward.
  void forward_backward(const ForwardSize& size, Attention attention) const;

 private:
  struct Layer {
    at::Tensor q, k, v, out, gate, up, down;
  };
  struct Kept {
    at::Tensor x, q, k, v, attended, probabilities, attended_rows, middle, up;
  };

  at::Tensor attend(Kept& kept, const ForwardSize& size, Attention attention, bool keep) const;
  at::Tensor layer_forward(const Layer& layer, const at::Tensor& x, const ForwardSize& size, bool is_last,
                           Attention attention, Kept* kept) const;
  at::Tensor layer_backward(const Layer& layer, const at::Tensor& gradient, const ForwardSize& size, bool is_last,
                            Attention attention, const Kept& kept) const;
  void attention_backward(const Kept& kept, const at::Tensor& gradient, Attention attention, at::Tensor& dq,
                          at::Tensor& dk, at::Tensor& dv) const;

  ModelShape shape_;
  std::vector<Layer> layers_;
  at::Tensor head_;
  at::Tensor values_;  // [tokens, H], what first layers read
};

}  // namespace drift::bench
