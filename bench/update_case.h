#pragma once

#include <core/boundary/components.h>
#include <core/plugin/plugin_loader.h>
#include <core/update/policy_gradient.h>

#include <drift/registry.h>
#include <drift/rollout.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace drift::bench {

/// Sizes of a LLaDA.
struct UpdateShape {
  std::string name;
  std::int64_t hidden = 0, layers = 0, heads = 0, inner = 0, vocabulary = 0;
  double rope_theta = 10000;
  bool is_folder = false;  ///< its weights are a checkpoint's, else drawn
};
/// head_heavy: 150 M parameters of which the embedding and the LM head are 130 M. balanced: the head is a few per cent
/// of the work, as in an 8 B model. Else a checkpoint's folder, such as `drift model random` writes.
/// @throws std::invalid_argument
UpdateShape update_shape(const std::string& name);

/// How the original holds its graphs.
enum class GraphLife {
  kForward,   ///< one backward after each forward
  kTogether,  ///< one backward after all forwards
  kTwoRows,   ///< one backward after each two rows
};

/// An algorithm's step as the original computes it.
struct UpdateAlgorithm {
  std::string name;
  GraphLife graphs;
  std::vector<std::string> settings;  ///< on top of its default preset
};
const std::vector<UpdateAlgorithm>& update_algorithms();

/// The model, four responses of one group with made-up denoising steps, and what an algorithm makes of them.
class UpdateCases {
 public:
  /// @param overrides  "key=value", as of `drift train --set`; those of the model are for a checkpoint's.
  UpdateCases(const UpdateShape& shape, at::ScalarType type, at::Device device, std::vector<std::string> overrides);

  struct Case {
    Loaded<LossEstimator> loss;
    LossNeeds needs;
    MaskPlan plan;
    UpdateBatch batch;        ///< of this plan; old and reference policy are not filled in
    bool reference_forwards;  ///< a reference policy of its own is to be scored
    GraphLife graphs;
  };
  std::unique_ptr<Case> make(const UpdateAlgorithm& algorithm) const;
  /// A rollout by its name.
  std::unique_ptr<Rollout> rollout(const std::string& name,
                                   const std::map<std::string, Parameter::Value>& settings) const;
  bool has(const std::string& algorithm) const { return registry_.find_algorithm(algorithm) != nullptr; }

  Model& model() { return *model_; }
  const Model& model() const { return *model_; }
  const UpdateShape& shape() const { return shape_; }
  /// What the model's adapters add is multiplied by it.
  double adapter_scale() const { return adapter_scale_; }
  const Trajectories& trajectories() const { return trajectories_; }

  /// Floating-point operations of the products that a case needs: of the blocks at all positions of each row, with
  /// attention, of the head at its scored positions; three times, twice with adapters, and once more for a reference
  /// policy.
  struct Operations {
    double by_view;     ///< each view by itself, as the originals compute it
    double by_context;  ///< equal contexts once, and no backward of the head where the loss has no gradient
  };
  /// @param targets_with_gradient  to which the loss gives a gradient
  Operations needed_operations(const Case& one, std::int64_t targets_with_gradient) const;

 private:
  RunConfig config(std::vector<std::string> assignments) const;

  UpdateShape shape_;
  std::vector<std::string> overrides_;
  double adapter_scale_ = 0;
  Registry registry_;
  PluginLoader loader_{registry_};
  mutable RunHost host_{registry_};
  Loaded<Model> model_;
  Trajectories trajectories_;
};

}  // namespace drift::bench
