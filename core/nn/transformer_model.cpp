#include <core/nn/transformer_model.h>

#include <core/kernels/transformer_ops.h>
#include <core/nn/recomputed_block.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/div.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace drift::nn {
namespace {

std::string numbered(std::string name, std::string_view placeholder, std::int64_t number) {
  return name.replace(name.find(placeholder), placeholder.size(), std::to_string(number));
}

/// Asks for a block's weights when the backward reaches it.
struct BringBack final : torch::autograd::FunctionPreHook {
  BringBack(std::shared_ptr<BlockSource> from, std::int64_t number) : source(std::move(from)), layer(number) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& gradients) override {
    source->bring_back(layer);
    return gradients;
  }

  const std::shared_ptr<BlockSource> source;
  const std::int64_t layer;
};

/// Places of each row before the first that the mask keeps: int64, on the CPU. The host waits only for a mask that is
/// on a device and of which `padding_B` says nothing.
at::Tensor padding_of(const at::Tensor& padding_B, const at::Tensor& key_mask_BS, std::int64_t rows) {
  if (padding_B.defined()) return padding_B;
  if (!key_mask_BS.defined()) return at::zeros({rows}, at::kLong);
  return key_mask_BS.cpu().to(at::kLong).cumsum(1).eq(0).sum(1);
}

/// The mask on the CPU; from `padding_B`, where that says all.
at::Tensor mask_on_cpu(const at::Tensor& padding_B, const at::Tensor& key_mask_BS) {
  if (!key_mask_BS.defined() || !padding_B.defined()) return key_mask_BS.defined() ? key_mask_BS.cpu() : key_mask_BS;
  return at::arange(key_mask_BS.size(1), at::kLong) >= padding_B.unsqueeze(1);
}

}  // namespace

std::string layer_name(const std::string& name, std::size_t layer) {
  return numbered(name, "{layer}", static_cast<std::int64_t>(layer));
}

TransformerModel::TransformerModel(const TransformerShape& shape, const TensorNames& names, ModelTraits traits,
                                   const ModelConfig& config)
    : shape_(shape), packing_(Packing::of(config)), names_(names), traits_(std::move(traits)) {
  const AdapterMaker adapters(config);
  const bool frozen = adapters.is_needed() || packing_.nf4;
  const auto parameter = [&](at::IntArrayRef sizes) {
    return at::empty(sizes, at::TensorOptions(config.dtype).device(config.device)).set_requires_grad(!frozen);
  };
  const auto matrix = [&](at::IntArrayRef sizes) {
    return packing_.nf4 ? at::empty(sizes, at::TensorOptions(config.dtype).device(at::kMeta)) : parameter(sizes);
  };
  embedding_VH_ = parameter({shape.vocabulary, shape.hidden});
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) blocks_.push_back(make_block(layer, parameter, matrix));
  for (BlockWeights& block : blocks_) {
    for (Projection* one : projections(block)) projections_[one->name] = one;
  }
  final_norm_H_ = parameter({shape.hidden});
  if (!shape.tied_head) head_VH_ = parameter({shape.vocabulary, shape.hidden});
  add_adapters(adapters);

  const auto table_type = shape.rotary_in_model_type || config.dtype == at::kDouble ? config.dtype : at::kFloat;
  rotary_ = RotaryTable(shape.context_length, shape.rotary_dimension > 0 ? shape.rotary_dimension : head_dimension(),
                        shape.rotary_theta, at::TensorOptions(table_type).device(config.device));
  traits_.vocabulary_size = shape.vocabulary;
  traits_.hidden_size = shape.hidden;
  traits_.layers = shape.layers;
  traits_.context_length = shape.context_length;
}

