#pragma once

#include <drift/model.h>

#include <core/config/run_config.h>
#include <core/io/checkpoint_weights.h>
#include <core/nn/block_weights.h>
#include <core/ranks/ranks.h>
#include <core/ranks/shard.h>

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace drift {

/// What a run divides among its ranks: `[distributed] shard`.
Shard shard_of(const RunConfig& config);

/// Whether these ranks divide the weights.
bool divides_weights(const Ranks& ranks, const RunConfig& config);

/// The weights of a model's blocks, of which each rank of the run has its share of each tensor's elements
/// (Ranks::share). The ranks gather a block's weights when it is computed, forwards and backwards, and the next one's
/// meanwhile; nobody has more than these two. Embedding, last norm, LM head and adapters stay whole. To read a weight
/// while its block is not computed is an error that names it.
///
/// Every gather needs every rank. So before each forward and each backward the ranks tell each other whether they have
/// one; who has none gathers with the others: accompany().
class DividedWeights final : public nn::BlockSource {
 public:
  /// Takes the shares out of the model's weights, whose memory is given back.
  /// @throws Error if they cannot be gathered
  DividedWeights(Ranks& ranks, const nn::BlockWeightsOnDemand& blocks, std::int64_t layers);
  ~DividedWeights() override;

  /// Replace the shares by those of a checkpoint, which has been checked against the model.
  void read(const CheckpointWeights& weights);

  void begin_forward() override;
  void bring(std::int64_t layer) override;
  void bring_back(std::int64_t layer) override;

  /// After the forwards and backwards that ranks compute in different numbers: takes part in those of the
  /// others until none has one left. Then no block's weights are in memory.
  void accompany();

  /// Called in each backward, on every rank, when the blocks behind this one are done; by accompany() also when all
  /// are, with -1. Empty: nothing is.
  void in_backward(std::function<void(std::int64_t layer)> then) { then_ = std::move(then); }

  /// By name: flat, this rank's own.
  const std::map<std::string, at::Tensor>& shares() const { return shares_; }
  /// The number of the first element of this rank's share of a parameter.
  std::int64_t first_of_share(const at::Tensor& parameter) const { return ranks_.share(parameter.numel()).first; }
  /// The number of the block that a parameter is in, by name.
  const std::map<std::string, std::int64_t>& blocks() const { return block_of_; }

 private:
  enum class Next { kNothing, kForward, kBackward };
  struct Weight {
    at::Tensor parameter;  ///< the model's; it has one of these storages:
    at::Tensor gathered;   ///< while its block is computed; memory, only while the block is there or on its way
    at::Storage absent;    ///< else: to read it is an error that says why
    at::Tensor share;
    std::size_t offset;  ///< in a place, in bytes
  };

  Next agree(Next mine) const;
  void follow(std::int64_t layer, std::int64_t next);
  void begin(std::int64_t layer);
  void let_go(std::int64_t layer);

  Ranks& ranks_;
  std::vector<std::vector<Weight>> layers_;
  std::int64_t first_with_gradient_;
  std::size_t block_bytes_ = 0;  // of the largest
  std::map<std::string, at::Tensor> shares_;
  std::map<std::string, std::int64_t> block_of_;
  std::array<at::Tensor, 2> places_;          // of blocks with even and with odd numbers
  std::array<std::int64_t, 2> held_{-1, -1};  // the blocks that are there
  std::int64_t coming_ = -1;                  // the block that is being gathered
  std::function<void(std::int64_t)> then_;
};

/// Null: all ranks have all weights, or there is but one.
DividedWeights* divided_weights(const Model& model);

/// Let each rank have its share of the blocks' weights.
/// @throws Error if the model cannot be asked for its blocks
void divide_weights(Ranks& ranks, Model& model);

/// DividedWeights::accompany(), if the weights are divided.
void accompany(const Model& model);

/// A parameter as this rank has it.
struct HeldWeight {
  std::string name;
  at::Tensor parameter;  ///< the model's: without values, if this rank has a share of it
  at::Tensor values;     ///< the parameter itself, or this rank's share of it, flat
  bool is_share = false;
  std::int64_t first = 0;  ///< number of the share's first element
};
/// Of each of the model's parameters, in their order.
std::vector<HeldWeight> held_weights(const Model& model);

/// DividedWeights::shares(); none, if the weights are whole.
std::map<std::string, at::Tensor> weight_shares(const Model& model);

}  // namespace drift
