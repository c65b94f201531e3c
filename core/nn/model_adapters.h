#pragma once

#include <drift/model.h>

#include <core/nn/projection.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace drift::nn {

/// Makes the adapters that ModelConfig::adapter_json asks for: PEFT's adapter_config.json, of which `r`, `lora_alpha`,
/// `lora_dropout` and `target_modules` are read. Modules are named in full; an empty list stands for all of them.
class AdapterMaker {
 public:
  /// @throws Error if there is such a text, and it is not what the core writes.
  explicit AdapterMaker(const ModelConfig& config);

  /// Whether there are adapters, and the model's weights are frozen.
  bool is_needed() const { return rank_ > 0; }

  /// Gives the projection with this weight its adapter, if it is to have one.
  void add_to(Projection& projection, std::string_view weight_name) const;

 private:
  at::Device device_ = at::kCPU;  // also where weights are packed, which leaves them on the meta device
  std::int64_t rank_ = 0;
  double scale_ = 0, dropout_ = 0;
  std::set<std::string, std::less<>> modules_;
};

/// "model.layers.0.mlp.up_proj" of "model.layers.0.mlp.up_proj.weight".
std::string_view module_of(std::string_view weight_name);

/// How the rows of a forward of `sequence` tokens each see adapters of this type.
AdapterUse adapter_use(const ForwardInput& input, at::ScalarType type);

}  // namespace drift::nn
