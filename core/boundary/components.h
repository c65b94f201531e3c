#pragma once

#include <drift/error.h>
#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/registry.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <core/boundary/adapters.h>
#include <core/boundary/made.h>
#include <core/config/run_config.h>

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
Loaded<T> create_component(const Registry& registry, const RunConfig& config, std::string_view section,
                           const ModelConfig* model_config = nullptr) {
  const std::string name = config.component(section);
  const ComponentEntry* entry = registry.find(T::kKind, name);
  if (entry == nullptr) throw Error(std::string(kind_name(T::kKind)) + " `" + name + "` is not registered");
  return Loaded<T>(make_from_plugin<T>(*entry, config.section(section), model_config), name);
}

/// The model of `[model]` on the meta device, with the adapters of `[adapter]`: traits, names and shapes, no memory for
/// weights.
Loaded<Model> open_model_shapes(const Registry& registry, const RunConfig& config);

/// The modules of the model of `[model]` that can have adapters, in full; none if it cannot have any.
std::vector<std::string> adaptable_modules(const Registry& registry, const RunConfig& config);

/// The model of `[model]` on a device, with room for weights and nothing in it.
/// @param adapter  as ModelConfig::adapter_json; empty: without adapters
Loaded<Model> create_model(const Registry& registry, const RunConfig& config, const std::filesystem::path& folder,
                           at::Device device, const std::string& adapter = {});

/// What the model of `[model]` declares: config.json is read, no memory is allocated for weights.
ModelTraits read_model_traits(const Registry& registry, const RunConfig& config);

/// Open the model that `[model]` names, with weights from `folder` (a checkpoint) or, if the configuration says so,
/// random; and the saved adapter of adapter.path, if there is one.
/// @throws Error if the folder's files and the model do not fit together.
Loaded<Model> open_model(const Registry& registry, const RunConfig& config, const std::filesystem::path& folder);

/// The model that a run begins with: weights of `[model] path`, or as `[model] initialize` says; with the adapters of
/// `[adapter]`, saved or new.
Loaded<Model> open_initial_model(const Registry& registry, const RunConfig& config);

/// The model of a run that continues from one of its checkpoints: that holds the weights or, if the run has adapters,
/// these alone.
Loaded<Model> open_resumed_model(const Registry& registry, const RunConfig& config,
                                 const std::filesystem::path& checkpoint);

/// The adapters that a run trains; none: it trains all weights.
std::optional<AdapterDescription> run_adapter(const Registry& registry, const RunConfig& config);

/// Bytes of the weights as the model holds them, which may be of shapes: those in 4 bits take less.
std::int64_t weight_bytes(const Model& model);

/// @throws Error if [model] freezes all weights and [adapter] trains nothing instead.
void check_trainable(const RunConfig& config);

std::int64_t parameter_count(const Model& model);

/// Apply `[run] seed` and `threads` and make `[run] device` ready. @throws Error if the device is not there.
void prepare_device(const RunConfig& config);

}  // namespace drift
