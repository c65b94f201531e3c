#include <core/nn/packed_weights.h>

#include <drift/error.h>
#include <drift/model.h>

namespace drift::nn {

Packing Packing::of(const ModelConfig& config) {
  const std::string& name = config.quantization;
  if (name.empty()) return {};
  if (name != "nf4" && name != "nf4_single") throw Error("a model cannot be packed as `" + name + "`");
  return {.nf4 = true, .double_quantization = name == "nf4"};
}

}  // namespace drift::nn
