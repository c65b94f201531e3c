#pragma once

#include <core/io/safetensors.h>

#include <drift/model.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace drift {

/// Logits that another program computed for B sequences of S tokens.
struct ReferenceLogits {
  at::Tensor input_ids_BS;
  at::Tensor attention_mask_BS;  ///< bool, false = padding; undefined: none
  at::Tensor compare_mask_BS;    ///< bool, false = a row that says nothing; undefined: every row counts
  at::Tensor logits_BSV;         ///< raw output of the LM head
  at::Tensor rows_R = {};        ///< int64, the positions that `logits_BSV` has; undefined: all S
};

/// Reads a safetensors file with `input_ids`, `logits`, and perhaps `attention_mask`, `compare_mask` and `rows`. Where
/// there is no `compare_mask`, the rows at padding do not count.
/// @throws Error naming the file, the tensor and what was expected.
ReferenceLogits read_reference_logits(const SafetensorsFile& file, const ModelTraits& traits);

/// How far logits are from a reference.
struct LogitComparison {
  std::int64_t rows = 0;          ///< that were compared
  double largest_difference = 0;  ///< infinite if a logit is not finite
  double mean_difference = 0;
  double largest_excess = 0;  ///< of difference over relative_tolerance * |reference|
  double equal_argmax = 0;    ///< share of rows, in [0, 1]
  std::int64_t worst_sequence = 0, worst_position = 0, worst_token = 0;  ///< where the difference is largest
  double worst_value = 0, worst_reference = 0;
  std::string worst_tensor;  ///< of a reference that has several, else empty
};

/// Compare logits that are there. `got_BSV` of any floating-point type.
LogitComparison compare_logits(const at::Tensor& got_BSV, const ReferenceLogits& reference, double relative_tolerance);

/// Compute the model's logits, one sequence after the other and the LM head in parts, and compare them. With `block` a
/// token sees its block of so many tokens and those before it, counted from its sequence's first token; 0: as the
/// model.
LogitComparison check_logits(const Model& model, const ReferenceLogits& reference, double relative_tolerance,
                             std::int64_t block = 0);

/// The forward of a reference that was done in `mode`, one of forward_modes(), with `block` (0: the model's).
/// @throws Error if the mode needs blocks, and there are none
LogitComparison check_forward(const Model& model, const SafetensorsFile& file, const std::string& mode,
                              std::int64_t block, double relative_tolerance);

}  // namespace drift
