#include <core/components/components.h>

#include <core/base/device.h>
#include <core/io/checkpoint.h>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <malloc.h>
#include <cstdlib>
#include <thread>

namespace drift {
namespace {

at::ScalarType weight_type(const RunConfig& config) {
  return config.section("model").get<std::string>("dtype") == "bfloat16" ? at::kBFloat16 : at::kFloat;
}

Loaded<Model> create_model(const Registry& registry, const RunConfig& config, const std::filesystem::path& folder,
                           at::Device device) {
  const ModelConfig model_config{read_config_json(folder), weight_type(config), device};
  return create_component<Model>(registry, config, "model", &model_config);
}

at::Device device_of(const RunConfig& config) { return run_device(config.section("run").get<std::string>("device")); }

}  // namespace

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
  // Activations come and go in every layer. Memory that goes back to the system each time comes back as page faults,
  // which took a sixth of a small model's step.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  // bfloat16 products go through oneDNN, which compiles and keeps one for every shape; a rollout has a new shape at
  // every step. Its default of 1024, kept again by every thread, came to 0.8 GiB beside a model of one. Read at first
  // use.
  setenv("LRU_CACHE_CAPACITY", "16", /*overwrite=*/0);
  setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "512", /*overwrite=*/0);
  const auto& run = config.section("run");
  set_component_seed(static_cast<std::uint64_t>(run.get<std::int64_t>("seed")));
  auto threads = run.get<std::int64_t>("threads");
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  at::set_num_threads(static_cast<int>(threads));
  device_of(config);
}

}  // namespace drift
