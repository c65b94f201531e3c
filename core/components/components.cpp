#include <core/components/components.h>

#include <core/base/component_host.h>
#include <core/base/device.h>
#include <core/base/threads.h>
#include <core/boundary/last_word.h>
#include <core/io/checkpoint.h>

#include <ATen/core/grad_mode.h>

namespace drift {
namespace {

at::ScalarType weight_type(const RunConfig& config) {
  return config.section("model").get<std::string>("dtype") == "bfloat16" ? at::kBFloat16 : at::kFloat;
}

at::Device device_of(const RunConfig& config) { return run_device(config.section("run").get<std::string>("device")); }

}  // namespace

Loaded<Model> create_model(const Registry& registry, const RunConfig& config, const std::filesystem::path& folder,
                           at::Device device) {
  const ModelConfig model_config{read_config_json(folder), weight_type(config), device};
  try {
    return create_component<Model>(registry, config, "model", &model_config);
  } catch (const Error& error) {  // the component is given the text, not the file
    throw Error(std::string(error.what()) + "\n  in " + (folder / "config.json").string(), error.hint());
  }
}

Loaded<Model> open_model_shapes(const Registry& registry, const RunConfig& config) {
  return create_model(registry, config, config.section("model").get<std::string>("path"), at::kMeta);
}

ModelTraits read_model_traits(const Registry& registry, const RunConfig& config) {
  return open_model_shapes(registry, config)->traits();
}

Loaded<Model> open_model(const Registry& registry, const RunConfig& config, const std::filesystem::path& folder) {
  auto model = create_model(registry, config, folder, device_of(config));
  const at::NoGradGuard no_gradient;
  load_parameters(folder, model->parameters());
  return model;
}

Loaded<Model> open_initial_model(const Registry& registry, const RunConfig& config) {
  const auto& section = config.section("model");
  const std::filesystem::path folder = section.get<std::string>("path");
  if (section.get<std::string>("initialize") == "checkpoint") return open_model(registry, config, folder);
  auto model = create_model(registry, config, folder, device_of(config));
  const auto seed = static_cast<std::uint64_t>(config.section("run").get<std::int64_t>("seed"));
  (*model).initialize(RandomStream(seed, "initialize"));
  return model;
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.tensor.numel();
  return count;
}

void prepare_device(const RunConfig& config) {
  const auto& run = config.section("run");
  set_component_seed(static_cast<std::uint64_t>(run.get<std::int64_t>("seed")));
  set_call_timeout(run.get<double>("call_timeout"));
  use_threads(run.get<std::int64_t>("threads"));
  device_of(config);
}

}  // namespace drift
