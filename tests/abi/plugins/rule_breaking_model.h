#pragma once

// The model among the components that each break one rule: with a cache and with adapters.

#include "rule_breaker.h"

#include <drift/cached_forward.h>
#include <drift/error.h>
#include <drift/model.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <vector>

namespace drift::test {

class OneLayerCache final : public KeyValueCache {
 public:
  OneLayerCache(std::int64_t rows, std::int64_t positions) : state_BSH(at::zeros({rows, positions, 8})) {}
  std::int64_t bytes() const override { return static_cast<std::int64_t>(state_BSH.nbytes()); }
  std::unique_ptr<KeyValueCache> select(const at::Tensor& row_R) const override {
    auto made = std::make_unique<OneLayerCache>(row_R.size(0), state_BSH.size(1));
    made->state_BSH = state_BSH.index_select(0, row_R);
    return made;
  }
  at::Tensor state_BSH;
};

struct Adapter {
  at::Tensor a_RI, b_OR;
};

/// turn(mix(tanh(embedding + mean of the embeddings)))
class BreakingModel final : public Model, public CachedForward, public Adapters, Breaker {
 public:
  BreakingModel(const std::string& what, const ModelConfig& config) : Breaker(what), config_(config) {
    std::erase_if(config_.adapter_json, [](char c) { return c == ' ' || c == '\n'; });
    traits_.family = "breaking";
    traits_.vocabulary_size = 23;
    traits_.hidden_size = 8;
    traits_.layers = 1;
    traits_.context_length = 64;
    traits_.mask_id = 1;
    traits_.pad_id = traits_.end_id = 0;
    traits_.forbidden_output_ids = {{1, 2}};
    if (is("needs a width") && config.config_json == "{}") throw std::out_of_range("key 'width' not found");
    if (is("is too large for meta") && config.device.is_meta()) throw std::bad_alloc();
    const auto options = at::TensorOptions(config.dtype).device(config.device);
    const bool adapts = !config.adapter_json.empty();
    const bool trains = !adapts || is("trains the weights beside the adapters");
    for (at::Tensor* tensor : {&embedding_VH_, &head_VH_, &unused_VH_})
      *tensor = at::zeros({23, 8}, options).set_requires_grad(trains);
    for (std::size_t m = 0; m < modules_.size(); ++m) {
      modules_[m] = at::zeros({8, 8}, options).set_requires_grad(trains);
      if (!adapts || (!names(kModules[m]) && !is("adapts other modules"))) continue;
      adapters_[m] = {at::zeros({2, 8}, options).set_requires_grad(true),
                      at::zeros({8, is("makes a wide adapter") ? 3 : 2}, options).set_requires_grad(true)};
    }
    drops_ = config_.adapter_json.find("\"lora_dropout\":0.5") != std::string::npos;
    if (drops_ && is("refuses dropout")) throw Error("it has no dropout");
  }
  const ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return config_.device; }
  at::ScalarType dtype() const override { return config_.dtype; }
  at::Tensor forward(const ForwardInput& input) const override {
    misbehave();
    auto x_BSH = at::embedding(embedding_VH_, input.tokens_BS);
    if (is("loses a gradient")) {
      const at::NoGradGuard no_gradient;
      lost_BSH_ = x_BSH.clone();
    }
    auto mean_BSH = is("loses a gradient") ? lost_BSH_ : x_BSH;
    if (input.key_mask_BS.defined() && !is("attends to padding")) {
      const auto kept_BS1 = input.key_mask_BS.to(x_BSH.scalar_type()).unsqueeze(2);
      mean_BSH = (mean_BSH * kept_BS1).sum(1, true) / kept_BS1.sum(1, true);
    } else {
      mean_BSH = mean_BSH.mean(1, true);
    }
    if (is("mixes the rows")) mean_BSH = mean_BSH.mean(0, true);
    x_BSH = at::tanh(x_BSH + mean_BSH * static_cast<double>(1 + count()));
    if (is("shares its scratch")) x_BSH = x_BSH * static_cast<double>(shared(calls_++ % 7)) + 0;
    if (is("recomputes something else") && input.recompute_blocks) x_BSH = x_BSH * 2;
    if (is("is coarse in bfloat16") && config_.dtype == at::kBFloat16) x_BSH = x_BSH.round();
    const auto x = turned(x_BSH, input).reshape({-1, 8});
    if (is("sorts the rows") && input.rows_N.defined()) return x.index_select(0, std::get<0>(input.rows_N.sort()));
    return input.rows_N.defined() ? x.index_select(0, input.rows_N) : x;
  }
  at::Tensor lm_head_VH() const override { return head_VH_; }
  std::vector<NamedTensor> parameters() const override {
    std::vector<NamedTensor> all = {{"embedding", embedding_VH_}, {"head", head_VH_}};
    for (std::size_t m = 0; m < modules_.size(); ++m)
      all.push_back({std::string(kModules[m]) + ".weight", modules_[m]});
    if (!is("forgets to name its adapters")) {
      for (const NamedTensor& adapter : adapter_parameters()) all.push_back(adapter);
    }
    if (is("leaves a parameter unused")) all.push_back({"unused", unused_VH_});
    return all;
  }
  void initialize(const RandomStream& random) override {
    const at::NoGradGuard no_gradient;
    for (const NamedTensor& parameter : parameters()) {
      auto tensor = parameter.tensor;
      for (std::int64_t i = 0; i < tensor.numel(); ++i)
        tensor.view({-1})[i] = 2 * random.child(parameter.name).uniform({0, 0, i, 0}) - 1;
    }
  }
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override { return sequence * 8 * 32; }
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override {
    return std::make_unique<OneLayerCache>(rows, positions);
  }
  at::Tensor forward_window(const ForwardInput& input, const CacheWindow& window, KeyValueCache& cache) const override {
    auto& state_BSH = static_cast<OneLayerCache&>(cache).state_BSH;
    const auto x_BWH = at::embedding(embedding_VH_, input.tokens_BS);
    const auto place_BW = window.begin_B.unsqueeze(1) + at::arange(input.tokens_BS.size(1), at::kLong);
    if (is("forgets its cache")) state_BSH = at::zeros_like(state_BSH);
    state_BSH = state_BSH.scatter(1, place_BW.unsqueeze(2).expand({-1, -1, 8}), x_BWH);
    return turned(at::tanh(x_BWH + state_BSH.mean(1, true)), input).reshape({-1, 8});
  }
  std::vector<NamedTensor> adapter_parameters() const override {
    std::vector<NamedTensor> all;
    for (std::size_t m = 0; m < modules_.size(); ++m) {
      if (!adapters_[m].a_RI.defined()) continue;
      all.push_back({std::string(kModules[m]) + ".lora_A.weight", adapters_[m].a_RI});
      all.push_back({std::string(kModules[m]) + ".lora_B.weight", adapters_[m].b_OR});
    }
    return all;
  }

