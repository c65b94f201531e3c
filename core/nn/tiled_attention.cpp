#include <core/nn/attention_tiles.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <utility>

namespace drift::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tiles = std::shared_ptr<const AttentionTiles>;

struct TilesHolder final : torch::CustomClassHolder {
  explicit TilesHolder(Tiles given) : tiles(std::move(given)) {}
  Tiles tiles;
};

/// Queries as those of their key head, those of a place beside each other: [B, heads, Q, D] -> [B, G, Q * heads / G,
/// D].
at::Tensor grouped(const at::Tensor& x, std::int64_t key_heads, at::ScalarType type) {
  const auto places_first = x.unflatten(1, {key_heads, x.size(1) / key_heads}).transpose(2, 3);
  return places_first.to(type).reshape({x.size(0), key_heads, -1, x.size(3)});
}

/// Of x [B, G, N, D] a part [R * G, n, D].
at::Tensor part(const at::Tensor& x, const PlaceRange& rows, std::int64_t first, std::int64_t count) {
  return x.narrow(0, rows.first, rows.end - rows.first).narrow(2, first, count).flatten(0, 1);
}

at::Tensor part(const at::Tensor& x, const PlaceRange& rows, const PlaceRange& keys) {
  return part(x, rows, keys.first, keys.end - keys.first);
}

/// The products of a tile. Keys and values [B, G, S, D], contiguous.
class TileProducts {
 public:
  TileProducts(const AttentionTile& tile, const at::Tensor& k, const at::Tensor& v, std::int64_t queries_a_place)
      : tile_(tile),
        k_(k),
        v_(v),
        queries_a_place_(queries_a_place),
        scale_(1.0 / std::sqrt(static_cast<double>(k.size(3)))) {}

  at::Tensor queries_of(const at::Tensor& x) const {
    return part(x, tile_.rows, tile_.queries.first * queries_a_place_, count());
  }

  /// Softmax of the scores, in the memory of `scores`.
  at::Tensor probabilities(const at::Tensor& q, const at::Tensor& scores) const {
    auto here = times(q, k_, scores, scale_);
    if (tile_.bias.defined()) {
      const std::int64_t cut = tile_.bias.size(2);
      here.view({here.size(0), -1, queries_a_place_, tile_.columns})
          .narrow(3, tile_.columns - cut, cut)
          .add_(tile_.bias);
    }
    return at::_softmax_out(here, here, -1, false);
  }

  at::Tensor output(const at::Tensor& probabilities) const { return combined(probabilities, v_, 1); }

  /// @return the gradient of q; those of keys and values are added to dk and dv.
  at::Tensor backward(const at::Tensor& q, const at::Tensor& probabilities, const at::Tensor& gradient,
                      const at::Tensor& scores, const at::Tensor& dk, const at::Tensor& dv) const {
    add_to(dv, probabilities, gradient, 1);
    auto ds = times(gradient, v_, scores, 1);
    at::_softmax_backward_data_out(ds, ds, probabilities, -1, ds.scalar_type());
    add_to(dk, ds, q, scale_);
    return combined(ds, k_, scale_);
  }

 private:
  std::int64_t count() const { return (tile_.queries.end - tile_.queries.first) * queries_a_place_; }

  /// each(range, columns): the columns of a range of keys, among all.
  template <class Each>
  void for_each_range(const Each& each) const {
    std::int64_t column = 0;
    for (const PlaceRange& range : tile_.keys) {
      each(range, column, range.end - range.first);
      column += range.end - range.first;
    }
  }

  /// scale * x keys^T, for the keys of all ranges.
  at::Tensor times(const at::Tensor& x, const at::Tensor& keys, const at::Tensor& memory, double scale) const {
    constexpr std::int64_t kFewKeys = 256;  // a batch of small products is faster in memory of its own
    auto all = memory.narrow(0, 0, x.size(0) * count() * tile_.columns).view({x.size(0), count(), tile_.columns});
    for_each_range([&](const PlaceRange& range, std::int64_t column, std::int64_t columns) {
      const auto turned = part(keys, tile_.rows, range).transpose(1, 2);
      auto own = all.narrow(2, column, columns);
      if (columns == tile_.columns || columns > kFewKeys) {
        at::baddbmm_out(own, own, x, turned, /*beta=*/0, scale);
      } else {
        own.copy_(at::baddbmm(at::empty({1, 1, 1}, x.options()), x, turned, /*beta=*/0, scale));
      }
    });
    return all;
  }

