#include <core/boundary/streamed_model.h>

#include <core/base/device.h>
#include <core/base/trainable.h>
#include <core/io/checkpoint.h>
#include <core/io/checkpoint_weights.h>
#include <core/kernels/side_stream.h>
#include <core/nn/block_weights.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <memory>
#include <set>

namespace drift {
namespace {

namespace fs = std::filesystem;
using nn::BlockWeightsOnDemand;

/// Brings the weights of a model's blocks to where they are computed with. On the CPU they come from the checkpoint's
/// files and take turns with one place. For a device all of them are in pinned memory, read from the files once, and
/// take turns with two places: the next one is copied while one is computed.
class BlockStream final : public nn::BlockSource {
 public:
  BlockStream(const fs::path& folder, const BlockWeightsOnDemand& blocks, std::int64_t layers, at::Device device)
      : weights_(folder), copies_(device), places_(device.is_cpu() ? 1 : 2) {
    for (std::int64_t layer = 0; layer < layers; ++layer) blocks_.push_back(blocks.block_parameters(layer));
    for (Place& place : places_) {
      for (const NamedTensor& one : blocks_.front()) place.weights.push_back(at::empty_like(one.tensor.detach()));
    }
    // The model's own tensors become the places; the memory that it came with is free again.
    for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
      for (std::size_t p = 0; p < blocks_[layer].size(); ++p)
        blocks_[layer][p].tensor.set_data(place_of(layer).weights[p]);
    }
    if (device.is_cpu()) return;
    for (const auto& block : blocks_) {
      auto& pinned = pinned_.emplace_back(block);
      for (NamedTensor& one : pinned) one.tensor = copies_.host_buffer(one.tensor.sizes(), one.tensor.scalar_type());
      read_parameters(weights_, pinned);
    }
  }

  void bring(std::int64_t number) override {
    const at::NoGradGuard no_gradient;
    const auto layer = static_cast<std::size_t>(number);
    if (pinned_.empty()) return read_parameters(weights_, blocks_[layer]);
    if (coming_ != layer) copy(layer);
    copies_.before_computing(place_of(layer).copied);
    if (layer + 1 < blocks_.size()) copy(layer + 1);
  }
  void bring_back(std::int64_t) override { assert(!"a streamed model is for forwards without gradients"); }

 private:
  struct Place {
    std::vector<at::Tensor> weights;
    kernels::SideStream::Mark copied;
  };

  /// All that was enqueued so far ends with the block before the last one, in the same place; or with the last forward.
  void copy(std::size_t layer) {
    Place& place = place_of(layer);
    const auto computed = copies_.computed();
    for (std::size_t p = 0; p < place.weights.size(); ++p)
      place.copied = copies_.copy(place.weights[p], pinned_[layer][p].tensor, computed);
    coming_ = layer;
  }
  Place& place_of(std::size_t layer) { return places_[layer % places_.size()]; }

  CheckpointWeights weights_;
  kernels::SideStream copies_;
  std::vector<Place> places_;
  std::vector<std::vector<NamedTensor>> blocks_, pinned_;
  std::optional<std::size_t> coming_;  // the block that was copied last
};

}  // namespace

void require_streamable(const RunConfig& config, const Model& model) {
  if (config.get<ModelSettings>().random_weights) {
    throw Error("reference.offload reads the weights from model.path, but model.initialize = \"random\" has none there",
                "save the model first, with drift pretrain, or set reference.offload = false");
  }
  if (capability<BlockWeightsOnDemand>(model) == nullptr) {
    throw Error("the model family " + model.traits().family + " does not take its weights block by block",
                "set reference.offload = false");
  }
}

StreamedBytes streamed_bytes(const Model& model, bool on_cpu) {
  const auto block = capability<BlockWeightsOnDemand>(model)->block_parameters(0);
  const std::int64_t one = bytes_of(block), layers = model.traits().layers;
  std::int64_t pinned = 0;  // LibTorch's pinned memory comes in powers of two
  for (const NamedTensor& weight : block) pinned += static_cast<std::int64_t>(std::bit_ceil(weight.tensor.nbytes()));
  return {layers * one, on_cpu ? one : 2 * one, on_cpu ? 0 : layers * pinned};
}

std::optional<std::int64_t> parameters_of_blocks(const Model& model) {
  const auto* blocks = capability<BlockWeightsOnDemand>(model);
  if (blocks == nullptr) return std::nullopt;
  std::int64_t one = 0;
  for (const NamedTensor& parameter : blocks->block_parameters(0)) one += parameter.tensor.numel();
  return model.traits().layers * one;
}

Loaded<Model> open_streamed_model(const ModelShapes& shapes) {
  const RunConfig& config = shapes.config();
  const fs::path folder = config.get<ModelSettings>().path;
  auto model = shapes.create(run_device(config.get<RunSettings>().device_name()));
  require_streamable(config, *model);
  check_parameters(folder, model->parameters());
  auto& blocks = *capability<BlockWeightsOnDemand>(*model);
  std::set<std::string> brought;
  for (std::int64_t layer = 0; layer < model->traits().layers; ++layer) {
    for (const NamedTensor& one : blocks.block_parameters(layer)) brought.insert(one.name);
  }
  const auto stream = std::make_shared<BlockStream>(folder, blocks, model->traits().layers, model->device());
  auto held = model->parameters();
  std::erase_if(held, [&](const NamedTensor& one) { return brought.contains(one.name); });
  const at::NoGradGuard no_gradient;
  read_parameters(CheckpointWeights(folder), held);
  blocks.take_blocks_from(stream);
  return model;
}

}  // namespace drift
