#include <core/boundary/guarded.h>

#include <core/boundary/checks.h>
#include <core/boundary/guard.h>
#include <core/boundary/lent.h>
#include <core/nn/block_weights.h>
#include <core/nn/packed_weights.h>

#include <drift/cached_forward.h>

#include <ATen/core/grad_mode.h>

namespace drift {
namespace {

/// A model's cache in the hands of a rollout: what fails in it is the model's fault.
class GuardedCache final : public KeyValueCache {
 public:
  GuardedCache(std::unique_ptr<KeyValueCache> plugin, const Callee& callee)
      : plugin_(std::move(plugin)), callee_(callee) {}
  ~GuardedCache() override {
    in_plugin(callee_, "cache, destructor", [&] { plugin_.reset(); });
  }

  std::int64_t bytes() const override {
    return in_plugin(callee_, "cache, bytes", [&] { return plugin_->bytes(); });
  }
  std::unique_ptr<KeyValueCache> select(const at::Tensor& row_R) const override {
    auto selected = in_plugin(callee_, "cache, select", [&] {
      auto made = plugin_->select(row_R);
      if (!made) throw Error("it made no cache");
      return made;
    });
    return std::make_unique<GuardedCache>(std::move(selected), callee_);
  }

  KeyValueCache& plugin() { return *plugin_; }

 private:
  std::unique_ptr<KeyValueCache> plugin_;
  const Callee& callee_;
};

class GuardedModel final : public Guard<Model>,
                           public CachedForward,
                           public BlockAttention,
                           public Adapters,
                           public nn::BlockWeightsOnDemand,
                           public nn::PackedWeights {
 public:
  GuardedModel(std::unique_ptr<Model> plugin, const Callee& callee, const ModelConfig& config)
      : Guard(std::move(plugin), callee) {
    call("constructor", [&] {
      traits_ = plugin_->traits();
      device_ = plugin_->device();
      dtype_ = plugin_->dtype();
      check_model(*plugin_, config);
    });
  }

  bool has_capability(const std::type_info& capability) const override {
    return (capability == typeid(CachedForward) && has<CachedForward>()) ||
           (capability == typeid(BlockAttention) && has<BlockAttention>()) ||
           (capability == typeid(Adapters) && has<Adapters>()) ||
           (capability == typeid(nn::BlockWeightsOnDemand) && has<nn::BlockWeightsOnDemand>()) ||
           (capability == typeid(nn::PackedWeights) && has<nn::PackedWeights>());
  }

  const ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return device_; }
  at::ScalarType dtype() const override { return dtype_; }

  at::Tensor forward(const ForwardInput& input) const override {
    return compute("forward", input, [&] { return plugin_->forward(input); });
  }
  at::Tensor lm_head_VH() const override {
    return call("lm_head_VH", [&] { return plugin_->lm_head_VH(); });
  }
  std::vector<NamedTensor> parameters() const override {
    return call("parameters", [&] { return plugin_->parameters(); });
  }
  void initialize(const RandomStream& random) override {
    call("initialize", [&] {
      const at::NoGradGuard no_gradient;
      spoil_parameters(*plugin_);
      plugin_->initialize(random);
      check_initialized(*plugin_);
    });
  }
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override {
    return call("training_bytes_per_row", [&] {
      const std::int64_t bytes = plugin_->training_bytes_per_row(sequence);
      if (bytes < 1) throw Error("a row of " + std::to_string(sequence) + " tokens takes no memory");
      return bytes;
    });
  }

  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override {
    return std::make_unique<GuardedCache>(call("make_cache",
                                               [&] {
                                                 auto cache = as<CachedForward>().make_cache(rows, positions);
                                                 if (!cache) throw Error("it made no cache");
                                                 return cache;
                                               }),
                                          callee());
  }
  at::Tensor forward_window(const ForwardInput& input, const CacheWindow& window, KeyValueCache& cache) const override {
    auto* guarded = dynamic_cast<GuardedCache*>(&cache);
    if (guarded == nullptr) throw Error("the cache is not one that the policy made", "ask Policy::make_cache() for it");
    return compute("forward_window", input,
                   [&] { return as<CachedForward>().forward_window(input, window, guarded->plugin()); });
  }
  std::vector<NamedTensor> adapter_parameters() const override {
    return call("adapter_parameters", [&] { return as<Adapters>().adapter_parameters(); });
  }
  std::vector<NamedTensor> block_parameters(std::int64_t layer) const override {
    return call("block_parameters", [&] { return as<nn::BlockWeightsOnDemand>().block_parameters(layer); });
  }
  std::int64_t first_block_with_gradient() const override {
    return call("first_block_with_gradient",
                [&] { return as<nn::BlockWeightsOnDemand>().first_block_with_gradient(); });
  }
  void take_blocks_from(std::shared_ptr<nn::BlockSource> source) override {
    call("take_blocks_from", [&] { as<nn::BlockWeightsOnDemand>().take_blocks_from(std::move(source)); });
  }
  nn::BlockSource* block_source() const override {
    return call("block_source", [&] { return as<nn::BlockWeightsOnDemand>().block_source(); });
  }
  void pack(const std::string& name, const at::Tensor& weight) override {
    call("pack", [&] { as<nn::PackedWeights>().pack(name, weight); });
  }
  std::int64_t packed_values() const override {
    return call("packed_values", [&] { return as<nn::PackedWeights>().packed_values(); });
  }
  std::int64_t packed_bytes() const override {
    return call("packed_bytes", [&] { return as<nn::PackedWeights>().packed_bytes(); });
  }

 private:
  template <class Body>
  at::Tensor compute(const char* method, const ForwardInput& input, const Body& body) const {
    return call(method, [&] {
      Lent lent(Lent::By::kVersion);
      lent.add("tokens_BS", input.tokens_BS);
      lent.add("key_mask_BS", input.key_mask_BS);
      lent.add("rows_N", input.rows_N);
      at::Tensor hidden_NH = body();
      lent.check();
      check_hidden(hidden_NH, input.rows_N.defined() ? input.rows_N.size(0) : input.tokens_BS.numel(), *this);
      return hidden_NH;
    });
  }

  ModelTraits traits_;
  at::Device device_ = at::kCPU;
  at::ScalarType dtype_ = at::kFloat;
};

}  // namespace

std::unique_ptr<Model> guarded(std::unique_ptr<Model> plugin, const Callee& callee, const ModelConfig& config) {
  return std::make_unique<GuardedModel>(std::move(plugin), callee, config);
}

}  // namespace drift
