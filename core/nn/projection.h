#pragma once

#include <core/kernels/nf4.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

namespace drift::nn {

/// A low-rank adapter of a projection (LoRA, Hu et al. 2021, arXiv 2106.09685): scale (dropout(x) a^T) b^T is added.
struct LowRank {
  at::Tensor a;  ///< [rank, in]; undefined: no adapter
  at::Tensor b;  ///< [out, rank]
  double scale = 0;
  double dropout = 0;        ///< share of x's elements that training leaves out
  std::uint64_t stream = 0;  ///< the key of this projection's random numbers
};

/// x W^T + bias, and what an adapter adds.
struct Projection {
  std::string name;   ///< of the weight, in the checkpoint
  at::Tensor weight;  ///< [out, in]; undefined: the block has no such projection
  at::Tensor bias;    ///< [out], or undefined
  LowRank adapter;
  std::shared_ptr<const kernels::Nf4> packed;  ///< the values of `weight`, which is then on the meta device; or null
};

/// What a forward of M tokens asks of the adapters.
struct AdapterUse {
  bool on = true;              ///< false: as if there were none
  at::Tensor adapted_M1 = {};  ///< of x's type, 0 where a token sees the weights without adapters; undefined: nowhere
  at::Tensor dropout_key_M = {};  ///< int64, the key of each token's dropout masks; undefined: nothing is left out

  /// The same for some of the tokens (int64 indices; undefined: all).
  AdapterUse select(const at::Tensor& rows_N) const;
};

/// The projection of x [M, in]: [M, out]. If `added_MO` is defined, the projection must have no bias, and this is added
/// in its place: the residual of a block. Where the weight does not require gradients, none is computed for it.
at::Tensor project(const at::Tensor& x_MI, const Projection& projection, const AdapterUse& use,
                   const at::Tensor& added_MO = {});

}  // namespace drift::nn
