#pragma once

#include <drift/cached_forward.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace drift::nn {

/// The places of one forward's tokens in a cache, the same for every layer.
struct CachePlaces {
  std::int64_t begin = -1;    ///< of every row, if that is known without asking the device; else -1
  at::Tensor positions_BW;    ///< int64, where begin is -1
  std::int64_t attended = 0;  ///< keys [0, attended) are handed to the attention
};

/// Keys and values of a transformer's layers. G key heads of dimension D.
class TransformerCache final : public KeyValueCache {
 public:
  struct Layer {
    at::Tensor keys_RGSD, values_RGSD;  ///< keys are rotated
  };

  /// Empty, for a model of `layers` layers.
  /// @param zeros  places that no forward has computed may be attended to, with a weight of 0: they hold numbers
  TransformerCache(std::int64_t layers, std::int64_t rows, std::int64_t key_heads, std::int64_t positions,
                   std::int64_t dimension, at::TensorOptions options, bool zeros = false);

  std::int64_t bytes() const override;
  std::unique_ptr<KeyValueCache> select(const at::Tensor& row_R) const override;

  std::int64_t positions() const { return layers_.front().keys_RGSD.size(2); }

  /// What the window's tensors of the host say; of those on a device only the shapes are used, for the host does not
  /// wait. @throws Error if the window of `tokens` tokens a row lies outside
  CachePlaces places(const CacheWindow& window, std::int64_t tokens) const;

  /// Which of these keys each row attends to: bool, undefined for all.
  at::Tensor key_mask(const CacheWindow& window, const CachePlaces& places) const;

  /// Keep the window's keys and values [R, G, W, D], and return what its queries attend to.
  std::pair<at::Tensor, at::Tensor> update(std::size_t layer, const at::Tensor& keys, const at::Tensor& values,
                                           const CachePlaces& places);

 private:
  TransformerCache() = default;

  std::vector<Layer> layers_;
};

}  // namespace drift::nn
