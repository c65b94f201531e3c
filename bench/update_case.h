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

/// Sizes of a random LLaDA.
struct UpdateShape {
  std::string name;
  std::int64_t hidden = 0, layers = 0, heads = 0, inner = 0, vocabulary = 0;
};
/// head_heavy: 150 M parameters of which the embedding and the LM head are 130 M. balanced: the head is a few per cent
/// of the work, as in an 8 B model. llada_8b_4_layers: LLaDA-8B with 4 of its 32 layers, 1.9 B parameters, for a GPU.
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
  UpdateCases(const UpdateShape& shape, at::ScalarType type, at::Device device);

  struct Case {
    Loaded<LossEstimator> loss;
    LossNeeds needs;
    MaskPlan plan;
    UpdateBatch batch;        ///< of this plan; old and reference policy are not filled in
    bool reference_forwards;  ///< a reference policy of its own is to be scored
    GraphLife graphs;
  };
  /// @param overrides  "key=value", as of `drift train --set`.
  std::unique_ptr<Case> make(const UpdateAlgorithm& algorithm, const std::vector<std::string>& overrides) const;
  /// A rollout by its name.
  std::unique_ptr<Rollout> rollout(const std::string& name,
                                   const std::map<std::string, Parameter::Value>& settings) const;
  bool has(const std::string& algorithm) const { return registry_.find_algorithm(algorithm) != nullptr; }

  Model& model() { return *model_; }
  const Model& model() const { return *model_; }
  const UpdateShape& shape() const { return shape_; }
  const Trajectories& trajectories() const { return trajectories_; }

  /// Floating-point operations of the products that a case needs: of the blocks at all positions of each row, with
  /// attention, of the head at its scored positions; three times, and once more for a reference policy.
  struct Operations {
    double by_view;     ///< each view by itself, as the originals compute it
    double by_context;  ///< equal contexts once, and no backward of the head where the loss has no gradient
  };
  /// @param targets_with_gradient  to which the loss gives a gradient
  Operations needed_operations(const Case& one, std::int64_t targets_with_gradient) const;

 private:
  UpdateShape shape_;
  Registry registry_;
  PluginLoader loader_{registry_};
  mutable RunHost host_{registry_};
  std::unique_ptr<Model> model_;
  Trajectories trajectories_;
};

}  // namespace drift::bench
