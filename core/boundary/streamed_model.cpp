#include <core/boundary/streamed_model.h>

#include <core/base/device.h>
#include <core/base/trainable.h>
#include <core/io/checkpoint.h>
#include <core/io/checkpoint_weights.h>
#include <core/kernels/side_stream.h>
#include <core/nn/block_weights.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <memory>
#include <set>

namespace drift {
namespace {

namespace fs = std::filesystem;
using nn::BlockWeightsOnDemand;

/// Of a tensor's bytes in a place.
std::int64_t aligned(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = 64;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::vector<std::vector<NamedTensor>> all_blocks(const Model& model) {
  const auto* blocks = capability<BlockWeightsOnDemand>(model);
  std::vector<std::vector<NamedTensor>> found;
  for (std::int64_t layer = 0; layer < model.traits().layers; ++layer) found.push_back(blocks->block_parameters(layer));
  return found;
}

/// Bytes of the place that every block fits in.
std::int64_t largest_block(const std::vector<std::vector<NamedTensor>>& blocks) {
  std::int64_t largest = 0;
  for (const auto& block : blocks) {
    std::int64_t bytes = 0;
    for (const NamedTensor& one : block) bytes += aligned(static_cast<std::int64_t>(one.tensor.nbytes()));
    largest = std::max(largest, bytes);
  }
  return largest;
}

/// Brings the weights of a model's blocks to where they are computed with. On the CPU they come from the checkpoint's
/// files and take turns with one place. For a device all of them are in pinned memory, read from the files once, and
/// take turns with two places: the next one is copied while one is computed.
class BlockStream final : public nn::BlockSource {
 public:
  BlockStream(const fs::path& folder, const Model& model)
      : weights_(folder),
        copies_(model.device()),
        places_(model.device().is_cpu() ? 1 : 2),
        blocks_(all_blocks(model)) {
    const at::Device device = model.device();
    for (Place& place : places_) {
      place.memory = at::empty({largest_block(blocks_)}, at::TensorOptions(at::kByte).device(device));
    }
    // The model's own tensors become parts of the places; the memory that it came with is free again.
    for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
      std::int64_t begin = 0;
      for (const NamedTensor& one : blocks_[layer]) {
        const auto bytes = static_cast<std::int64_t>(one.tensor.nbytes());
        const auto part = place_of(layer).memory.narrow(0, begin, bytes).view(one.tensor.scalar_type());
        one.tensor.set_data(part.view(one.tensor.sizes()));
        begin += aligned(bytes);
      }
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
    at::Tensor memory;  ///< of a block's tensors, one after another
    kernels::SideStream::Mark copied;
  };

  /// All that was enqueued so far ends with the block before the last one, in the same place; or with the last forward.
  void copy(std::size_t layer) {
    Place& place = place_of(layer);
    const auto computed = copies_.computed();
    for (std::size_t p = 0; p < blocks_[layer].size(); ++p)
      place.copied = copies_.copy(blocks_[layer][p].tensor, pinned_[layer][p].tensor, computed);
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
  StreamedBytes bytes;
  for (const auto& block : all_blocks(model)) {
    const std::int64_t one = bytes_of(block);
    bytes.blocks += one;
    bytes.held = std::max(bytes.held, on_cpu ? one : 2 * one);
    for (const NamedTensor& weight : block) {  // LibTorch's pinned memory comes in powers of two
      if (!on_cpu) bytes.pinned += static_cast<std::int64_t>(std::bit_ceil(weight.tensor.nbytes()));
    }
  }
  return bytes;
}

std::optional<std::int64_t> parameters_of_blocks(const Model& model) {
  if (capability<BlockWeightsOnDemand>(model) == nullptr) return std::nullopt;
  std::int64_t parameters = 0;
  for (const auto& block : all_blocks(model)) {
    for (const NamedTensor& parameter : block) parameters += parameter.tensor.numel();
  }
  return parameters;
}

Loaded<Model> open_streamed_model(const ModelShapes& shapes) {
  const RunConfig& config = shapes.config();
  const fs::path folder = config.get<ModelSettings>().path;
  auto model = shapes.create(run_device(config.get<RunSettings>().device_name()));
  require_streamable(config, *model);
  check_parameters(folder, model->parameters());
  std::set<std::string> brought;
  for (const auto& block : all_blocks(*model)) {
    for (const NamedTensor& one : block) brought.insert(one.name);
  }
  const auto stream = std::make_shared<BlockStream>(folder, *model);
  auto held = model->parameters();
  std::erase_if(held, [&](const NamedTensor& one) { return brought.contains(one.name); });
  const at::NoGradGuard no_gradient;
  read_parameters(CheckpointWeights(folder), held);
  capability<BlockWeightsOnDemand>(*model)->take_blocks_from(stream);
  return model;
}

}  // namespace drift
