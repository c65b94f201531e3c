#pragma once

#include <drift/model.h>

#include <core/boundary/components.h>
#include <core/config/run_config.h>
#include <core/io/safetensors.h>
#include <core/update/policy_scores.h>

#include <cstdint>
#include <vector>

namespace drift {

/// [reference] of a run.
/// @throws Error if what moves is not to be held
ReferenceSettings reference_settings(const RunConfig& config);

/// The reference policy of a run whose loss asks for one.
class ReferencePolicy {
 public:
  /// @param model  a separate model with the weights that the run began with; empty for kOld.
  ReferencePolicy(const ReferenceSettings& settings, Loaded<Model> model);
  /// The policy's own frozen weights, without its adapters: no second copy.
  /// @throws Error if the settings move the reference.
  ReferencePolicy(const ReferenceSettings& settings, const Model& policy_with_adapters);

  bool is_old_policy() const { return settings_.kind == ReferenceKind::kOld; }
  bool is_without_adapters() const { return shared_ != nullptr; }
  const Model& model() const { return shared_ != nullptr ? *shared_ : *model_; }

  /// After optimizer step `count` (1, 2, … since the run began).
  void after_optimizer_step(std::int64_t count, const Model& policy);

  /// The weights, if they are not those of the run's first model: "reference.NAME". Those that ranks divide are on the
  /// meta device; this rank's elements of them are the parts.
  std::vector<NamedTensor> state() const;
  std::vector<TensorPart> state_parts() const;
  /// @throws Error if a tensor is missing or misshapen.
  void load_state(const std::vector<NamedTensor>& state);

 private:
  bool moves() const { return settings_.kind == ReferenceKind::kMovingAverage; }

  ReferenceSettings settings_;
  Loaded<Model> model_;
  const Model* shared_ = nullptr;
};

}  // namespace drift
