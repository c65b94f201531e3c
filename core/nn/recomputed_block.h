#pragma once

#include <core/nn/transformer.h>

namespace drift::nn {

/// transformer_block() that keeps its input for the backward and recomputes the block in the backward. The same values,
/// and the same gradients: the second forward is the first one bit for bit.
at::Tensor recomputed_block(const at::Tensor& x, const BlockWeights& weights, const BlockShape& shape,
                            const RotaryTable& rotary, const AttentionMask& attention_mask, const at::Tensor& rows_N,
                            const AdapterUse& adapters = {});

}  // namespace drift::nn
