#pragma once

#include <core/boundary/components.h>
#include <core/boundary/model_policy.h>
#include <core/config/run_config.h>
#include <core/plugin/plugin_loader.h>
#include <core/ranks/ranks.h>

#include <drift/rollout.h>

#include <optional>

namespace drift::bench {

/// What configs/quickstart.toml trains, opened like `drift train`: the shipped small model if its weights are there,
/// else one of the same shape with random weights.
///
/// Options of the programs: `--config FILE`, `--set key=value` (repeatable), `--rounds N`.
class Recipe {
 public:
  Recipe(int count, char** arguments);

  const RunConfig& config() const { return config_; }
  RunHost& host() const { return host_; }
  int rounds() const { return rounds_; }

  /// With the prompts of the first training step.
  RolloutInput rollout_input() const;
  /// What was opened, for the head of the output.
  void print_heading() const;

 private:
  Prompts prompts() const;

  int rounds_ = 0;
  Registry registry_;
  PluginLoader loader_{registry_};
  mutable RunHost host_{registry_};
  RunConfig config_;
  Ranks alone_;
  bool random_weights_ = false;
  Loaded<Model> model_;
  std::optional<ModelPolicy> policy_;
};

/// What main() returns: 0, or after an error, which is printed, 1 (2 if the configuration is wrong).
int guarded(void (*run)(int, char**), int count, char** arguments);

}  // namespace drift::bench
