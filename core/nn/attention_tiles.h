#pragma once

// Attention within blocks, without a mask of all pairs. From what says which keys a query sees (ForwardInput), tiles
// are planned once for a forward: some adjacent queries, and the few ranges of keys that they see. The products of a
// tile are large, and only where borders of blocks cut it has it a bias.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace drift::nn {

/// What decides which keys each place of a row sees. On the CPU.
struct BlockStructure {
  at::Tensor block_BS, copy_BS, text_BS;  ///< as in ForwardInput; copy_BS and text_BS may be undefined
  at::Tensor key_mask_BS;                 ///< bool, false: no key; undefined: all are. Before the first key is padding
};

/// The blocks of `size` tokens of S places, counted from the first that is not hidden: `padding_B` (int64, on the CPU)
/// places of a row are.
at::Tensor blocks_of_places(const at::Tensor& padding_B, std::int64_t places, std::int64_t size);

/// Adjacent places [first, end).
struct PlaceRange {
  std::int64_t first = 0, end = 0;
  bool operator==(const PlaceRange&) const = default;
};

/// Adjacent queries of one or several rows, and all keys that one of them sees.
struct AttentionTile {
  PlaceRange rows, queries;
  std::vector<PlaceRange> keys;  ///< a column of the scores for each, in this order
  std::int64_t columns = 0;
  at::Tensor bias;  ///< [queries, 1, C]: 0 or -infinity, added to the last C columns; undefined: every query sees all
};

struct AttentionTiles {
  at::ScalarType type = at::kFloat;  ///< of products and scores
  std::int64_t queries = 0;          ///< of a row
  std::int64_t most_pairs = 0;       ///< of a tile: queries * columns
  std::int64_t rows_together = 1;    ///< so many rows' scores of a tile may be in memory
  std::vector<AttentionTile> tiles;  ///< queries in no tile see nothing
};

/// What the sizes of tiles depend on.
struct TileShape {
  std::int64_t heads = 0, head_dimension = 0;
  at::ScalarType type = at::kFloat;  ///< of queries, keys and values
  at::Device device = at::kCPU;
};

/// The tiles of rows of Q queries each: query q of row b is the place begin_B[b] + q (undefined: q) of the structure.
std::shared_ptr<const AttentionTiles> plan_tiles(const BlockStructure& structure, const at::Tensor& begin_B,
                                                 std::int64_t queries, const TileShape& shape);

/// attention() with these tiles. Queries that see nothing get 0. The backward computes the probabilities again, so
/// that only queries, keys and values are kept. Gradients of keys and values are summed in float32 at least.
at::Tensor tiled_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const std::shared_ptr<const AttentionTiles>& tiles);

}  // namespace drift::nn
