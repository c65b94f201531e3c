#include <core/update/reference_policy.h>

#include <core/boundary/divided_weights.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/lerp.h>

#include <algorithm>
#include <cassert>

namespace drift {
namespace {

const std::string kStatePrefix = "reference.";

}  // namespace

ReferenceSettings reference_settings(const RunConfig& config) {
  const auto settings = config.get<ReferenceSettings>();
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
  if (!moves() || count % settings_.sync_steps != 0) return;
  const at::NoGradGuard no_gradient;
  const auto from = held_weights(policy), to = held_weights(*model_);
  for (std::size_t p = 0; p < to.size(); ++p) {
    auto reference = to[p].values;
    reference.lerp_(from[p].values, settings_.mix);
  }
}

std::vector<NamedTensor> ReferencePolicy::state() const {
  std::vector<NamedTensor> state;
  if (!moves()) return state;
  for (const HeldWeight& weight : held_weights(*model_)) {
    const auto whole = weight.parameter.options().device(at::kMeta).requires_grad(false);
    state.push_back({kStatePrefix + weight.name,
                     weight.is_share ? at::empty(weight.parameter.sizes(), whole) : weight.values.detach().cpu()});
  }
  return state;
}

std::vector<TensorPart> ReferencePolicy::state_parts() const {
  std::vector<TensorPart> parts;
  if (!moves()) return parts;
  for (const HeldWeight& weight : held_weights(*model_)) {
    if (weight.is_share) parts.push_back({kStatePrefix + weight.name, weight.first, weight.values.cpu()});
  }
  return parts;
}

void ReferencePolicy::load_state(const std::vector<NamedTensor>& state) {
  if (!moves()) return;
  const at::NoGradGuard no_gradient;
  for (const HeldWeight& weight : held_weights(*model_)) {
    const std::string name = kStatePrefix + weight.name;
    const auto saved =
        std::find_if(state.begin(), state.end(), [&](const NamedTensor& tensor) { return tensor.name == name; });
    if (saved == state.end() || saved->tensor.sizes() != weight.parameter.sizes()) {
      throw Error("the training state lacks `" + name + "`",
                  "the checkpoint was written by another version of Drift, or without reference.policy = \"ema\"");
    }
    auto reference = weight.values;
    reference.copy_(weight.is_share ? saved->tensor.view({-1}).narrow(0, weight.first, reference.numel())
                                    : saved->tensor);
  }
}

}  // namespace drift
