// A backbone without attention: dilated convolutions over the whole sequence, left and right.
#include <drift/error.h>
#include <drift/model.h>
#include <drift/plugin.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kTaps = 3;

struct Block {
  at::Tensor norm_H, taps_HHT, out_HH;
  at::Tensor adapter_a_RH, adapter_b_HR;  // undefined: none
};

/// What ModelConfig::adapter_json asks for: adapters on some modules, or on all.
struct WantedAdapters {
  explicit WantedAdapters(const std::string& text) {
    if (text.empty()) return;
    const auto json = nlohmann::json::parse(text);
    json.at("r").get_to(rank);
    scale = json.at("lora_alpha").get<double>() / static_cast<double>(rank);
    json.at("target_modules").get_to(modules);
    if (json.at("lora_dropout").get<double>() > 0)
      throw drift::Error("convnet's adapters have no dropout", "adapter.dropout = 0.0");
  }
  bool include(const std::string& module) const { return rank > 0 && (modules.empty() || modules.contains(module)); }

  std::int64_t rank = 0;
  double scale = 0;
  std::set<std::string> modules;
};

/// Block l sees 2^l positions to either side: six blocks see 63. What padding holds reaches no other position.
class ConvNet final : public drift::Model, public drift::Adapters {
 public:
  ConvNet(const drift::ModelConfig& config, const drift::Parameters&) {
    const auto json = nlohmann::json::parse(config.config_json, nullptr, /*allow_exceptions=*/false);
    const auto number = [&](const char* key) {
      if (!json.is_object() || !json.contains(key) || !json[key].is_number_integer())
        throw drift::Error(std::string("config.json has no integer `") + key + "`", "start/config.json has all keys");
      return json[key].get<std::int64_t>();
    };
    traits_.family = "ConvNet";
    traits_.vocabulary_size = number("vocab_size");
    traits_.hidden_size = number("hidden_size");
    traits_.layers = number("layers");
    traits_.context_length = number("context_length");
    traits_.mask_id = number("mask_token_id");
    traits_.pad_id = number("pad_token_id");
    traits_.end_id = number("eos_token_id");
    traits_.prediction_row = drift::PredictionRow::kSame;
    traits_.forbidden_output_ids = {{traits_.mask_id, traits_.mask_id + 1}};
    if (traits_.layers < 1 || traits_.layers > 16) throw drift::Error("config.json: `layers` must be in [1, 16]");

    // Leaf tensors; those that require gradients are trained. No values yet; `device` may be meta, without memory.
    const WantedAdapters adapters(config.adapter_json);
    adapter_scale_ = adapters.scale;
    const auto leaf = [&](at::IntArrayRef sizes, bool trained) {
      return at::empty(sizes, at::TensorOptions(config.dtype).device(config.device)).set_requires_grad(trained);
    };
    const auto parameter = [&](at::IntArrayRef sizes) { return leaf(sizes, /*trained=*/adapters.rank == 0); };
    const std::int64_t V = traits_.vocabulary_size, H = traits_.hidden_size;
    embedding_VH_ = parameter({V, H});
    for (std::int64_t layer = 0; layer < traits_.layers; ++layer) {
      const bool is_adapted = adapters.include(block_name(blocks_.size()) + "out");
      blocks_.push_back({parameter({H}), parameter({H, H, kTaps}), parameter({H, H}), {}, {}});
      if (!is_adapted) continue;
      blocks_.back().adapter_a_RH = leaf({adapters.rank, H}, true);
      blocks_.back().adapter_b_HR = leaf({H, adapters.rank}, true);
    }
    final_norm_H_ = parameter({H});
    head_VH_ = parameter({V, H});
  }

