#pragma once

#include <drift/model.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift {

/// Responses that fill their length: at most `margin` of the L positions are padding or were never committed. They
/// were, most likely, cut off.
/// @param valid_BL  Trajectories::valid_BL.
/// @return bool [B].
at::Tensor fills_its_length(const at::Tensor& valid_BL, std::int64_t margin);

/// Responses that hold neither an end nor a padding token: they end because their positions did.
/// @return bool [B].
at::Tensor never_ends(const at::Tensor& tokens_BL, const ModelTraits& traits);

}  // namespace drift
