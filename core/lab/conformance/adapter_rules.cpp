#include <core/base/adapters.h>
#include <core/base/trainable.h>
#include <core/io/adapter_files.h>
#include <core/io/safetensors_header.h>
#include <core/lab/conformance/examination.h>
#include <core/lab/conformance/inputs.h>
#include <core/lab/conformance/model_trials.h>
#include <core/lab/conformance/settings.h>
#include <core/lab/conformance/watches.h>
#include <core/report/format.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>

#include <algorithm>

namespace drift {
namespace {

constexpr std::int64_t kRank = 2;
constexpr double kAlpha = 6;

using Make = std::function<Made<Model>(const std::string&, at::Device)>;

std::string description(const std::vector<std::string>& modules, double dropout = 0) {
  return adapter_json({.rank = kRank, .alpha = kAlpha, .dropout = dropout, .modules = modules, .base = {}});
}

at::Tensor find(const std::vector<NamedTensor>& all, const std::string& name, const char* where) {
  const auto found = std::ranges::find(all, name, &NamedTensor::name);
  if (found == all.end()) throw Error(std::string(where) + " lacks `" + name + "`", "drift/model.h: Adapters");
  return found->tensor;
}

/// The modules that have an adapter, whose tensors are all as they should be.
std::vector<std::string> checked_modules(const Model& model) {
  const auto adapters = adapter_parameters(model), all = model.parameters();
  const std::vector<std::string> modules = adapted_modules(adapters);
  for (const auto& [name, tensor] : adapters) find(all, name, "parameters()");
  if (modules.size() * 2 != adapters.size())
    throw Error("adapter_parameters: each module has a tensor …" + std::string(kAdapterEndingA) + " and one …" +
                std::string(kAdapterEndingB) + ", and nothing else");
  for (const std::string& module : modules) {
    const at::Tensor weight = find(all, module + ".weight", "parameters()");
    const auto require_sizes = [&](std::string_view ending, at::IntArrayRef sizes) {
      const std::string name = module + std::string(ending);
      const at::Tensor tensor = find(adapters, name, "adapter_parameters()");
      if (tensor.sizes() != sizes)
        throw Error("adapter_parameters: `" + name + "` is " + shape_text(tensor.sizes()) + ", not " +
                    shape_text(sizes));
    };
    require_sizes(kAdapterEndingA, {kRank, weight.size(1)});
    require_sizes(kAdapterEndingB, {weight.size(0), kRank});
  }
  const auto trained = trainable_parameters(model);
  for (const auto& [name, tensor] : trained) {
    if (std::ranges::count(adapters, name, &NamedTensor::name) == 0)
      throw Error("with adapters, parameter `" + name + "` still requires gradients", "freeze all but the adapters");
  }
  if (trained.size() != adapters.size()) throw Error("some of its adapters require no gradients");
  return modules;
}

/// The same frozen weights in both, and something in the adapters.
void fill(const Model& adapted, Model& plain) {
  set_weights(plain);
  const at::NoGradGuard no_gradient;
  const auto weights = plain.parameters();
  for (const auto& [name, tensor] : base_parameters(adapted)) tensor.copy_(find(weights, name, "parameters()"));
  for (const auto& [name, tensor] : adapter_parameters(adapted))
    tensor.copy_(made_up_numbers(name, tensor.sizes(), -0.5, 0.5));
}

/// W + alpha / r B A, in place.
void merge(const Model& plain, const Model& adapted, const std::vector<std::string>& modules) {
  const at::NoGradGuard no_gradient;
  const auto adapters = adapter_parameters(adapted), weights = plain.parameters();
  for (const std::string& module : modules) {
    const at::Tensor a = find(adapters, module + std::string(kAdapterEndingA), "adapter_parameters()");
    const at::Tensor b = find(adapters, module + std::string(kAdapterEndingB), "adapter_parameters()");
    find(weights, module + ".weight", "parameters()").add_(at::matmul(b, a), kAlpha / kRank);
  }
}

/// Without dropout: the sum that is promised, switched by row.
void check_sum(const Make& make, const std::vector<std::string>& modules) {
  const auto plain = make("", at::kCPU), adapted = make(description(modules), at::kCPU);
  fill(*adapted, *plain);
  ForwardInput input = made_up_forward(*plain);
  const at::Tensor without_BSH = states_of(*plain, input);
  merge(*plain, *adapted, modules);
  const at::Tensor with_BSH = states_of(*plain, input);
  require_close(states_of(*adapted, input), with_BSH,
                "with adapters on " + std::to_string(modules.size()) +
                    " modules the states are not those of the weights W + lora_alpha / r B A");
  input.adapted_B = at::arange(kTrialRows, at::kLong).remainder(2).eq(1);
  const at::Tensor switched_BSH = states_of(*adapted, input);
  for (std::int64_t b = 0; b < kTrialRows; ++b) {
    const bool on = b % 2 == 1;
    require_close(switched_BSH[b], (on ? with_BSH : without_BSH)[b],
                  on ? "a row for which adapted_B is true does not see the adapters"
                     : "a row for which adapted_B is false does not see the weights alone");
  }
}

/// @return what was found of dropout, for the outcome's line
std::string check_dropout(const Make& make) {
  Made<Model> adapted;
  try {
    adapted = make(description({}, 0.5), at::kCPU);
  } catch (const Refused&) {
    return ", it refuses lora_dropout";
  }
  const auto plain = make("", at::kCPU);
  fill(*adapted, *plain);
  ForwardInput input = made_up_forward(*adapted);
  const at::Tensor whole_BSH = states_of(*adapted, input);
  input.dropout_key_B = at::arange(5, 5 + kTrialRows, at::kLong);
  const at::Tensor dropped_BSH = states_of(*adapted, input);
  require_close(states_of(*adapted, input), dropped_BSH, "the same dropout keys leave out other inputs");
  require_close(states_of(*adapted, one_row(input, kTrialRows - 1)), dropped_BSH.narrow(0, kTrialRows - 1, 1),
                "with a dropout key a row gives other states alone than in a batch");
  input.dropout_key_B = at::full({kTrialRows}, 77, at::kLong);
  if (same_bits(dropped_BSH, whole_BSH) || same_bits(states_of(*adapted, input), dropped_BSH))
    throw Error("forward: lora_dropout is 0.5, and the states do not depend on dropout_key_B");
  return "";
}

}  // namespace

std::string check_adapters(const Make& make) {
  const auto without = make("", at::kMeta);
  if (capability<Adapters>(*without) == nullptr) throw RuleNotChecked("it has no Adapters");
  if (!adapter_parameters(*without).empty())
    throw Error("adapter_parameters: it made adapters, and adapter_json was empty");
  const auto modules = checked_modules(*make(description({}), at::kMeta));
  if (modules.empty()) throw Error("adapter_parameters: with an empty list of target_modules it has no adapters");
  const std::vector<std::string> one = {modules.back()};
  if (checked_modules(*make(description(one), at::kCPU)) != one)
    throw Error("adapter_parameters: target_modules = [\"" + one.front() + "\"] gives adapters to other modules");
  check_sum(make, modules);
  check_sum(make, one);
  const std::string dropout = check_dropout(make);
  return count_of(std::ssize(modules), "module") + dropout;
}

}  // namespace drift
