#pragma once

#include <drift/model.h>

#include <core/config/training_settings.h>
#include <core/io/safetensors.h>
#include <core/ranks/ranks.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace drift {

struct OptimizerSettings : AdamwSettings {
  std::int64_t total_steps = 0;  ///< where a falling schedule ends
  std::uint64_t seed = 0;        ///< of the rounding of narrow moments
  bool divided = false;          ///< each rank of the run has the masters and moments of its share alone
};

/// AdamW with a learning-rate schedule and gradient clipping. Parameters of a type narrower than float32 get a float32
/// master each, which AdamW moves and the parameter then takes its rounded value from: most updates are smaller than
/// bfloat16 can show (2^-8 of the weight), and would be lost one by one.
///
/// With `offload` and parameters on a device, every parameter has a master, and gradients stream to the host and new
/// weights back, slice by slice, while the processor updates the slices between. Parameters on the CPU are in host
/// memory already: nothing changes.
///
/// Where it is `divided`, a rank moves its share of each parameter's elements (Ranks::share), and the ranks then give
/// each other the new weights. Every element has the bits that it has undivided, if no gradient is clipped: the norm is
/// a sum in another order. Of a parameter that no rank has whole the new weights stay where they are.
class Optimizer {
 public:
  /// @param shares  of parameters that no rank has whole, by name (weight_shares()): what this one moves
  Optimizer(Ranks& ranks, std::vector<NamedTensor> parameters, const OptimizerSettings& settings,
            const std::map<std::string, at::Tensor>& shares = {});
  ~Optimizer();

  /// One update of the parameters. Gradients are float32 or of the parameters' type; the call may scale them in place.
  /// Of a divided optimizer they are this rank's shares, flat, and the call is collective.
  /// @return the norm of the whole gradient before clipping, on every rank.
  /// @throws Error, on every rank, if the gradient is not finite, and the parameters are then unchanged; or if the
  /// update leaves a parameter that is not finite.
  double step(std::vector<at::Tensor> gradients);

  /// Discard the moments and make new masters from the parameters; the schedule continues. The precision of a master
  /// beyond its parameter's type is lost.
  void restart();

  /// Of the next update.
  double learning_rate() const;
  /// Updates made since the run began.
  std::int64_t steps() const;

  /// Everything that the next update depends on besides the parameters, masters included; on the CPU, where a tensor
  /// may be the optimizer's own. A state goes into any optimizer of these parameters, whatever its settings: moments
  /// take its type. Of a divided one, tensors that the ranks have together are on the meta device.
  std::vector<NamedTensor> state() const;
  /// This rank's elements of them; empty if nothing is divided.
  std::vector<TensorPart> state_parts() const;
  /// The parameters are the caller's: those that were saved with this state.
  /// @throws Error if a tensor is missing or misshapen.
  void load_state(const std::vector<NamedTensor>& state);

 private:
  struct Moved;
  class HostUpdate;

  /// All in one launch. @return false, and nothing is done, if that is not for these parameters
  /// @param diverged  gets the number of the first one that is not finite afterwards
  template <class StepOf>
  bool update_on_device(const std::vector<at::Tensor>& gradients, const StepOf& step_of, std::size_t& diverged);

  void require_finite_everywhere(std::size_t diverged) const;

  Ranks& ranks_;
  OptimizerSettings settings_;
  bool divided_;
  std::vector<Moved> moved_;
  std::unique_ptr<HostUpdate> host_;             ///< null: masters and moments are where the parameters are
  std::int64_t updates_ = 0, first_update_ = 0;  ///< made, and how many of them before the last restart()
};

}  // namespace drift
