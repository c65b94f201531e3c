#include <core/kernels/one_thread_products.h>
#include <core/kernels/transformer_ops.h>
#include <core/nn/attention_tiles.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

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
  return places_first.to(type).reshape({x.size(0), key_heads, -1, x.size(3)}).contiguous();
}

/// Of x [B, G, N, D] a part [R * G, n, D].
at::Tensor part(const at::Tensor& x, const PlaceRange& rows, std::int64_t first, std::int64_t count) {
  return x.narrow(0, rows.first, rows.end - rows.first).narrow(2, first, count).flatten(0, 1);
}

at::Tensor part(const at::Tensor& x, const PlaceRange& rows, const PlaceRange& keys) {
  return part(x, rows, keys.first, keys.end - keys.first);
}

/// oneDNN, which multiplies bfloat16 on the CPU, copies what is not contiguous, turned matrices slowly.
bool is_of_onednn(const at::Tensor& x) { return x.is_cpu() && x.scalar_type() == at::kBFloat16; }

/// The products of a tile. Keys and values [B, G, S, D], contiguous.
class TileProducts {
 public:
  TileProducts(const AttentionTile& tile, const PlaceRange& rows, const at::Tensor& k, const at::Tensor& v,
               std::int64_t queries_a_place)
      : tile_(tile),
        rows_(rows),
        k_(seen(k)),
        v_(seen(v)),
        queries_a_place_(queries_a_place),
        scale_(1.0 / std::sqrt(static_cast<double>(k.size(3)))) {}

  at::Tensor queries_of(const at::Tensor& x) const {
    return part(x, rows_, tile_.queries.first * queries_a_place_, count());
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
    kernels::softmax_(here);
    return here;
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

  /// Parts [R * G, n, D] of keys or values, whose places are columns of the scores one after the other.
  using Parts = std::vector<at::Tensor>;

  Parts ranges_of(const at::Tensor& x) const {
    Parts parts;
    for (const PlaceRange& range : tile_.keys) parts.push_back(part(x, rows_, range));
    return parts;
  }

  /// What the products read.
  Parts seen(const at::Tensor& x) const { return is_of_onednn(x) ? Parts{at::cat(ranges_of(x), 1)} : ranges_of(x); }

  /// each(part, column, columns)
  template <class Each>
  static void for_each_part(const Parts& parts, const Each& each) {
    std::int64_t column = 0;
    for (const at::Tensor& part : parts) {
      each(part, column, part.size(1));
      column += part.size(1);
    }
  }

  /// scale * x keys^T, for all keys.
  at::Tensor times(const at::Tensor& x, const Parts& keys, const at::Tensor& memory, double scale) const {
    constexpr std::int64_t kFewKeys = 256;  // a batch of small products is faster in memory of its own
    auto all = memory.narrow(0, 0, x.size(0) * count() * tile_.columns).view({x.size(0), count(), tile_.columns});
    for_each_part(keys, [&](const at::Tensor& part, std::int64_t column, std::int64_t columns) {
      const auto turned = part.transpose(1, 2);
      auto own = all.narrow(2, column, columns);
      if (x.size(0) == 1 || columns == tile_.columns || columns > kFewKeys) {
        at::baddbmm_out(own, own, x, turned, /*beta=*/0, scale);
      } else {
        own.copy_(at::baddbmm(at::empty({1, 1, 1}, x.options()), x, turned, /*beta=*/0, scale));
      }
    });
    return all;
  }

  /// scale * weights x, over all keys.
  at::Tensor combined(const at::Tensor& weights, const Parts& x, double scale) const {
    at::Tensor sum = at::empty({weights.size(0), count(), x.front().size(2)}, weights.options());
    double kept = 0;
    for_each_part(x, [&](const at::Tensor& part, std::int64_t column, std::int64_t columns) {
      at::baddbmm_out(sum, sum, weights.narrow(2, column, columns), part, kept, scale);
      kept = 1;
    });
    return sum;
  }

  /// Each range of `sum` gets scale * weights^T x.
  void add_to(const at::Tensor& sum, const at::Tensor& weights, const at::Tensor& x, double scale) const {
    for_each_part(ranges_of(sum), [&](const at::Tensor& own, std::int64_t column, std::int64_t columns) {
      const auto turned = weights.narrow(2, column, columns).transpose(1, 2);
      if (own.scalar_type() == x.scalar_type()) {
        own.baddbmm_(turned, x, 1, scale);
      } else {
        own.add_(at::bmm(turned, x), scale);
      }
    });
  }

  const AttentionTile& tile_;
  PlaceRange rows_;
  Parts k_, v_;
  std::int64_t queries_a_place_;
  double scale_;
};

/// Of a forward, or of its backward: [B, G, N, D]. Queries and what belongs to them are grouped.
struct Operands {
  at::Tensor q, k, v, out, gradient, dq, dk, dv;