BlockWeights TransformerModel::make_block(std::int64_t layer, const MakeTensor& parameter,
                                          const MakeTensor& matrix) const {
  const std::int64_t hidden = shape_.hidden, width = shape_.heads * head_dimension(),
                     kv_width = shape_.kv_heads * head_dimension();
  const auto projection = [&](const std::string& name, std::int64_t out, std::int64_t in, bool has_bias = false) {
    Projection made;
    made.name = layer_name(name, static_cast<std::size_t>(layer));
    made.weight = matrix({out, in});
    if (has_bias) made.bias = parameter({out});
    return made;
  };
  BlockWeights block;
  block.attention_norm = parameter({hidden});
  if (!names_.query_key_value.empty()) {
    block.q = projection(names_.query_key_value, width + 2 * kv_width, hidden, shape_.bias.query);
  } else {
    block.q = projection(names_.query, width, hidden, shape_.bias.query);
    block.k = projection(names_.key, kv_width, hidden, shape_.bias.key);
    block.v = projection(names_.value, kv_width, hidden, shape_.bias.value);
  }
  if (shape_.query_key_norm) {
    block.query_norm = parameter({head_dimension()});
    block.key_norm = parameter({head_dimension()});
  }
  block.attention_out = projection(names_.attention_out, hidden, width, shape_.bias.attention_out);
  block.feed_forward_norm = parameter({hidden});
  const ExpertShape& experts = shape_.experts;
  if (!experts.are_in(layer)) {
    block.feed_forward = {projection(names_.gate, shape_.feed_forward, hidden, shape_.bias.gate),
                          projection(names_.up, shape_.feed_forward, hidden, shape_.bias.up),
                          projection(names_.down, hidden, shape_.feed_forward, shape_.bias.down)};
    return block;
  }
  block.experts.router_EH = parameter({experts.choice.experts, hidden});
  if (experts.bias) block.experts.router_bias_E = parameter({experts.choice.experts}).requires_grad_(false);
  for (std::int64_t expert = 0; expert < experts.choice.experts; ++expert) {
    const auto name = [&](const std::string& of) { return numbered(of, "{expert}", expert); };
    block.experts.experts.push_back({projection(name(names_.expert_gate), experts.feed_forward, hidden),
                                     projection(name(names_.expert_up), experts.feed_forward, hidden),
                                     projection(name(names_.expert_down), hidden, experts.feed_forward)});
  }
  if (experts.shared > 0) {
    block.feed_forward = {projection(names_.shared_gate, experts.shared, hidden),
                          projection(names_.shared_up, experts.shared, hidden),
                          projection(names_.shared_down, hidden, experts.shared)};
  }
  return block;
}

void TransformerModel::add_adapters(const AdapterMaker& adapters) {
  for (BlockWeights& block : blocks_) {
    for (Projection* projection : projections(block)) {
      adapters.add_to(*projection, projection->name);
      const LowRank& adapter = projection->adapter;
      if (!adapter.a.defined()) continue;
      const std::string module(module_of(projection->name));
      adapters_.push_back({module + ".lora_A.weight", adapter.a});
      adapters_.push_back({module + ".lora_B.weight", adapter.b});
    }
  }
}

void TransformerModel::check_length(std::int64_t sequence) const {
  if (sequence <= shape_.context_length) return;
  throw Error("a sequence of " + std::to_string(sequence) + " tokens is longer than the model's context of " +
                  std::to_string(shape_.context_length),
              "shorten the prompt or rollout.length");
}

