#pragma once

#include <drift/model.h>

#include <core/lab/fidelity/exact_policy.h>
#include <core/record/estimate.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// A part of the model, as its parameters' names have it: "model.transformer.blocks.3".
struct ModelPart {
  std::string name;
  std::vector<ParameterRange> parameters;
};
/// All parameters first, then each block and each parameter outside of the blocks.
std::vector<ModelPart> model_parts(const Model& model);

/// An estimator beside a reference, in one part of the model.
struct ReferenceRow {
  std::string part;
  std::int64_t views = 0;
  Estimate cosine;      ///< of the two gradients of the same responses; over rollouts in which neither is 0
  Estimate norm_ratio;  ///< norm of the estimate / that of the reference
};

/// Compares gradients of the same responses, rollout by rollout.
class ReferenceStudy {
 public:
  ReferenceStudy(const Model& model, std::vector<std::int64_t> views);

  /// @param estimates  one for each number of views
  void add(const at::Tensor& reference_P, const std::vector<at::Tensor>& estimates);
  std::vector<ReferenceRow> rows() const;

 private:
  struct Values {
    std::vector<double> cosine, norm_ratio;
  };
  std::vector<ModelPart> parts_;
  std::vector<std::int64_t> views_;
  std::vector<std::vector<Values>> values_;  // by part and number of views
};

}  // namespace drift
