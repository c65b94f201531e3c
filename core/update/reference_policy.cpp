#include <core/update/reference_policy.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/lerp.h>

#include <algorithm>
#include <cassert>

namespace drift {
namespace {

const std::string kStatePrefix = "reference.";

}  // namespace

ReferenceSettings ReferenceSettings::from(const Params& section) {
  const auto policy = section.get<std::string>("policy");
  ReferenceSettings settings;
  settings.kind = policy == "frozen" ? ReferenceKind::kFrozen
                  : policy == "ema"  ? ReferenceKind::kMovingAverage
                                     : ReferenceKind::kOld;
  settings.sync_steps = section.get<std::int64_t>("sync_steps");
  settings.mix = section.get<double>("mix");
  settings.offload = section.get<bool>("offload");
  if (settings.offload && settings.kind == ReferenceKind::kMovingAverage) {
    throw Error("reference.offload needs a reference policy that stays as the checkpoint's files are",
                "set reference.policy = \"frozen\", or reference.offload = false");
  }
  return settings;
}

ReferencePolicy::ReferencePolicy(const ReferenceSettings& settings, Loaded<Model> model)
    : settings_(settings), model_(std::move(model)) {
  assert(is_old_policy() || model_);
}

ReferencePolicy::ReferencePolicy(const ReferenceSettings& settings, const Model& policy_with_adapters)
    : settings_(settings), shared_(&policy_with_adapters) {
  if (settings.kind == ReferenceKind::kMovingAverage)
    throw Error("reference.policy = \"ema\" moves the reference, which is the frozen model where adapters are trained",
                "reference.policy = \"frozen\", or \"old\"; or adapter.kind = \"none\"");
}

void ReferencePolicy::after_optimizer_step(std::int64_t count, const Model& policy) {
  if (settings_.kind != ReferenceKind::kMovingAverage || count % settings_.sync_steps != 0) return;
  const at::NoGradGuard no_gradient;
  const auto from = policy.parameters();
  const auto to = model_->parameters();
  for (std::size_t p = 0; p < to.size(); ++p) {
    auto reference = to[p].tensor;
    reference.lerp_(from[p].tensor, settings_.mix);
  }
}

std::vector<NamedTensor> ReferencePolicy::state() const {
  std::vector<NamedTensor> state;
  if (settings_.kind != ReferenceKind::kMovingAverage) return state;
  for (const NamedTensor& parameter : model_->parameters()) {
    state.push_back({kStatePrefix + parameter.name, parameter.tensor.detach().cpu()});
  }
  return state;
}

void ReferencePolicy::load_state(const std::vector<NamedTensor>& state) {
  if (settings_.kind != ReferenceKind::kMovingAverage) return;
  const at::NoGradGuard no_gradient;
  for (const NamedTensor& parameter : model_->parameters()) {
    const std::string name = kStatePrefix + parameter.name;
    const auto saved =
        std::find_if(state.begin(), state.end(), [&](const NamedTensor& tensor) { return tensor.name == name; });
    if (saved == state.end() || saved->tensor.sizes() != parameter.tensor.sizes()) {
      throw Error("the training state lacks `" + name + "`",
                  "the checkpoint was written by another version of Drift, or without reference.policy = \"ema\"");
    }
    auto reference = parameter.tensor;
    reference.copy_(saved->tensor);
  }
}

}  // namespace drift
