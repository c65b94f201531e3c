#include <core/boundary/divided_weights.h>

#include <core/boundary/plugin_call.h>

#include <drift/error.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/StorageImpl.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <memory>
#include <utility>

namespace drift {
namespace {

constexpr std::size_t kAlignment = 64;  // of a tensor in a place

/// Of the storage, not of the tensor: a graph has views of it.
void set_memory(const at::Tensor& tensor, void* memory) {
  tensor.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(at::DataPtr(memory, tensor.device()));
}

void set_storage(const at::Tensor& tensor, const at::Storage& storage) {
  tensor.unsafeGetTensorImpl()->set_storage_keep_dtype(storage);
}

/// Of a parameter whose values are not in memory: whoever asks for them is told so.
at::Storage absent_storage(const std::string& name, const at::Tensor& parameter) {
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), parameter.nbytes(),
                                                       at::DataPtr(nullptr, parameter.device()), /*allocator=*/nullptr,
                                                       /*resizable=*/false);
  storage->release_data_and_set_meta_custom_data_ptr_error_msg_(
      "`" + name + "` is divided among the ranks: outside of its block's forward and backward no rank has its values" +
      kHintMark + "read it where the model computes that block; this rank's share of it is in held_weights(); " +
      "distributed.shard = \"gradients\" leaves all weights whole");
  return at::Storage(std::move(storage));
}

/// An exchange that fails within a forward or a backward is not the model's fault.
template <class Exchange>
void not_the_model(const Exchange& exchange) {
  try {
    exchange();
  } catch (const Error& error) {
    throw PluginError(error.what(), error.hint());
  }
}

}  // namespace

Shard shard_of(const RunConfig& config) { return config.get<DistributedSettings>().shard; }

bool divides_weights(const Ranks& ranks, const RunConfig& config) {
  return ranks.size() > 1 && config.has("distributed") && shard_of(config) == Shard::kParameters;
}

DividedWeights::DividedWeights(Ranks& ranks, const nn::BlockWeightsOnDemand& blocks, std::int64_t layers)
    : ranks_(ranks), first_with_gradient_(blocks.first_block_with_gradient()) {
  const at::NoGradGuard no_gradient;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    auto& weights = layers_.emplace_back();
    std::size_t end = 0;
    for (const auto& [name, parameter] : blocks.block_parameters(layer)) {
      if (parameter.nbytes() > std::numeric_limits<int>::max())
        throw Error("`" + name + "` has more than 2 GiB: it cannot be gathered from ranks that divide it",
                    "set distributed.shard = \"gradients\"");
      const auto [first, last] = ranks_.share(parameter.numel());
      auto share = parameter.detach().view({-1}).narrow(0, first, last - first).clone();
      shares_[name] = share;
      block_of_[name] = layer;
      // What is gathered is the same weight: autograd, which has saved it, must not take the copy for a change.
      const auto gathered = parameter.variable_data();
      weights.push_back({parameter, gathered, absent_storage(name, parameter), std::move(share), end});
      end += (parameter.nbytes() + kAlignment - 1) / kAlignment * kAlignment;
      set_memory(weights.back().gathered, nullptr);
      parameter.unsafeGetTensorImpl()->set_allow_tensor_metadata_change(true);
      set_storage(parameter, weights.back().absent);
    }
    block_bytes_ = std::max(block_bytes_, end);
  }
}

DividedWeights::~DividedWeights() {
  // After an error a gather may still be going on: its memory stays until the process ends.
  if (coming_ < 0) return;
  static auto& kept = *new std::vector<std::pair<std::array<at::Tensor, 2>, std::map<std::string, at::Tensor>>>;
  kept.emplace_back(places_, shares_);
}

void DividedWeights::read(const CheckpointWeights& weights) {
  const at::NoGradGuard no_gradient;
  for (const auto& [name, share] : shares_) {
    const SafetensorsFile& file = *weights.holder(name);
    const auto& parameter = *file.find(name);
    std::int64_t elements = 1;
    for (const std::int64_t size : parameter.shape) elements *= size;
    file.read_elements(parameter, ranks_.share(elements).first, share);
  }
}

DividedWeights::Next DividedWeights::agree(Next mine) const {
  const auto ranks_K = at::tensor({mine == Next::kForward ? 1 : 0, mine == Next::kBackward ? 1 : 0}, at::kLong);
  ranks_.all_reduce({ranks_K});
  const auto* const ranks = ranks_K.const_data_ptr<std::int64_t>();
  assert(ranks[0] == 0 || ranks[1] == 0);
  return ranks[0] > 0 ? Next::kForward : ranks[1] > 0 ? Next::kBackward : Next::kNothing;
}

