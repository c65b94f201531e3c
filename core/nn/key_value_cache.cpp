#include <core/nn/key_value_cache.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <string>

namespace drift::nn {
namespace {

std::string interval(std::int64_t begin, std::int64_t end) {
  return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

}  // namespace

TransformerCache::TransformerCache(std::int64_t layers, std::int64_t rows, std::int64_t key_heads,
                                   std::int64_t positions, std::int64_t dimension, at::TensorOptions options) {
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const auto make = [&] { return at::empty({rows, key_heads, positions, dimension}, options); };
    layers_.push_back({make(), make(), {}, {}});
  }
}

std::int64_t TransformerCache::bytes() const {
  std::size_t sum = 0;
  for (const Layer& layer : layers_) sum += layer.keys_RGSD.nbytes() + layer.values_RGSD.nbytes();
  return static_cast<std::int64_t>(sum);
}

std::unique_ptr<KeyValueCache> TransformerCache::select(const at::Tensor& row_R) const {
  std::unique_ptr<TransformerCache> selected(new TransformerCache);
  for (const Layer& layer : layers_) {
    selected->layers_.push_back({layer.keys_RGSD.index_select(0, row_R), layer.values_RGSD.index_select(0, row_R),
                                 layer.shared_keys, layer.shared_values});
  }
  selected->shared_ = shared_;
  if (shared_ > 0) selected->shared_row_R_ = shared_row_R_.index_select(0, row_R);
  return selected;
}

std::unique_ptr<KeyValueCache> TransformerCache::branch(const at::Tensor& row_R, std::int64_t shared,
                                                        std::int64_t positions) const {
  if (shared < shared_ || shared > this->positions() || positions < shared) {
    throw Error("a cache of " + std::to_string(positions) + " positions cannot share the first " +
                std::to_string(shared) + " of a cache of " + std::to_string(this->positions()) + ", " +
                std::to_string(shared_) + " of them shared");
  }
  std::unique_ptr<TransformerCache> child(new TransformerCache);
  child->shared_ = shared;
  child->shared_row_R_ = row_R;
  CachePlaces up_to_shared;
  up_to_shared.attended = shared;
  for (const Layer& layer : layers_) {
    auto sizes = layer.keys_RGSD.sizes().vec();
    sizes[0] = row_R.size(0);
    sizes[2] = positions - shared;
    const auto make = [&] { return at::empty(sizes, layer.keys_RGSD.options()); };
    child->layers_.push_back({make(), make(), attended(layer.shared_keys, layer.keys_RGSD, up_to_shared),
                              attended(layer.shared_values, layer.values_RGSD, up_to_shared)});
  }
  return child;
}

CachePlaces TransformerCache::places(const CacheWindow& window, std::int64_t tokens) const {
  CachePlaces places;
  const auto& own = layers_.front().keys_RGSD;
  const auto begin_B = window.begin_B.to(own.device());
  places.positions_BW = begin_B.unsqueeze(1) + at::arange(tokens, begin_B.options());
  places.attended = positions();
  at::Tensor attended_B = window.attended_B;
  if (begin_B.is_cpu()) {
    const auto least = begin_B.min().item<std::int64_t>(), most = begin_B.max().item<std::int64_t>();
    const auto last = attended_B.defined() ? attended_B.max().item<std::int64_t>() : positions();
    if (least < shared_ || most + tokens > positions() || last > positions()) {
      throw Error("the window " + interval(least, most + tokens) + " or the attended positions " + interval(0, last) +
                  " are outside the cache's positions " + interval(shared_, positions()));
    }
    if (least == most) places.begin = least;
    places.attended = last;
    if (attended_B.defined() && attended_B.min().item<std::int64_t>() == last) attended_B = at::Tensor();
  }
  if (window.key_mask_BS.defined()) places.key_mask_BS = window.key_mask_BS.narrow(1, 0, places.attended);
  if (attended_B.defined()) {
    const auto within = at::arange(places.attended, begin_B.options()) < attended_B.to(own.device()).unsqueeze(1);
    places.key_mask_BS = places.key_mask_BS.defined() ? places.key_mask_BS & within : within;
  }
  return places;
}

void TransformerCache::write(const at::Tensor& kept, const at::Tensor& computed, const CachePlaces& places) const {
  if (places.begin >= 0) {
    kept.narrow(2, places.begin - shared_, computed.size(2)).copy_(computed);
    return;
  }
  const auto own = (places.positions_BW - shared_).view({computed.size(0), 1, computed.size(2), 1});
  kept.scatter_(2, own.expand(computed.sizes()), computed);
}

at::Tensor TransformerCache::attended(const at::Tensor& shared, const at::Tensor& own,
                                      const CachePlaces& places) const {
  const auto own_part = own.narrow(2, 0, std::max<std::int64_t>(0, places.attended - shared_));
  if (!shared.defined()) return own_part;
  const auto shared_part = shared.narrow(2, 0, std::min(shared_, places.attended)).index_select(0, shared_row_R_);
  return at::cat({shared_part, own_part}, 2);
}

std::pair<at::Tensor, at::Tensor> TransformerCache::update(std::size_t layer, const at::Tensor& keys,
                                                           const at::Tensor& values, const CachePlaces& places) {
  Layer& kept = layers_[layer];
  write(kept.keys_RGSD, keys, places);
  write(kept.values_RGSD, values, places);
  return {attended(kept.shared_keys, kept.keys_RGSD, places), attended(kept.shared_values, kept.values_RGSD, places)};
}

}  // namespace drift::nn
