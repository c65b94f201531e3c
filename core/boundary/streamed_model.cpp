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
#include <cassert>
#include <memory>
#include <set>

namespace drift {
namespace {

namespace fs = std::filesystem;
using nn::BlockWeightsOnDemand;

/// Brings the weights of a model's blocks from the checkpoint's files to where they are computed with. Blocks take
/// turns with one place on the CPU, with two on a device.
class BlockStream final : public nn::BlockSource {
 public:
  BlockStream(const fs::path& folder, const BlockWeightsOnDemand& blocks, std::int64_t layers, at::Device device)
      : weights_(folder), copies_(device), places_(device.is_cpu() ? 1 : 2) {
    for (std::int64_t layer = 0; layer < layers; ++layer) blocks_.push_back(blocks.block_parameters(layer));
    for (Place& place : places_) {
      for (const NamedTensor& one : blocks_.front()) {
        place.weights.push_back(at::empty_like(one.tensor.detach()));
        if (!device.is_cpu())
          place.buffers.push_back(copies_.host_buffer(one.tensor.sizes(), one.tensor.scalar_type()));
      }
    }
    // The model's own tensors become the places; the memory that it came with is free again.
    for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
      for (std::size_t p = 0; p < blocks_[layer].size(); ++p)
        blocks_[layer][p].tensor.set_data(place_of(layer).weights[p]);
    }
  }

  void bring(std::int64_t number) override {
    const at::NoGradGuard no_gradient;
    const auto layer = static_cast<std::size_t>(number);
    Place& place = place_of(layer);
    if (place.buffers.empty()) {
      read_parameters(weights_, blocks_[layer]);
      return;
    }
    // All that was enqueued so far ends with the block before this one, in the other place; or with the last forward.
    const auto computed = copies_.computed();
    for (Place& other : places_) {
      if (layer == 0 || &other != &place) other.computed = computed;
    }
    kernels::wait_for(place.copied);
    auto in_host = blocks_[layer];
    for (std::size_t p = 0; p < in_host.size(); ++p) in_host[p].tensor = place.buffers[p];
    read_parameters(weights_, in_host);
    for (std::size_t p = 0; p < in_host.size(); ++p)
      place.copied = copies_.copy(place.weights[p], place.buffers[p], place.computed);
    copies_.before_computing(place.copied);
  }
  void bring_back(std::int64_t) override { assert(!"a streamed model is for forwards without gradients"); }

 private:
  struct Place {
    std::vector<at::Tensor> weights, buffers;
    kernels::SideStream::Mark copied, computed;
  };

  Place& place_of(std::size_t layer) { return places_[layer % places_.size()]; }

  CheckpointWeights weights_;
  kernels::SideStream copies_;
  std::vector<Place> places_;
  std::vector<std::vector<NamedTensor>> blocks_;
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
  const auto one = bytes_of(capability<BlockWeightsOnDemand>(model)->block_parameters(0));
  return {model.traits().layers * one, on_cpu ? one : 2 * one, on_cpu ? 0 : 2 * one};
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