at::Tensor TransformerModel::run_blocks(const ForwardInput& input, const RotaryTable& rotary,
                                        const AttentionMask& attention_mask, TransformerCache* cache,
                                        const CachePlaces* places) const {
  std::unique_lock<std::mutex> alone(one_forward_, std::defer_lock);
  if (source_) {
    alone.lock();
    source_->begin_forward();
  }
  // Where there is no graph, a device's operators need not ask for one: the host keeps ahead of fast kernels.
  std::optional<at::AutoDispatchBelowADInplaceOrView> without_graph;
  if (!c10::GradMode::is_enabled() && !embedding_VH_.is_cpu()) without_graph.emplace();
  const BlockShape block_shape{shape_.heads, shape_.kv_heads, shape_.norm_epsilon, norm_weight(),
                               shape_.experts.choice};
  const auto tokens = input.tokens_BS.reshape({-1});
  // Where most rows of the table are not looked up, a dense gradient would be mostly zeros to fill and to add.
  const bool sparse_gradient = tokens.numel() < shape_.vocabulary;
  auto x = at::embedding(embedding_VH_, tokens, shape_.padding_row, /*scale_grad_by_freq=*/false, sparse_gradient);
  const AdapterUse adapters = adapters_.empty() ? AdapterUse() : adapter_use(input, dtype());
  const bool recompute = input.recompute_blocks && cache == nullptr && c10::GradMode::is_enabled();
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    if (source_) source_->bring(static_cast<std::int64_t>(layer));
    const auto rows_N = layer + 1 == blocks_.size() ? input.rows_N : at::Tensor();
    KeepKeysAndValues keep;
    if (cache) {
      keep = [&](const at::Tensor& keys, const at::Tensor& values) {
        return cache->update(layer, keys, values, *places);
      };
    }
    x = recompute ? recomputed_block(x, blocks_[layer], block_shape, rotary, attention_mask, rows_N, adapters)
                  : transformer_block(x, blocks_[layer], block_shape, rotary, attention_mask, rows_N, adapters, keep);
    if (source_ && x.requires_grad())
      x.grad_fn()->add_tensor_pre_hook(std::make_unique<BringBack>(source_, static_cast<std::int64_t>(layer)));
  }
  return kernels::rms_norm(x, final_norm_H_, shape_.norm_epsilon, norm_weight());
}

std::shared_ptr<const AttentionTiles> TransformerModel::tiles(const BlockStructure& structure,
                                                              const at::Tensor& begin_B, std::int64_t queries) const {
  return plan_tiles(structure, begin_B, queries, {shape_.heads, head_dimension(), dtype(), device()});
}

// Padding on the left shifts all positions of a row alike; rotary angles only see differences, and padded keys are
// masked: positions may count from the padded row's start.
at::Tensor TransformerModel::forward(const ForwardInput& input) const {
  const std::int64_t rows = input.tokens_BS.size(0), sequence = input.tokens_BS.size(1);
  const auto& positions_BS = input.positions_BS;
  const bool is_known = positions_BS.defined() && positions_BS.is_cpu();
  // A row of several copies may be longer than the context. The host does not wait for positions of a device.
  if (!positions_BS.defined() || is_known)
    check_length(is_known ? positions_BS.max().item<std::int64_t>() + 1 : sequence);
  const auto rotary = positions_BS.defined() ? rotary_.at_positions(positions_BS.to(device(), /*non_blocking=*/true))
                                             : rotary_.window(0, sequence);
  const auto keys = shape_.attend_to_padding ? at::Tensor() : input.key_mask_BS;
  AttentionMask mask;
  if (input.block_BS.defined() || traits_.block_size > 0) {
    auto block_BS = input.block_BS;
    if (!block_BS.defined())
      block_BS = blocks_of_places(padding_of(input.padding_B, keys, rows), sequence, traits_.block_size);
    mask.tiles = tiles({block_BS, input.copy_BS, input.text_BS, mask_on_cpu(input.padding_B, keys)}, {}, sequence);
    return run_blocks(input, rotary, mask, nullptr, nullptr);
  }
  if (has_runs() && keys.defined() && input.padding_B.defined()) {
    mask.runs = rows_of_equal_keys(input.padding_B, {}, keys.size(0), sequence, 0, sequence);
  }
  if (mask.runs.empty()) mask.bias = attention_bias(keys, dtype(), shape_.heads / shape_.kv_heads);
  return run_blocks(input, rotary, mask, nullptr, nullptr);
}

std::unique_ptr<KeyValueCache> TransformerModel::make_cache(std::int64_t rows, std::int64_t positions) const {
  check_length(positions);
  return std::make_unique<TransformerCache>(shape_.layers, rows, shape_.kv_heads, positions, head_dimension(),
                                            embedding_VH_.options().requires_grad(false),
                                            /*zeros=*/traits_.block_size > 0);
}

