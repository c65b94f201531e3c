#include <core/boundary/components.h>

#include <core/base/adapters.h>
#include <core/base/device.h>
#include <core/base/log.h>
#include <core/base/threads.h>
#include <core/boundary/checked.h>
#include <core/boundary/divided_weights.h>
#include <core/io/checkpoint.h>
#include <core/io/checkpoint_weights.h>
#include <core/io/file_error.h>
#include <core/io/json.h>
#include <core/kernels/product.h>
#include <core/nn/known_models.h>
#include <core/nn/packed_weights.h>

#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace drift {
namespace fs = std::filesystem;
namespace {

fs::path model_folder(const RunConfig& config) { return config.get<ModelSettings>().path; }

at::ScalarType weight_type(const RunConfig& config) {
  return config.get<ModelSettings>().bfloat16 ? at::kBFloat16 : at::kFloat;
}

at::Device device_of(const RunConfig& config) { return run_device(config.get<RunSettings>().device_name()); }

bool is_quantized(const RunConfig& config) { return config.get<ModelSettings>().is_quantized(); }

/// Of a model of shapes, without adapters.
ModelConfig model_config_of(const RunConfig& config) {
  const fs::path folder = model_folder(config);
  ModelConfig model_config{read_config_json(folder), weight_type(config), at::kMeta};
  if (const auto file = folder / "generation_config.json"; is_there(file))
    model_config.generation_config_json = read_json_text(file);
  if (is_quantized(config)) model_config.quantization = config.get<ModelSettings>().quantize;
  return model_config;
}

Loaded<Model> create_model(RunHost& host, const RunConfig& config, const ModelConfig& model_config) try {
  auto model = create_component<Model>(host, config, "model", &model_config);
  if (is_quantized(config) && capability<nn::PackedWeights>(*model) == nullptr) {
    throw Error(
        "the model `" + model.name() + "` cannot hold its weights in 4 bits: it lacks the capability `PackedWeights`",
        "[model] quantize = \"none\"; backbones built on core/nn have it");
  }
  return model;
} catch (const Error& error) {  // the component is given the text, not the file
  const auto fitting = nn::models_that_take(model_config.config_json);
  const bool is_other = !fitting.empty() && std::ranges::count(fitting, config.component("model")) == 0;
  throw Error(
      std::string(error.what()) + "\n  in " + (model_folder(config) / "config.json").string(),
      is_other ? "the description of another model selects this checkpoint: [model] name = \"" + fitting.front() + "\""
               : error.hint());
}

/// Of weights that are divided among ranks, this rank's share.
void load_shares(DividedWeights& divided, const fs::path& folder, std::vector<NamedTensor> parameters) {
  check_parameters(folder, parameters);
  const CheckpointWeights weights(folder);
  divided.read(weights);
  std::erase_if(parameters, [&](const NamedTensor& one) { return divided.shares().contains(one.name); });
  read_parameters(weights, parameters);
}

/// Matrices that the model holds in fewer bits are handed to it one by one.
void load_weights(Model& model, const fs::path& folder, const std::vector<NamedTensor>& parameters) {
  const at::NoGradGuard no_gradient;
  if (auto* divided = divided_weights(model)) return load_shares(*divided, folder, parameters);
  auto* packed = capability<nn::PackedWeights>(model);
  load_parameters(folder, parameters, [&](const std::string& name, const at::Tensor& weight) {
    if (packed != nullptr) packed->pack(name, weight);
  });
}

void load_or_initialize(Ranks& ranks, Model& model, const RunConfig& config) {
  const fs::path folder = model_folder(config);
  const auto seed = config.get<RunSettings>().seed;
  if (!config.get<ModelSettings>().random_weights) {
    if (divides_weights(ranks, config)) divide_weights(ranks, model);  // before its memory is touched
    load_weights(model, folder, has_adapter(config) ? base_parameters(model) : model.parameters());
    return;
  }
  if (is_quantized(config)) {
    throw Error("[model] quantize needs a checkpoint to read: weights that are drawn are not packed",
                "[model] initialize = \"checkpoint\"; drift model random writes random checkpoints");
  }
  checked_initialize(model, RandomStream(seed, "initialize"));
  if (divides_weights(ranks, config)) divide_weights(ranks, model);
}

}  // namespace

