#pragma once

#include <drift/model.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace drift::nn {

/// Where the weights of a model's blocks come from, if they are not all in memory. Forwards wait for each other; each
/// asks for every block in turn, on its own thread.
class BlockSource {
 public:
  virtual ~BlockSource() = default;

  virtual void begin_forward() {}
  /// The weights of this block are read next, those of the one before it no more.
  virtual void bring(std::int64_t layer) = 0;
  /// The same in a backward, which asks for blocks from the last one down to the first that has a gradient.
  virtual void bring_back(std::int64_t layer) = 0;
};

/// Capability of a model that computes its blocks one after another, so that the weights of one block at a time are
/// enough: whoever lets go of the others brings each block's before it is computed.
class BlockWeightsOnDemand {
 public:
  virtual ~BlockWeightsOnDemand() = default;

  /// The checkpoint's tensors of one block, which are also in Model::parameters(); blocks may have different ones.
  virtual std::vector<NamedTensor> block_parameters(std::int64_t layer) const = 0;

  /// The first block that a backward reaches: those before it, and all that they read, are frozen.
  virtual std::int64_t first_block_with_gradient() const = 0;

  /// From now on the source is asked for each block of each forward, and of its backward.
  virtual void take_blocks_from(std::shared_ptr<BlockSource> source) = 0;
  /// Null: all blocks are in memory.
  virtual BlockSource* block_source() const = 0;
};

}  // namespace drift::nn