  const drift::ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return head_VH_.device(); }
  at::ScalarType dtype() const override { return head_VH_.scalar_type(); }
  at::Tensor lm_head_VH() const override { return head_VH_; }

  at::Tensor forward(const drift::ForwardInput& in) const override {
    const std::int64_t H = traits_.hidden_size;
    if (in.tokens_BS.size(1) > traits_.context_length)
      throw drift::Error("a sequence of " + std::to_string(in.tokens_BS.size(1)) + " tokens is longer than " +
                             std::to_string(traits_.context_length),
                         "shorten the prompt or rollout.length");
    auto x_BSH = at::embedding(embedding_VH_, in.tokens_BS);
    std::int64_t dilation = 1;
    for (const Block& block : blocks_) {
      auto y_BSH = at::layer_norm(x_BSH, {H}, block.norm_H);
      // Zeros for padding, as beyond the sequence's ends: a row is the same with and without it.
      if (in.key_mask_BS.defined()) y_BSH = y_BSH * in.key_mask_BS.unsqueeze(2);
      const auto y_BHS = at::conv1d(y_BSH.transpose(1, 2), block.taps_HHT, /*bias=*/{}, /*stride=*/1,
                                    /*padding=*/dilation * (kTaps / 2), dilation);
      const auto z_BSH = at::gelu(y_BHS.transpose(1, 2));
      x_BSH = x_BSH + at::linear(z_BSH, block.out_HH);
      if (block.adapter_a_RH.defined()) x_BSH = x_BSH + adapted(block, z_BSH, in.adapted_B);
      dilation *= 2;
    }
    const auto x_NH = x_BSH.reshape({-1, H});
    return at::layer_norm(in.rows_N.defined() ? x_NH.index_select(0, in.rows_N) : x_NH, {H}, final_norm_H_);
  }

  std::vector<drift::NamedTensor> parameters() const override {
    std::vector<drift::NamedTensor> named{{"embedding.weight", embedding_VH_}};
    for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
      const std::string prefix = block_name(layer);
      named.push_back({prefix + "norm.weight", blocks_[layer].norm_H});
      named.push_back({prefix + "taps.weight", blocks_[layer].taps_HHT});
      named.push_back({prefix + "out.weight", blocks_[layer].out_HH});
    }
    named.push_back({"norm.weight", final_norm_H_});
    named.push_back({"head.weight", head_VH_});
    for (const drift::NamedTensor& adapter : adapter_parameters()) named.push_back(adapter);
    return named;
  }

  std::vector<drift::NamedTensor> adapter_parameters() const override {
    std::vector<drift::NamedTensor> named;
    for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
      if (!blocks_[layer].adapter_a_RH.defined()) continue;
      named.push_back({block_name(layer) + "out.lora_A.weight", blocks_[layer].adapter_a_RH});
      named.push_back({block_name(layer) + "out.lora_B.weight", blocks_[layer].adapter_b_HR});
    }
    return named;
  }

  /// Norms 1; the others uniform, with variance 1 / (inputs of an output). Gradients are off here.
  void initialize(const drift::RandomStream& random) override {
    for (const auto& [name, tensor] : parameters()) {
      if (tensor.dim() == 1) {
        tensor.fill_(1);
        continue;
      }
      const auto values = at::empty(tensor.sizes(), at::kFloat);
      const double bound = std::sqrt(3.0 * static_cast<double>(tensor.size(0)) / static_cast<double>(tensor.numel()));
      const auto draws = random.child(name);
      for (std::int64_t i = 0; i < values.numel(); ++i)
        values.data_ptr<float>()[i] = static_cast<float>(bound * (2 * draws.uniform({0, 0, i, 0}) - 1));
      tensor.copy_(values);
    }
  }

  /// For each block: its input, norm, masked norm, convolution, activation and output, and their copies in rows.
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override {
    return 10 * traits_.layers * sequence * traits_.hidden_size * static_cast<std::int64_t>(head_VH_.element_size());
  }

 private:
  static std::string block_name(std::size_t layer) { return "blocks." + std::to_string(layer) + "."; }

  /// lora_alpha / r B A z; 0 in rows that are to see the weights alone.
  at::Tensor adapted(const Block& block, const at::Tensor& z_BSH, const at::Tensor& adapted_B) const {
    const auto sum_BSH = at::linear(at::linear(z_BSH, block.adapter_a_RH), block.adapter_b_HR) * adapter_scale_;
    if (!adapted_B.defined()) return sum_BSH;
    return sum_BSH * adapted_B.to(sum_BSH.device(), sum_BSH.scalar_type()).view({-1, 1, 1});
  }

  drift::ModelTraits traits_;
  double adapter_scale_ = 0;
  at::Tensor embedding_VH_, final_norm_H_, head_VH_;
  std::vector<Block> blocks_;
};

}  // namespace

DRIFT_PLUGIN("convnet", "1.0.0", "Apache-2.0") {
  registry.add<ConvNet>("convnet", "Dilated convolutions in both directions.");
}
