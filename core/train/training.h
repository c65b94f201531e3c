#pragma once

#include <core/record/step_record.h>
#include <core/update/optimizer.h>

#include <cstdint>
#include <vector>

namespace drift {

/// One way to train: what the loop asks for, step after step.
class Training {
 public:
  virtual ~Training() = default;

  /// Step `step` (1, 2, …). A pure function of the weights, the optimizer's state, the seed and the number of the step.
  /// @return what is known of it, its seconds included.
  virtual StepRecord run(std::int64_t step) = 0;

  /// Everything that the next step depends on besides the weights and the seed; on the CPU. What several ranks have
  /// together is on the meta device, and this rank's elements of it are the parts: none, where nothing is divided.
  virtual std::vector<NamedTensor> state() const = 0;
  virtual std::vector<TensorPart> state_parts() const = 0;
  /// @throws Error if a tensor is missing or misshapen.
  virtual void load_state(const std::vector<NamedTensor>& state) = 0;
};

}  // namespace drift