 private:
  static constexpr std::array<const char*, 2> kModules = {"mix", "turn"};

  bool names(const std::string& module) const {
    const std::string& json = config_.adapter_json;
    return json.find("\"target_modules\":[]") != std::string::npos ||
           json.find('"' + module + '"') != std::string::npos;
  }

  at::Tensor turned(at::Tensor x_BSH, const ForwardInput& input) const {
    for (std::size_t m = 0; m < modules_.size(); ++m) {
      const auto y_BSH = at::matmul(x_BSH, modules_[m].t());
      const auto& [a_RI, b_OR] = adapters_[m];
      if (!a_RI.defined()) {
        x_BSH = y_BSH;
        continue;
      }
      auto seen_BSH = x_BSH;
      if (drops_ && input.dropout_key_B.defined() && !is("leaves nothing out")) {
        // A function of the key alone, which is enough here.
        const auto from_B = is("draws its dropout") ? input.dropout_key_B + ++calls_ : input.dropout_key_B;
        seen_BSH = seen_BSH * from_B.remainder(7).view({-1, 1, 1});
      }
      auto added_BSH = at::matmul(at::matmul(seen_BSH, a_RI.t()), b_OR.t()) * (is("forgets alpha") ? 1.0 : 3.0);
      if (input.adapted_B.defined() && !is("always adapts"))
        added_BSH = added_BSH * input.adapted_B.to(x_BSH.scalar_type()).view({-1, 1, 1});
      x_BSH = y_BSH + added_BSH;
    }
    return x_BSH;
  }

  ModelConfig config_;
  std::array<at::Tensor, 2> modules_;
  std::array<Adapter, 2> adapters_;
  bool drops_ = false;
  ModelTraits traits_;
  at::Tensor embedding_VH_, head_VH_, unused_VH_;
  mutable at::Tensor lost_BSH_;
  mutable std::int64_t calls_ = 0;
};

}  // namespace drift::test