  /// Of one row and one key head.
  Operands of(std::int64_t row, std::int64_t head) const {
    const auto one = [&](const at::Tensor& x) {
      return x.defined() ? x.narrow(0, row, 1).narrow(1, head, 1) : at::Tensor();
    };
    return {one(q), one(k), one(v), one(out), one(gradient), one(dq), one(dk), one(dv)};
  }
};

/// What is computed of these rows of the batch, which the operands have, and of as many heads as they have.
void run_tiles(const AttentionTiles& tiles, const Operands& x, const PlaceRange& rows, std::int64_t queries_a_place) {
  const std::int64_t most = tiles.most_pairs * (rows.end - rows.first) * x.q.size(1) * queries_a_place;
  const auto scores = at::empty({most}, x.q.options());
  const auto further_scores = x.gradient.defined() ? at::empty_like(scores) : scores;
  for (const AttentionTile& tile : tiles.tiles) {
    const PlaceRange own{std::max(tile.rows.first, rows.first) - rows.first,
                         std::min(tile.rows.end, rows.end) - rows.first};
    if (own.first >= own.end) continue;
    const TileProducts products(tile, own, x.k, x.v, queries_a_place);
    const auto q = products.queries_of(x.q);
    const auto probabilities = products.probabilities(q, scores);
    if (x.gradient.defined()) {
      products.queries_of(x.dq).copy_(
          products.backward(q, probabilities, products.queries_of(x.gradient), further_scores, x.dk, x.dv));
    } else {
      products.queries_of(x.out).copy_(products.output(probabilities));
    }
  }
}

/// Whether a thread does all of one row and one head, in its own cache; else all threads do each product of all.
bool has_a_thread_a_head(const AttentionTiles& tiles, const Operands& x) {
  constexpr std::int64_t kLargeProduct = 1 << 19;
  const std::int64_t heads = x.q.size(0) * x.q.size(1);
  if (!x.q.is_cpu() || is_of_onednn(x.q) || heads == 1 || 2 * heads < at::get_num_threads()) return false;
  const std::int64_t queries_a_place = x.q.size(2) / tiles.queries;
  return tiles.most_pairs * queries_a_place * x.q.size(3) >= kLargeProduct;
}

void run_tiles(const AttentionTiles& tiles, const Operands& x) {
  const std::int64_t batch = x.q.size(0), heads = x.q.size(1), queries_a_place = x.q.size(2) / tiles.queries;
  if (!has_a_thread_a_head(tiles, x)) {
    for (std::int64_t first = 0; first < batch; first += tiles.rows_together) {
      const PlaceRange rows{first, std::min(first + tiles.rows_together, batch)};
      Operands of_rows = x;
      for (auto* one : {&of_rows.q, &of_rows.k, &of_rows.v, &of_rows.out, &of_rows.gradient, &of_rows.dq, &of_rows.dk,
                        &of_rows.dv}) {
        if (one->defined()) *one = one->narrow(0, rows.first, rows.end - rows.first);
      }
      run_tiles(tiles, of_rows, rows, queries_a_place);
    }
    return;
  }
  at::parallel_for(0, batch * heads, 1, [&](std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_gradient;
    const at::AutoDispatchBelowADInplaceOrView without_graph;
    const kernels::OneThreadProducts one_thread;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / heads;
      run_tiles(tiles, x.of(row, i % heads), {row, row + 1}, queries_a_place);
    }
  });
}

struct TiledAttention : torch::autograd::Function<TiledAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Tiles& tiles) {
    context->save_for_backward({q, k, v});
    context->saved_data["tiles"] = c10::IValue::make_capsule(c10::make_intrusive<TilesHolder>(tiles));
    Operands x = operands(q, k, v, *tiles);
    x.out = at::zeros_like(x.q);
    run_tiles(*tiles, x);
    const std::int64_t batch = q.size(0), heads = q.size(1), queries = q.size(2), key_heads = k.size(1);
    return x.out.view({batch, key_heads, queries, heads / key_heads, -1})
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
    Operands x = operands(q, k, v, tiles);
    x.gradient = grouped(gradients[0].reshape({batch, queries, heads, -1}).transpose(1, 2), key_heads, tiles.type);
    x.dq = at::zeros_like(x.q);
    const auto sums = x.k.options().dtype(tiles.type == at::kDouble ? at::kDouble : at::kFloat);
    x.dk = at::zeros(k.sizes(), sums);
    x.dv = at::zeros(v.sizes(), sums);
    run_tiles(tiles, x);
    const auto dq = x.dq.view({batch, key_heads, queries, heads / key_heads, -1}).transpose(2, 3).flatten(1, 2);
    return {dq.to(q.scalar_type()), x.dk.to(k.scalar_type()), x.dv.to(v.scalar_type()), at::Tensor()};
  }

 private:
  static Operands operands(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionTiles& tiles) {
    return {grouped(q, k.size(1), tiles.type), k.to(tiles.type).contiguous(), v.to(tiles.type).contiguous()};
  }
};

}  // namespace

at::Tensor tiled_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Tiles& tiles) {
  return TiledAttention::apply(q, k, v, tiles);
}

}  // namespace drift::nn