ModelShapes::ModelShapes(RunHost& host, const RunConfig& config, WhichAdapters adapters)
    : host_(host), config_(config), made_of_(model_config_of(config)) {
  if (!has_adapter(config) || (adapters == WhichAdapters::kSaved && config.get<AdapterSettings>().path.empty())) {
    model_ = create(at::kMeta);
    return;
  }
  adapter_ = described_adapter(config);
  AdapterDescription everywhere = *adapter_;
  everywhere.modules.clear();
  model_ = create(at::kMeta, everywhere);
  const auto available = adapted_modules(adapter_parameters(*model_));
  if (available.empty())
    throw Error("the model `" + config.component("model") + "` cannot have adapters",
                "adapter.kind = \"none\" trains all weights; drift/model.h says how a model makes adapters");
  adapter_->modules = modules_of(*adapter_, config, available);
  adapter_->base = model_folder(config);
  if (adapter_->modules.size() < available.size()) model_ = create(at::kMeta);
}

std::vector<std::string> ModelShapes::adaptable_modules() const {
  const AdapterDescription everywhere{.rank = 1, .alpha = 1, .dropout = 0, .modules = {}, .base = {}};
  return adapted_modules(adapter_parameters(*create(at::kMeta, everywhere)));
}

Loaded<Model> ModelShapes::create(at::Device device, const std::optional<AdapterDescription>& adapter) const {
  ModelConfig model_config = made_of_;
  model_config.device = device;
  if (adapter) model_config.adapter_json = adapter_json(*adapter);
  return create_model(host_, config_, model_config);
}

ModelTraits read_model_traits(RunHost& host, const RunConfig& config) {
  return create_model(host, config, model_config_of(config))->traits();
}

Loaded<Model> open_model(const ModelShapes& shapes) {
  const RunConfig& config = shapes.config();
  auto model = shapes.create(device_of(config));
  if (!shapes.adapter()) {
    load_weights(*model, model_folder(config), model->parameters());
  } else {
    const fs::path adapter = config.get<AdapterSettings>().path;
    require_trained_base(adapter, model_folder(config));
    Ranks alone;
    load_or_initialize(alone, *model, config);
    load_adapter(adapter, adapter_parameters(*model));
  }
  return model;
}

Loaded<Model> open_initial_model(Ranks& ranks, const ModelShapes& shapes) {
  const RunConfig& config = shapes.config();
  auto model = shapes.create(device_of(config));
  load_or_initialize(ranks, *model, config);
  if (!has_adapter(config)) return model;
  const auto adapters = adapter_parameters(*model);
  const fs::path saved = config.get<AdapterSettings>().path;
  if (!saved.empty()) {
    require_trained_base(saved, model_folder(config));
    load_adapter(saved, adapters);
  } else {
    const auto seed = config.get<RunSettings>().seed;
    initialize_adapters(adapters, RandomStream(seed, "adapter"));
    if (const auto excess = excess_rank(adapters); !excess.empty()) log_warning(excess);
  }
  return model;
}

Loaded<Model> open_resumed_model(Ranks& ranks, const ModelShapes& shapes, const fs::path& checkpoint) {
  const RunConfig& config = shapes.config();
  auto model = shapes.create(device_of(config));
  if (has_adapter(config)) {
    load_or_initialize(ranks, *model, config);
    load_adapter(checkpoint, adapter_parameters(*model));
  } else {
    if (divides_weights(ranks, config)) divide_weights(ranks, *model);
    load_weights(*model, checkpoint, model->parameters());
  }
  return model;
}

void check_trainable(const RunConfig& config) {
  if (!is_quantized(config) || has_adapter(config)) return;
  throw Error("[model] quantize = \"" + config.get<ModelSettings>().quantize +
                  "\" freezes the weights, so that there is nothing to train",
              "train an adapter on them: [adapter] kind = \"lora\"; or [model] quantize = \"none\"");
}

std::int64_t weight_bytes(const Model& model) {
  const auto* packed = capability<nn::PackedWeights>(model);
  std::int64_t bytes = packed == nullptr ? 0 : packed->packed_bytes(),
               wide = packed == nullptr ? 0 : -packed->packed_values();
  for (const auto& parameter : model.parameters()) wide += parameter.tensor.numel();
  return bytes + wide * static_cast<std::int64_t>(model.lm_head_VH().element_size());
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.tensor.numel();
  return count;
}

void prepare_device(const RunConfig& config) {
  const auto run = config.get<RunSettings>();
  using enum kernels::Bfloat16Products;
  kernels::use_bfloat16_products(run.bfloat16_products == "native"    ? kNative
                                 : run.bfloat16_products == "widened" ? kWidened
                                                                      : kernels::measured_bfloat16_products());
  use_threads(run.threads);
  if (run.is_deterministic()) use_deterministic_algorithms();
  device_of(config);
}

}  // namespace drift
