#pragma once

// Compute everything once, for a prompt that four responses share, then only the block that is being written:
//
//     const auto of_prompt = policy.make_cache(/*rows=*/1, /*positions=*/P + L);
//     policy.logits(first_forward, {of_prompt.get(), &everything});
//     const auto cache = of_prompt->select(at::zeros({4}, at::kLong));
//     drift::CacheWindow window;
//     window.begin_B = block_begin_B;  // each response where it is
//     const auto sampled = policy.sample(block_forward, {cache.get(), &window}, row_M, uniform_M, options);

#include <drift/export.h>
#include <drift/model.h>
#include <drift/reserved.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace drift {

/// Keys and values of every layer for some rows of positions, from earlier forwards. The model defines the layout. Use
/// a cache with the model that made it, from one thread at a time.
class DRIFT_API KeyValueCache {
 public:
  KeyValueCache() = default;
  KeyValueCache(const KeyValueCache&) = delete;
  KeyValueCache& operator=(const KeyValueCache&) = delete;
  virtual ~KeyValueCache() = default;

  /// Of its keys and values.
  virtual std::int64_t bytes() const = 0;

  /// A new cache whose row r is a copy of row `row_R[r]` (int64, on the cache's device). Finished rows can be left out,
  /// and a row can be taken several times.
  virtual std::unique_ptr<KeyValueCache> select(const at::Tensor& row_R) const = 0;
};

/// Which positions a forward computes, and which it attends to. Row b of the input is row b of the cache.
struct CacheWindow {
  at::Tensor begin_B;          ///< int64: the W tokens of row b are the positions [begin, begin + W)
  at::Tensor attended_B = {};  ///< int64: queries attend to positions [0, attended); undefined: to all
  at::Tensor key_mask_BS =
      {};  ///< bool, over the cache's positions: false = padding that no query attends to; undefined: none
  Reserved<at::Tensor, 4> reserved_tensors = {};
  Reserved<std::int64_t, 4> reserved_numbers = {};
};

/// A cache and the window of a forward. Without a cache the entire sequence is computed.
struct ForwardCache {
  KeyValueCache* cache = nullptr;
  const CacheWindow* window = nullptr;
};

/// Capability of a model that computes a window of positions with cached keys and values.
class DRIFT_API CachedForward {
 public:
  virtual ~CachedForward() = default;

  virtual std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const = 0;

  /// Hidden states of the W tokens of each row. Their keys and values replace those in the cache, then the tokens
  /// attend according to `window`. `input.tokens_BS` is [B, W], and `input.rows_N` are indices into it; the window's
  /// key mask is used, not the input's. With begin 0 and all tokens this is Model::forward and fills the cache. A
  /// prefix cache begins where the block starts and computes everything after it; a horizon lowers `attended` to the
  /// block's end; a dual cache computes only the block and attends to everything. No gradients.
  virtual at::Tensor forward_window(const ForwardInput& input, const CacheWindow& window,
                                    KeyValueCache& cache) const = 0;
};

}  // namespace drift
