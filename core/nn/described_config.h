#pragma once

#include <core/nn/description.h>

#include <drift/params.h>

#include <vector>

namespace drift::nn {

/// What a checkpoint's config.json says by a description. `traits` without what the shape says.
struct DescribedConfig {
  TransformerShape shape;
  ModelTraits traits;
};

/// Parameters of every backbone that is made of a description.
std::vector<Parameter> described_parameters(const Description& description);

/// @param params  as described_parameters() declares them
/// @throws Error naming every key that is missing, of the wrong type, unknown, or set to something that would change
/// the numbers and is not supported, and for an unknown one the list of the description that it would have to join.
DescribedConfig read_config(const Description& description, const ModelConfig& model, const Parameters& params);

}  // namespace drift::nn
