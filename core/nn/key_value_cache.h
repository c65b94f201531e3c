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
  at::Tensor positions_BW;    ///< int64
  std::int64_t begin = -1;    ///< of every row, if that is known without asking the device; else -1
  std::int64_t attended = 0;  ///< keys [0, attended) are handed to the attention
  at::Tensor key_mask_BS;     ///< bool, over these keys; undefined: all attended to
};

/// Keys and values of a transformer's layers. G key heads of dimension D.
class TransformerCache final : public KeyValueCache {
 public:
  struct Layer {
    at::Tensor keys_RGSD, values_RGSD;  ///< keys are rotated
  };

  /// Empty, for a model of `layers` layers.
  TransformerCache(std::int64_t layers, std::int64_t rows, std::int64_t key_heads, std::int64_t positions,
                   std::int64_t dimension, at::TensorOptions options);

  std::int64_t bytes() const override;
  std::unique_ptr<KeyValueCache> select(const at::Tensor& row_R) const override;

  /// @throws Error if the window of `tokens` tokens a row lies outside. On a device only the shapes are checked, since
  /// the host does not wait for it.
  CachePlaces places(const CacheWindow& window, std::int64_t tokens) const;

  /// Keep the window's keys and values [R, G, W, D], and return what its queries attend to.
  std::pair<at::Tensor, at::Tensor> update(std::size_t layer, const at::Tensor& keys, const at::Tensor& values,
                                           const CachePlaces& places);

 private:
  TransformerCache() = default;

  std::vector<Layer> layers_;
};

}  // namespace drift::nn
