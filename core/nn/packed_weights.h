#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace drift {
struct ModelConfig;
}

namespace drift::nn {

/// How the projections of the blocks are held.
struct Packing {
  bool nf4 = false;                 ///< in 4 bits (core/kernels/nf4.h)
  bool double_quantization = true;  ///< of their scales

  /// What ModelConfig::quantization asks for.
  static Packing of(const ModelConfig& config);
};

/// Capability of a model that can hold matrices in fewer bits, if its ModelConfig asks for it. Such matrices are on the
/// meta device in Model::parameters(), and no parameter of the model requires gradients, but those of adapters.
class PackedWeights {
 public:
  virtual ~PackedWeights() = default;

  /// Keep the values of one of them: of its shape and type, contiguous, on the CPU.
  /// @throws Error if the model has no such matrix, or a value is not finite
  virtual void pack(const std::string& name, const at::Tensor& weight) = 0;

  /// How many values are packed, and the bytes that they take; also of a model of shapes.
  virtual std::int64_t packed_values() const = 0;
  virtual std::int64_t packed_bytes() const = 0;
};

}  // namespace drift::nn