  /// scale * weights x, over the keys of all ranges.
  at::Tensor combined(const at::Tensor& weights, const at::Tensor& x, double scale) const {
    at::Tensor sum = at::empty({weights.size(0), count(), x.size(3)}, x.options());
    double kept = 0;
    for_each_range([&](const PlaceRange& range, std::int64_t column, std::int64_t columns) {
      at::baddbmm_out(sum, sum, weights.narrow(2, column, columns), part(x, tile_.rows, range), kept, scale);
      kept = 1;
    });
    return sum;
  }

  /// Each range of `sum` gets scale * weights^T x.
  void add_to(const at::Tensor& sum, const at::Tensor& weights, const at::Tensor& x, double scale) const {
    for_each_range([&](const PlaceRange& range, std::int64_t column, std::int64_t columns) {
      auto own = part(sum, tile_.rows, range);
      const auto turned = weights.narrow(2, column, columns).transpose(1, 2);
      if (own.scalar_type() == x.scalar_type()) {
        own.baddbmm_(turned, x, 1, scale);
      } else {
        own.add_(at::bmm(turned, x), scale);
      }
    });
  }

  const AttentionTile& tile_;
  const at::Tensor &k_, &v_;
  std::int64_t queries_a_place_;
  double scale_;
};

struct TiledAttention : torch::autograd::Function<TiledAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Tiles& tiles) {
    context->save_for_backward({q, k, v});
    context->saved_data["tiles"] = c10::IValue::make_capsule(c10::make_intrusive<TilesHolder>(tiles));
    const std::int64_t batch = q.size(0), heads = q.size(1), queries = q.size(2), key_heads = k.size(1);
    const auto own_q = grouped(q, key_heads, tiles->type);
    const auto own_k = k.to(tiles->type).contiguous(), own_v = v.to(tiles->type).contiguous();
    const auto out = at::zeros_like(own_q);
    const auto scores = at::empty({tiles->most_scores}, own_q.options());
    for (const AttentionTile& tile : tiles->tiles) {
      const TileProducts products(tile, own_k, own_v, heads / key_heads);
      products.queries_of(out).copy_(products.output(products.probabilities(products.queries_of(own_q), scores)));
    }
    return out.view({batch, key_heads, queries, heads / key_heads, -1})
        .transpose(1, 2)
        .reshape({batch * queries, -1})
        .to(q.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &q = saved[0], &k = saved[1], &v = saved[2];
    const auto capsule = context->saved_data["tiles"].toCapsule();
    const auto& tiles = *static_cast<const TilesHolder&>(*capsule).tiles;
    const std::int64_t batch = q.size(0), heads = q.size(1), queries = q.size(2), key_heads = k.size(1);
    const auto own_q = grouped(q, key_heads, tiles.type);
    const auto own_k = k.to(tiles.type).contiguous(), own_v = v.to(tiles.type).contiguous();
    const auto gradient =
        grouped(gradients[0].reshape({batch, queries, heads, -1}).transpose(1, 2), key_heads, tiles.type);
    const auto dq = at::zeros_like(own_q);
    const auto sums = own_k.options().dtype(tiles.type == at::kDouble ? at::kDouble : at::kFloat);
    const auto dk = at::zeros(own_k.sizes(), sums), dv = at::zeros(own_v.sizes(), sums);
    const auto scores = at::empty({tiles.most_scores}, own_q.options()), further_scores = at::empty_like(scores);
    for (const AttentionTile& tile : tiles.tiles) {
      const TileProducts products(tile, own_k, own_v, heads / key_heads);
      const auto tile_q = products.queries_of(own_q);
      const auto probabilities = products.probabilities(tile_q, scores);
      products.queries_of(dq).copy_(
          products.backward(tile_q, probabilities, products.queries_of(gradient), further_scores, dk, dv));
    }
    const auto ungrouped = dq.view({batch, key_heads, queries, heads / key_heads, -1}).transpose(2, 3).flatten(1, 2);
    return {ungrouped.to(q.scalar_type()), dk.to(k.scalar_type()), dv.to(v.scalar_type()), at::Tensor()};
  }
};

}  // namespace

at::Tensor tiled_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Tiles& tiles) {
  return TiledAttention::apply(q, k, v, tiles);
}

}  // namespace drift::nn
