#include <core/nn/key_value_cache.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/all.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <string>

namespace drift::nn {
namespace {

std::string interval(std::int64_t begin, std::int64_t end) {
  return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

void write(const at::Tensor& kept, const at::Tensor& computed, const CachePlaces& places) {
  if (places.begin >= 0) {
    kept.narrow(2, places.begin, computed.size(2)).copy_(computed);
    return;
  }
  const auto own = places.positions_BW.view({computed.size(0), 1, computed.size(2), 1});
  kept.scatter_(2, own.expand(computed.sizes()), computed);
}

}  // namespace

TransformerCache::TransformerCache(std::int64_t layers, std::int64_t rows, std::int64_t key_heads,
                                   std::int64_t positions, std::int64_t dimension, at::TensorOptions options,
                                   bool zeros) {
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const auto make = [&] {
      const auto made = at::empty({rows, key_heads, positions, dimension}, options);
      return zeros ? made.zero_() : made;
    };
    layers_.push_back({make(), make()});
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
    selected->layers_.push_back({layer.keys_RGSD.index_select(0, row_R), layer.values_RGSD.index_select(0, row_R)});
  }
  return selected;
}

CachePlaces TransformerCache::places(const CacheWindow& window, std::int64_t tokens) const {
  CachePlaces places;
  const auto& keys_RGSD = layers_.front().keys_RGSD;
  const std::int64_t positions = keys_RGSD.size(2);
  const auto &begin_B = window.begin_B, &attended_B = window.attended_B;
  const auto least = [](const at::Tensor& of) { return of.min().item<std::int64_t>(); };
  const auto most = [](const at::Tensor& of) { return of.max().item<std::int64_t>(); };
  places.attended = attended_B.defined() && attended_B.is_cpu() ? most(attended_B) : positions;
  if (begin_B.is_cpu()) {
    const auto first = least(begin_B), last = most(begin_B);
    if (first < 0 || last + tokens > positions || places.attended > positions) {
      throw Error("the window " + interval(first, last + tokens) + " or the attended positions " +
                  interval(0, places.attended) + " are outside the cache's positions " + interval(0, positions));
    }
    if (first == last) places.begin = first;
  }
  if (places.begin < 0) {
    const auto begin_there_B = begin_B.to(keys_RGSD.device(), at::kLong, /*non_blocking=*/true);
    places.positions_BW = begin_there_B.unsqueeze(1) + at::arange(tokens, begin_there_B.options());
  }
  return places;
}

at::Tensor TransformerCache::key_mask(const CacheWindow& window, const CachePlaces& places) const {
  at::Tensor mask_BS;
  if (window.key_mask_BS.defined()) mask_BS = window.key_mask_BS.narrow(1, 0, places.attended);
  const auto& attended_B = window.attended_B;
  if (!attended_B.defined() || (attended_B.is_cpu() && attended_B.eq(places.attended).all().item<bool>()))
    return mask_BS;
  const auto attended_there_B = attended_B.to(layers_.front().keys_RGSD.device(), at::kLong, /*non_blocking=*/true);
  const auto within_BS = at::arange(places.attended, attended_there_B.options()) < attended_there_B.unsqueeze(1);
  return mask_BS.defined() ? mask_BS & within_BS : within_BS;
}

std::pair<at::Tensor, at::Tensor> TransformerCache::update(std::size_t layer, const at::Tensor& keys,
                                                           const at::Tensor& values, const CachePlaces& places) {
  Layer& kept = layers_[layer];
  write(kept.keys_RGSD, keys, places);
  write(kept.values_RGSD, values, places);
  return {kept.keys_RGSD.narrow(2, 0, places.attended), kept.values_RGSD.narrow(2, 0, places.attended)};
}

}  // namespace drift::nn