at::Tensor TransformerModel::forward_window(const ForwardInput& input, const CacheWindow& window,
                                            KeyValueCache& cache) const {
  const at::NoGradGuard no_gradient;
  if (input.positions_BS.defined() || input.block_BS.defined()) {
    throw Error("a forward with a cache takes its positions from the window, and attends in both directions");
  }
  auto& kept = dynamic_cast<TransformerCache&>(cache);
  const std::int64_t tokens = input.tokens_BS.size(1);
  CacheWindow seen = window;
  if (shape_.attend_to_padding) seen.key_mask_BS = at::Tensor();
  at::Tensor padding_B, begin_B;  // of a model with blocks
  bool is_in_one_block = true;
  // A window of at most a block whose place and end only the device knows is within one: nobody waits for it.
  const bool is_told = !seen.begin_B.is_cpu() && seen.attended_B.defined() && tokens <= traits_.block_size;
  if (traits_.block_size > 0 && !is_told) {
    padding_B = padding_of(input.padding_B, seen.key_mask_BS, input.tokens_BS.size(0));
    begin_B = seen.begin_B.cpu();
    const auto block_of = [&](const at::Tensor& place_B) {
      return (place_B - padding_B).div(traits_.block_size, "floor");
    };
    const auto last_B = block_of(begin_B + (tokens - 1));
    const auto end_B = (padding_B + (last_B + 1) * traits_.block_size).clamp_max(kept.positions());
    seen.attended_B = seen.attended_B.defined() ? at::minimum(seen.attended_B.cpu(), end_B) : end_B;
    is_in_one_block = block_of(begin_B).equal(last_B);
  }
  const CachePlaces places = kept.places(seen, tokens);
  const auto rotary =
      places.begin >= 0 ? rotary_.window(places.begin, tokens) : rotary_.at_positions(places.positions_BW);
  AttentionMask mask;
  if (!is_in_one_block) {
    // The places of all queries and keys.
    const std::int64_t span = std::max(places.attended, begin_B.max().item<std::int64_t>() + tokens);
    auto is_key_BS = at::arange(span, at::kLong) < seen.attended_B.unsqueeze(1);
    if (const auto mask_BS = mask_on_cpu(input.padding_B, seen.key_mask_BS); mask_BS.defined())
      is_key_BS = is_key_BS & mask_BS.narrow(1, 0, span);
    const BlockStructure structure{blocks_of_places(padding_B, span, traits_.block_size), {}, {}, is_key_BS};
    mask.tiles = tiles(structure, begin_B, tokens);
    return run_blocks(input, rotary, mask, &kept, &places);
  }
  const bool known = !seen.attended_B.defined() || seen.attended_B.is_cpu();
  if (has_runs() && known && (input.padding_B.defined() || !seen.key_mask_BS.defined())) {
    mask.runs = rows_of_equal_keys(seen.key_mask_BS.defined() ? input.padding_B : at::Tensor(), seen.attended_B,
                                   input.tokens_BS.size(0), places.attended, places.begin, tokens);
  }
  if (mask.runs.empty())
    mask.bias = attention_bias(kept.key_mask(seen, places), dtype(), shape_.heads / shape_.kv_heads);
  return run_blocks(input, rotary, mask, &kept, &places);
}

std::vector<NamedTensor> TransformerModel::parameters() const {
  std::vector<NamedTensor> named{{names_.embedding, embedding_VH_}};
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) add_block(layer, named);
  named.push_back({names_.final_norm, final_norm_H_});
  if (head_VH_.defined()) named.push_back({names_.head, head_VH_});
  named.insert(named.end(), adapters_.begin(), adapters_.end());
  return named;
}

