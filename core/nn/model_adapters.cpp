#include <core/nn/model_adapters.h>

#include <core/nn/dropout.h>

#include <drift/error.h>
#include <drift/random.h>

#include <ATen/ops/any.h>
#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>

namespace drift::nn {
AdapterMaker::AdapterMaker(const ModelConfig& config) : device_(config.device) {
  if (config.adapter_json.empty()) return;
  try {
    const auto json = nlohmann::json::parse(config.adapter_json);
    rank_ = json.at("r").get<std::int64_t>();
    scale_ = json.at("lora_alpha").get<double>() / static_cast<double>(rank_);
    dropout_ = json.at("lora_dropout").get<double>();
    json.at("target_modules").get_to(modules_);
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("ModelConfig::adapter_json is not an adapter's description: ") + error.what());
  }
  if (rank_ < 1) throw Error("an adapter's rank is " + std::to_string(rank_));
}

void AdapterMaker::add_to(Projection& projection, std::string_view weight_name) const {
  const auto module = module_of(weight_name);
  if (!is_needed() || (!modules_.empty() && !modules_.contains(module))) return;
  const auto options = at::TensorOptions(projection.weight.scalar_type()).device(device_);
  projection.adapter.a = at::empty({rank_, projection.weight.size(1)}, options).set_requires_grad(true);
  projection.adapter.b = at::empty({projection.weight.size(0), rank_}, options).set_requires_grad(true);
  projection.adapter.scale = scale_;
  projection.adapter.dropout = dropout_;
  projection.adapter.stream = RandomStream(0, module).key();
}

std::string_view module_of(std::string_view weight_name) {
  constexpr std::string_view kEnding = ".weight";
  return weight_name.ends_with(kEnding) ? weight_name.substr(0, weight_name.size() - kEnding.size()) : weight_name;
}

AdapterUse adapter_use(const ForwardInput& input, at::ScalarType type) {
  const std::int64_t rows = input.tokens_BS.size(0), sequence = input.tokens_BS.size(1);
  AdapterUse use;
  if (input.adapted_B.defined()) {
    use.on = input.adapted_B.any().item<bool>();
    const auto adapted_B = input.adapted_B.to(input.tokens_BS.device(), type);
    if (use.on) use.adapted_M1 = adapted_B.unsqueeze(1).expand({rows, sequence}).reshape({-1, 1});
  }
  if (input.dropout_key_B.defined()) {
    const auto side = input.copy_BS.defined() ? PaddedOn::kRight : PaddedOn::kLeft;  // rows of noisy blocks differ
    use.dropout_key_M = token_keys(input.dropout_key_B, sequence, side);
  }
  return use;
}

}  // namespace drift::nn