void DividedWeights::begin_forward() {
  not_the_model([&] { agree(Next::kForward); });
}

void DividedWeights::bring(std::int64_t layer) {
  not_the_model([&] { follow(layer, layer + 1 < static_cast<std::int64_t>(layers_.size()) ? layer + 1 : -1); });
}

void DividedWeights::bring_back(std::int64_t layer) {
  not_the_model([&] {
    if (layer + 1 == static_cast<std::int64_t>(layers_.size())) agree(Next::kBackward);
    if (then_) then_(layer);
    follow(layer, layer > first_with_gradient_ ? layer - 1 : -1);
  });
}

/// To this layer, from the one that `next` was then; a first one is not coming yet.
void DividedWeights::follow(std::int64_t layer, std::int64_t next) {
  const at::NoGradGuard no_gradient;
  if (coming_ != layer) begin(layer);
  ranks_.finish_gather();
  coming_ = -1;
  for (const Weight& weight : layers_[static_cast<std::size_t>(layer)])
    set_storage(weight.parameter, weight.gathered.storage());
  if (next >= 0) begin(next);
}

void DividedWeights::begin(std::int64_t layer) {
  assert(coming_ < 0);
  const auto place = static_cast<std::size_t>(layer % 2);
  const auto like = layers_[static_cast<std::size_t>(layer)].front().share.options();
  if (!places_[place].defined())
    places_[place] = at::empty({static_cast<std::int64_t>(block_bytes_)}, like.dtype(at::kByte));
  if (held_[place] >= 0) let_go(held_[place]);
  held_[place] = coming_ = layer;
  auto* const memory = places_[place].mutable_data_ptr<std::uint8_t>();
  std::vector<at::Tensor> shares, gathered;
  for (const Weight& weight : layers_[static_cast<std::size_t>(layer)]) {
    set_memory(weight.gathered, memory + weight.offset);
    shares.push_back(weight.share);
    gathered.push_back(weight.gathered);
  }
  ranks_.begin_gather(shares, gathered);
}

void DividedWeights::let_go(std::int64_t layer) {
  for (const Weight& weight : layers_[static_cast<std::size_t>(layer)]) {
    set_memory(weight.gathered, nullptr);
    set_storage(weight.parameter, weight.absent);
  }
}

void DividedWeights::accompany() {
  const auto layers = static_cast<std::int64_t>(layers_.size());
  for (Next next; (next = agree(Next::kNothing)) != Next::kNothing;) {
    if (next == Next::kForward) {
      for (std::int64_t layer = 0; layer < layers; ++layer) bring(layer);
    } else {
      for (std::int64_t layer = layers - 1; layer >= first_with_gradient_; --layer) {
        if (then_) then_(layer);
        follow(layer, layer > first_with_gradient_ ? layer - 1 : -1);
      }
      if (then_) then_(-1);
    }
  }
  for (std::int64_t& layer : held_) {
    if (layer >= 0) let_go(std::exchange(layer, -1));
  }
  places_ = {};
}

DividedWeights* divided_weights(const Model& model) {
  const auto* blocks = capability<nn::BlockWeightsOnDemand>(model);
  return blocks == nullptr ? nullptr : dynamic_cast<DividedWeights*>(blocks->block_source());
}

void divide_weights(Ranks& ranks, Model& model) {
  auto* blocks = capability<nn::BlockWeightsOnDemand>(model);
  if (blocks == nullptr)
    throw Error("distributed.shard = \"parameters\": the model family " + model.traits().family +
                    " cannot be asked for its blocks one by one, so that its weights cannot be divided among ranks",
                "set distributed.shard = \"gradients\"; backbones built on core/nn can");
  blocks->take_blocks_from(std::make_shared<DividedWeights>(ranks, *blocks, model.traits().layers));
}

void accompany(const Model& model) {
  if (auto* divided = divided_weights(model)) divided->accompany();
}

std::vector<HeldWeight> held_weights(const Model& model) {
  std::vector<HeldWeight> held;
  const auto* divided = divided_weights(model);
  const auto shares = weight_shares(model);
  for (const auto& [name, parameter] : model.parameters()) {
    const auto share = shares.find(name);
    const bool is_share = share != shares.end();
    held.push_back({name, parameter, is_share ? share->second : parameter, is_share,
                    is_share ? divided->first_of_share(parameter) : 0});
  }
  return held;
}

std::map<std::string, at::Tensor> weight_shares(const Model& model) {
  const auto* divided = divided_weights(model);
  return divided == nullptr ? std::map<std::string, at::Tensor>() : divided->shares();
}

}  // namespace drift