void TransformerModel::add_block(std::size_t layer, std::vector<NamedTensor>& named) const {
  const auto& block = blocks_[layer];
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    if (tensor.defined()) named.push_back({layer_name(name, layer), tensor});
  };
  const auto add_projections = [&](std::initializer_list<const Projection*> of) {
    for (const Projection* one : of) {
      if (one->weight.defined()) named.push_back({one->name, one->weight});
      if (one->bias.defined()) named.push_back({std::string(module_of(one->name)) + ".bias", one->bias});
    }
  };
  add(names_.attention_norm, block.attention_norm);
  add_projections({&block.q, &block.k, &block.v});
  add(names_.query_norm, block.query_norm);
  add(names_.key_norm, block.key_norm);
  add_projections({&block.attention_out});
  add(names_.feed_forward_norm, block.feed_forward_norm);
  add(names_.router, block.experts.router_EH);
  add(names_.router_bias, block.experts.router_bias_E);
  for (const auto& [gate, up, down] : block.experts.experts) add_projections({&gate, &up, &down});
  const auto& [gate, up, down] = block.feed_forward;
  add_projections({&gate, &up, &down});
}

std::vector<NamedTensor> TransformerModel::block_parameters(std::int64_t layer) const {
  std::vector<NamedTensor> named;
  add_block(static_cast<std::size_t>(layer), named);
  return named;
}

std::int64_t TransformerModel::first_block_with_gradient() const {
  const auto is_trained = [](const at::Tensor& one) { return one.defined() && one.requires_grad(); };
  const auto has_trained = [&](const BlockWeights& block) {
    return is_trained(block.attention_norm) || is_trained(block.feed_forward_norm) || is_trained(block.query_norm) ||
           is_trained(block.experts.router_EH) || std::ranges::any_of(projections(block), [&](const Projection* one) {
             return is_trained(one->weight) || is_trained(one->bias) || is_trained(one->adapter.a);
           });
  };
  if (is_trained(embedding_VH_)) return 0;
  return std::ranges::find_if(blocks_, has_trained) - blocks_.begin();
}

void TransformerModel::pack(const std::string& name, const at::Tensor& weight) {
  const auto pack_into = [&](Projection& projection) {
    bool finite = true;
    auto packed = kernels::nf4_pack(weight, packing_.double_quantization, finite);
    if (!finite) {
      throw Error("`" + name + "` has values that are not finite, so it cannot be packed in 4 bits",
                  "the checkpoint is damaged, or its training diverged; [model] quantize = \"none\" reads it as it is");
    }
    projection.packed = std::make_shared<const kernels::Nf4>(kernels::moved(std::move(packed), device()));
  };
  const auto found = projections_.find(name);
  if (packing_.nf4 && found != projections_.end()) return pack_into(*found->second);
  throw Error("the model has no matrix `" + name + "` to pack");
}

std::int64_t TransformerModel::sum_of_packed(const std::function<std::int64_t(std::int64_t values)>& each) const {
  std::int64_t sum = 0;
  if (!packing_.nf4) return sum;
  for (const auto& [name, projection] : projections_) sum += each(projection->weight.numel());
  return sum;
}

std::int64_t TransformerModel::packed_values() const {
  return sum_of_packed([](std::int64_t values) { return values; });
}

std::int64_t TransformerModel::packed_bytes() const {
  return sum_of_packed([&](std::int64_t values) { return kernels::nf4_bytes(values, packing_.double_quantization); });
}

std::vector<NamedTensor> TransformerModel::adapter_parameters() const { return adapters_; }

std::int64_t TransformerModel::training_bytes_per_row(std::int64_t sequence) const {
  const auto element = static_cast<std::int64_t>(embedding_VH_.element_size());
  const std::int64_t width = std::max(shape_.hidden, shape_.heads * head_dimension());
  // Attention within blocks computes its scores again.
  const std::int64_t heads_with_scores = traits_.block_size > 0 ? 0 : shape_.heads;
  std::int64_t bytes = 0;
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    const ExpertShape& experts = shape_.experts;
    // Of each of a token's experts its own input and output are kept, too, and the product with its weight.
    const std::int64_t columns =
        experts.are_in(layer) ? experts.shared + experts.choice.per_token * (experts.feed_forward + shape_.hidden)
                              : shape_.feed_forward;
    bytes += block_activation_bytes(sequence, width, columns, heads_with_scores, element);
  }
  return bytes;
}

}  // namespace drift::nn
