#pragma once

#include <drift/model.h>
#include <drift/params.h>

#include <core/components/components.h>
#include <core/io/safetensors.h>
#include <core/update/policy_scores.h>

#include <cstdint>
#include <vector>

namespace drift {

/// Which policy the KL compares with.
enum class ReferenceKind {
  kFrozen,         ///< the model that the run began with
  kMovingAverage,  ///< that model, moved towards the policy every so many optimizer steps
  kOld,            ///< the policy that wrote the responses
};

struct ReferenceSettings {
  ReferenceKind kind = ReferenceKind::kFrozen;
  std::int64_t sync_steps = 64;  ///< optimizer steps between two moves
  double mix = 0.6;              ///< reference <- mix policy + (1 - mix) reference
  bool offload = false;          ///< of a frozen one, the blocks' weights are not held in memory

  /// @throws Error if what moves is not to be held
  static ReferenceSettings from(const Params& section);
};

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
