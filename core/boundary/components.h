#pragma once

#include <drift/error.h>
#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/registry.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <core/base/component_host.h>
#include <core/boundary/adapters.h>
#include <core/boundary/made.h>
#include <core/config/run_config.h>
#include <core/ranks/ranks.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// A component of a run and its name. It is called through core/boundary/checked.h, so that an error says whose it is.
template <class T>
class Loaded {
 public:
  Loaded() = default;
  Loaded(Made<T> object, std::string name) : object_(std::move(object)), name_(std::move(name)) {}

  explicit operator bool() const { return object_ != nullptr; }
  const T& operator*() const { return *object_; }
  T& operator*() { return *object_; }
  const T* operator->() const { return object_.get(); }
  const std::string& name() const { return name_; }

 private:
  Made<T> object_;
  std::string name_;
};

/// Create the component that a section of the configuration chooses.
/// @throws Error with the plugin and component if it cannot be made.
template <class T>
Loaded<T> create_component(RunHost& host, const RunConfig& config, std::string_view section,
                           const ModelConfig* model_config = nullptr) {
  const std::string name = config.component(section);
  const ComponentEntry* entry = host.registry().find(T::kKind, name);
  if (entry == nullptr) throw Error(std::string(kind_name(T::kKind)) + " `" + name + "` is not registered");
  return Loaded<T>(make_from_plugin<T>(host, *entry, config.section(section), model_config), name);
}

/// Which adapters of `[adapter]` a model has.
enum class WhichAdapters {
  kAll,    ///< a saved one, or new ones for training
  kSaved,  ///< a saved one
};

/// The model of `[model]` before its weights: made once, on the meta device. Models that are opened are made of the
/// same.
class ModelShapes {
 public:
  /// @throws Error if the model cannot be made, or cannot have these adapters
  ModelShapes(RunHost& host, const RunConfig& config, WhichAdapters adapters);

  const RunConfig& config() const { return config_; }
  /// Traits, names and shapes; no memory for weights.
  const Loaded<Model>& model() const { return model_; }
  const ModelTraits& traits() const { return model_->traits(); }
  /// None: all weights are trained.
  const std::optional<AdapterDescription>& adapter() const { return adapter_; }
  /// The modules that can have adapters, in full; none if the model cannot have any.
  std::vector<std::string> adaptable_modules() const;

  /// The same model on a device, with room for weights and nothing in it.
  Loaded<Model> create(at::Device device) const { return create(device, adapter_); }

 private:
  Loaded<Model> create(at::Device device, const std::optional<AdapterDescription>& adapter) const;

  RunHost& host_;
  RunConfig config_;
  ModelConfig made_of_;
  Loaded<Model> model_;
  std::optional<AdapterDescription> adapter_;
};

/// What the model of `[model]` declares, whatever `[adapter]` says.
ModelTraits read_model_traits(RunHost& host, const RunConfig& config);

/// Open the model with the weights of its folder or, with a saved adapter, with what that was trained on.
/// @param shapes  without new adapters
/// @throws Error if the folder's files and the model do not fit together.
Loaded<Model> open_model(const ModelShapes& shapes);

/// The model that a run begins with: weights of `[model] path`, or as `[model] initialize` says; with the adapters of
/// `[adapter]`, saved or new.
Loaded<Model> open_initial_model(Ranks& ranks, const ModelShapes& shapes);

/// The model of a run that continues from one of its checkpoints: that holds the weights or, if the run has adapters,
/// these alone.
Loaded<Model> open_resumed_model(Ranks& ranks, const ModelShapes& shapes, const std::filesystem::path& checkpoint);

/// Bytes of the weights as the model holds them, which may be of shapes: those in 4 bits take less.
std::int64_t weight_bytes(const Model& model);

/// @throws Error if [model] freezes all weights and [adapter] trains nothing instead.
void check_trainable(const RunConfig& config);

std::int64_t parameter_count(const Model& model);

/// Apply `[run] threads` and make `[run] device` ready. @throws Error if the device is not there.
void prepare_device(const RunConfig& config);

}  // namespace drift
