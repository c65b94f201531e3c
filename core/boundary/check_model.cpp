#include <core/boundary/checks.h>
#include <core/boundary/tensor_words.h>
#include <core/nn/packed_weights.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/all.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace drift {
namespace {

constexpr const char* kModelHint = "drift/model.h says what a model declares";

void require(bool holds, const std::string& what) {
  if (!holds) throw Error(what, kModelHint);
}

void check_traits(const ModelTraits& traits) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const auto at_least_1 = [&](const char* name, std::int64_t value) {
    require(value >= 1, "traits: " + std::string(name) + " is " + number(value));
  };
  at_least_1("vocabulary_size", traits.vocabulary_size);
  at_least_1("hidden_size", traits.hidden_size);
  at_least_1("context_length", traits.context_length);
  const auto is_token = [&](const char* name, std::int64_t id, std::int64_t lowest) {
    require(id >= lowest && id < traits.vocabulary_size, "traits: " + std::string(name) + " is " + number(id) +
                                                             ", outside the vocabulary of " +
                                                             number(traits.vocabulary_size));
  };
  is_token("mask_id", traits.mask_id, 0);
  is_token("pad_id", traits.pad_id, 0);
  is_token("end_id", traits.end_id, -1);
  for (const std::int64_t id : traits.further_end_ids) is_token("further_end_ids", id, 0);
  require(traits.prediction_row == PredictionRow::kSame || traits.prediction_row == PredictionRow::kPrevious,
          "traits: prediction_row is unknown");
  bool forbids_mask = false;
  std::int64_t allowed = 0, next = 0;  // ids that may be written, and where the search for more goes on
  auto forbidden = traits.forbidden_output_ids;
  std::ranges::sort(forbidden);
  for (const auto& [begin, end] : forbidden) {
    require(begin >= 0 && begin <= end,
            "traits: forbidden_output_ids holds [" + number(begin) + ", " + number(end) + ")");
    forbids_mask = forbids_mask || (begin <= traits.mask_id && traits.mask_id < end);
    allowed += std::max<std::int64_t>(0, std::min(begin, traits.vocabulary_size) - next);
    next = std::max(next, end);
  }
  allowed += std::max<std::int64_t>(0, traits.vocabulary_size - next);
  require(forbids_mask, "traits: forbidden_output_ids leaves out the mask id, " + number(traits.mask_id));
  require(allowed > 0, "traits: forbidden_output_ids leaves no token to write");
}

void check_parameters(const Model& model, const ModelConfig& config) {
  std::set<std::string> names;
  const bool may_be_packed = nn::Packing::of(config).nf4;  // where packed weights were, only shapes are left
  const auto parameters = model.parameters(), again = model.parameters();
  require(parameters.size() == again.size(), "parameters() gives another number of tensors when it is called again");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, tensor] = parameters[i];
    require(!name.empty(), "a parameter has no name");
    require(names.insert(name).second, "two parameters have the name `" + name + "`");
    require(tensor.defined() && at::isFloatingType(tensor.scalar_type()) && tensor.layout() == at::kStrided &&
                (tensor.device().type() == config.device.type() || (may_be_packed && tensor.is_meta())),
            "parameter `" + name + "` must be of a floating-point type on " + config.device.str() + ", not " +
                tensor_words(tensor));
    require(tensor.is_leaf(), "parameter `" + name + "` is no leaf: it was computed from another tensor");
    require(
        again[i].name == name && again[i].tensor.is_alias_of(tensor),
        "parameter `" + name + "` is not the model's own: parameters() gives another tensor when it is called again");
  }
  require(!names.empty(), "it has no parameters");
}

}  // namespace

void check_model(const Model& model, const ModelConfig& config) {
  const ModelTraits& traits = model.traits();
  check_traits(traits);
  require(model.device().type() == config.device.type(),
          "it lies on " + model.device().str() + ", and " + config.device.str() + " was asked for");
  require(model.dtype() == config.dtype,
          "it is of type " + type_words(model.dtype()) + ", and " + type_words(config.dtype) + " was asked for");
  check_parameters(model, config);
  require_tensor("lm_head_VH", model.lm_head_VH(), config.dtype, {traits.vocabulary_size, traits.hidden_size},
                 config.device, "its shape is [vocabulary_size, hidden_size] of the traits");
}

void spoil_parameters(const Model& model) {
  for (const NamedTensor& parameter : model.parameters())
    parameter.tensor.fill_(std::numeric_limits<double>::quiet_NaN());
}

void check_initialized(const Model& model) {
  for (const auto& [name, tensor] : model.parameters()) {
    require(at::isfinite(tensor).all().item<bool>(),
            "it left parameter `" + name + "` without values, or with some that are not finite");
  }
}

void check_hidden(const at::Tensor& hidden_NH, std::int64_t rows, const Model& model) {
  require_tensor("hidden states", hidden_NH, model.dtype(), {rows, model.traits().hidden_size}, model.device(),
                 "Model::forward gives [N, H]: a row for each of rows_N or, without them, for each token");
  // A device is not waited for: there, what comes of the states is found not to be finite.
  if (!hidden_NH.is_cpu()) return;
  const at::NoGradGuard no_gradient;
  // A sum passes on what is not finite; only one that overflowed has to be looked at again.
  if (!std::isfinite(hidden_NH.sum().item<double>()) && !at::isfinite(hidden_NH).all().item<bool>())
    throw Error("the hidden states are not finite",
                "the weights have diverged: go back to an earlier checkpoint with a lower learning rate");
}

}  // namespace drift
