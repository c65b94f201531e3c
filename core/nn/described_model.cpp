#include <core/nn/described_model.h>

#include <core/nn/described_config.h>
#include <core/nn/initialization.h>
#include <core/nn/known_models.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

namespace drift::nn {
namespace {

using SharedDescription = std::shared_ptr<const Description>;

struct KnownModels {
  std::mutex mutex;
  std::map<std::string, SharedDescription> by_name;
};

KnownModels& known_models() {
  static KnownModels known;
  return known;
}

std::unique_ptr<Model> make_described(const SharedDescription& description, const ComponentContext& context) {
  return std::make_unique<DescribedModel>(description, *context.model_config, *context.params);
}

SharedDescription read_users_description(const Parameters& params) {
  const auto path = params.get<std::string>("description");
  if (path.empty())
    throw Error("no description is named", "[model] description = \"FILE.toml\": docs/backbones.md says what it holds");
  constexpr std::streamsize kLargestFile = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargestFile + 1, '\0');
  file.read(text.data(), kLargestFile + 1);
  if (file.bad() || (file.gcount() == 0 && !file.eof())) throw Error("cannot read the description " + path);
  if (file.gcount() > kLargestFile) throw Error(path + " is no description: it has more than 1 MiB");
  text.resize(static_cast<std::size_t>(file.gcount()));
  return std::make_shared<const Description>(parse_description(text, path));
}

}  // namespace

DescribedModel::DescribedModel(SharedDescription description, const ModelConfig& model, const Parameters& params)
    : DescribedModel(description, model, read_config(*description, model, params)) {}

DescribedModel::DescribedModel(SharedDescription description, const ModelConfig& model, const DescribedConfig& config)
    : TransformerModel(config.shape, description->tensors, config.traits, model),
      description_(std::move(description)) {}

void DescribedModel::initialize(const RandomStream& random) {
  const auto& [mitchell, deviation, cut] = description_->initialization;
  const at::NoGradGuard no_gradient;
  const double everywhere = mitchell ? 1.0 / std::sqrt(static_cast<double>(shape().hidden)) : deviation;
  std::map<std::string, double> to_residual;
  for (std::int64_t layer = 0; mitchell && layer < shape().layers; ++layer) {
    const double depth = 2.0 * static_cast<double>(layer + 1);
    const auto name = [&](const std::string& of) { return layer_name(of, static_cast<std::size_t>(layer)); };
    to_residual[name(description_->tensors.attention_out)] =
        1.0 / std::sqrt(depth * static_cast<double>(shape().heads * shape().head_dimension));
    to_residual[name(description_->tensors.down)] = 1.0 / std::sqrt(depth * static_cast<double>(shape().feed_forward));
  }
  for (const auto& [name, tensor] : parameters()) {
    if (name.ends_with("bias")) {
      tensor.zero_();
    } else if (tensor.dim() == 1) {
      tensor.fill_(1);
    } else {
      const auto found = to_residual.find(name);
      fill_normal(tensor, found == to_residual.end() ? everywhere : found->second, cut, random.child(name));
    }
  }
  if (shape().padding_row >= 0) parameters().front().tensor.select(0, shape().padding_row).zero_();
}

void add_described(Registry& registry, const std::string& name, std::string_view text, const std::string& file,
                   const MakeDescribed& make) {
  const auto description = std::make_shared<const Description>(parse_description(text, file));
  registry.add(ComponentKind::kModel, name, description->summary, described_parameters(*description),
               [description, make](const ComponentContext& context) -> std::unique_ptr<Component> {
                 if (make) return make(description, *context.model_config, *context.params);
                 return make_described(description, context);
               });
  auto& known = known_models();
  const std::lock_guard lock(known.mutex);
  known.by_name[name] = description;
}

void add_users_description(Registry& registry, const std::string& name) {
  registry.add(
      ComponentKind::kModel, name, "A backbone that a description says all about: a TOML file of the user's.",
      {path("description", "", "the description")},
      [](const ComponentContext& context) -> std::unique_ptr<Component> {
        return make_described(read_users_description(*context.params), context);
      },
      [](const Parameters& params) {
        if (params.get<std::string>("description").empty()) return ComponentDeclaration();
        const auto description = read_users_description(params);
        return ComponentDeclaration{.doc = description->summary, .params = described_parameters(*description)};
      });
}

std::vector<std::string> models_that_take(const std::string& config_json) {
  const auto config = nlohmann::json::parse(config_json, nullptr, false);
  auto& known = known_models();
  const std::lock_guard lock(known.mutex);
  std::vector<std::string> names;
  for (const auto& [name, description] : known.by_name) {
    if (description->selects(config)) names.push_back(name);
  }
  return names;
}

}  // namespace drift::nn
