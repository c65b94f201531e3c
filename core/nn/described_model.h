#pragma once

#include <core/nn/transformer_model.h>

#include <drift/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace drift::nn {

struct Description;
struct DescribedConfig;

/// A backbone that a description says all about.
class DescribedModel : public TransformerModel {
 public:
  /// @throws Error as read_config()
  DescribedModel(std::shared_ptr<const Description> description, const ModelConfig& model, const Parameters& params);
  void initialize(const RandomStream& random) override;

 private:
  DescribedModel(std::shared_ptr<const Description> description, const ModelConfig& model,
                 const DescribedConfig& config);

  std::shared_ptr<const Description> description_;
};

using MakeDescribed =
    std::function<std::unique_ptr<Model>(std::shared_ptr<const Description>, const ModelConfig&, const Parameters&)>;

/// Adds the model `name` of a description. drift_add_backbone() (cmake/DriftPlugin.cmake) calls it for a backbone that
/// has no code of its own; one that has calls it with `make`, for a class that is derived from DescribedModel.
/// @param text, file  as parse_description() @throws Error as parse_description()
void add_described(Registry& registry, const std::string& name, std::string_view text, const std::string& file,
                   const MakeDescribed& make = {});

/// Adds a model `name` whose parameter `description` is the path of a description.
void add_users_description(Registry& registry, const std::string& name);

}  // namespace drift::nn
