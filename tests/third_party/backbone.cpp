// Every position sees its own token, its place from the end, and the tokens of all places: enough to copy and to
// reverse.
#include "lab.h"

#include <drift/error.h>
#include <drift/model.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace {

class PlaceNet final : public drift::Model {
 public:
  PlaceNet(const drift::ModelConfig& config, const drift::Params&) {
    const auto json = nlohmann::json::parse(config.config_json, nullptr, /*allow_exceptions=*/false);
    const auto number = [&](const char* key) {
      if (!json.is_object() || !json.contains(key) || !json[key].is_number_integer())
        throw drift::Error(std::string("config.json has no integer `") + key + "`");
      return json[key].get<std::int64_t>();
    };
    traits_.family = "PlaceNet";
    traits_.vocabulary_size = number("vocab_size");
    traits_.hidden_size = number("hidden_size");
    traits_.layers = 1;
    traits_.context_length = number("context_length");
    traits_.mask_id = number("mask_token_id");
    traits_.pad_id = number("pad_token_id");
    traits_.end_id = number("eos_token_id");
    traits_.forbidden_output_ids = {{traits_.mask_id, traits_.mask_id + 1}};
    const auto parameter = [&](at::IntArrayRef sizes) {
      return at::empty(sizes, at::TensorOptions(config.dtype).device(config.device)).set_requires_grad(true);
    };
    const std::int64_t V = traits_.vocabulary_size, H = traits_.hidden_size, S = traits_.context_length;
    embedding_VH_ = parameter({V, H});
    place_SH_ = parameter({S, H});
    mix_SHH_ = parameter({S * H, H});
    out_HH_ = parameter({H, H});
    head_VH_ = parameter({V, H});
  }

  const drift::ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return head_VH_.device(); }
  at::ScalarType dtype() const override { return head_VH_.scalar_type(); }
  at::Tensor lm_head_VH() const override { return head_VH_; }

  at::Tensor forward(const drift::ForwardInput& in) const override {
    const std::int64_t B = in.tokens_BS.size(0), S = in.tokens_BS.size(1), H = traits_.hidden_size;
    const std::int64_t free = traits_.context_length - S;
    if (free < 0) throw drift::Error("a sequence is longer than " + std::to_string(traits_.context_length) + " tokens");
    auto token_BSH = at::embedding(embedding_VH_, in.tokens_BS);
    if (in.key_mask_BS.defined()) token_BSH = token_BSH * in.key_mask_BS.unsqueeze(2);
    // Places count from the end, so that padding on the left moves none.
    auto all_BCH = at::zeros({B, traits_.context_length, H}, token_BSH.options());
    all_BCH = all_BCH.slice_scatter(token_BSH, 1, free);
    const auto text_BH = all_BCH.reshape({B, -1}).matmul(mix_SHH_);
    const auto x_BSH = token_BSH + place_SH_.narrow(0, free, S).unsqueeze(0) + text_BH.unsqueeze(1);
    const auto y_NH = at::linear(at::gelu(x_BSH), out_HH_).reshape({-1, H});
    return at::layer_norm(in.rows_N.defined() ? y_NH.index_select(0, in.rows_N) : y_NH, {H});
  }

  std::vector<drift::NamedTensor> parameters() const override {
    return {{"embedding.weight", embedding_VH_},
            {"place.weight", place_SH_},
            {"mix.weight", mix_SHH_},
            {"out.weight", out_HH_},
            {"head.weight", head_VH_}};
  }

  void initialize(const drift::RandomStream& random) override {
    for (const auto& [name, tensor] : parameters()) {
      const auto values = at::empty(tensor.sizes(), at::kFloat);
      const double bound = std::sqrt(3.0 / static_cast<double>(tensor.size(-1)));
      const auto draws = random.child(name);
      for (std::int64_t i = 0; i < values.numel(); ++i)
        values.data_ptr<float>()[i] = static_cast<float>(bound * (2 * draws.uniform({0, 0, i, 0}) - 1));
      tensor.copy_(values);
    }
  }

  std::int64_t training_bytes_per_row(std::int64_t sequence) const override {
    return 10 * (sequence + traits_.context_length) * traits_.hidden_size *
           static_cast<std::int64_t>(head_VH_.element_size());
  }

 private:
  drift::ModelTraits traits_;
  at::Tensor embedding_VH_, place_SH_, mix_SHH_, out_HH_, head_VH_;
};

}  // namespace

void register_backbone(drift::Registry& registry) {
  registry.add<PlaceNet>("lab", "One hidden layer over the tokens of all places.");
}
