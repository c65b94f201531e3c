#pragma once

#include <drift/model.h>
#include <drift/params.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace drift {

struct OptimizerSettings {
  double learning_rate = 0;
  std::string schedule;  ///< after the warm-up: constant, linear or cosine
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;  ///< where a falling schedule ends
  double final_fraction = 0;     ///< of the learning rate, at the end of a falling schedule
  double beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0;
  double gradient_clip = 0;  ///< largest norm of the whole gradient; 0 = not clipped

  /// From a section that holds the optimizer's keys, `train` or `pretrain`.
  static OptimizerSettings from(const Params& section, std::int64_t total_steps);
};

/// AdamW with a learning-rate schedule and gradient clipping. Parameters of a type narrower than float32 get a float32
/// master each, which AdamW moves and the parameter then takes its rounded value from: most updates are smaller than
/// bfloat16 can show (2^-8 of the weight), and would be lost one by one.
class Optimizer {
 public:
  Optimizer(std::vector<NamedTensor> parameters, const OptimizerSettings& settings);
  ~Optimizer();

  /// One update of the parameters. Gradients are float32 or of the parameters' type; the call may scale them in place.
  /// @return the norm of the gradient before clipping.
  /// @throws Error if the gradient is not finite, and the parameters are then unchanged; or if the update leaves a
  /// parameter that is not finite.
  double step(std::vector<at::Tensor> gradients);

  /// Discard the moments and make new masters from the parameters; the schedule continues. The precision of a master
  /// beyond its parameter's type is lost.
  void restart();

  /// Of the next update.
  double learning_rate() const;
  /// Updates made since the run began.
  std::int64_t steps() const;

  /// Everything that the next update depends on besides the parameters, masters included; on the CPU, where a tensor
  /// may be the optimizer's own.
  std::vector<NamedTensor> state() const;
  /// The parameters are the caller's: those that were saved with this state.
  /// @throws Error if a tensor is missing or misshapen.
  void load_state(const std::vector<NamedTensor>& state);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace drift
