#pragma once

#include <drift/model.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace drift::nn {

/// Capability of a model that computes its blocks one after another, so that the weights of one block at a time are
/// enough: whoever lets go of the others brings each block's before it is computed.
class BlockWeightsOnDemand {
 public:
  virtual ~BlockWeightsOnDemand() = default;

  /// The checkpoint's tensors of one block, which are also in Model::parameters(); the same shapes for each block.
  virtual std::vector<NamedTensor> block_parameters(std::int64_t layer) const = 0;

  /// From now on, `bring(layer)` is called before each block of a forward without gradients, on the forward's thread,
  /// and forwards wait for each other.
  virtual void before_each_block(std::function<void(std::int64_t layer)> bring) = 0;
};

}  // namespace drift::nn
