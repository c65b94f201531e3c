#include <core/base/adapters.h>
#include <core/base/trainable.h>
#include <core/conformance/examination.h>
#include <core/conformance/model_trials.h>
#include <core/conformance/settings.h>
#include <core/conformance/watches.h>
#include <core/io/adapter_files.h>
#include <core/io/safetensors_header.h>

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

using Make = std::function<ModelPointer(const std::string&, at::Device)>;

std::string description(const std::vector<std::string>& modules, double dropout = 0) {
  return adapter_json({.rank = kRank, .alpha = kAlpha, .dropout = dropout, .modules = modules, .base = {}});
}

at::Tensor find(const std::vector<NamedTensor>& all, const std::string& name, const char* where) {
  const auto found = std::ranges::find(all, name, &NamedTensor::name);
  if (found == all.end()) throw Error(std::string(where) + " lacks `" + name + "`", "drift/model.h: Adapters");
  return found->tensor;
}

void require_sizes(const std::string& name, const at::Tensor& tensor, at::IntArrayRef sizes) {
  if (tensor.sizes() != sizes)
    throw Error("adapter_parameters: `" + name + "` is " + shape_text(tensor.sizes()) + ", not " + shape_text(sizes));
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
    const std::string a = module + std::string(kAdapterEndingA), b = module + std::string(kAdapterEndingB);
    const at::Tensor weight = find(all, module + ".weight", "parameters()");
    require_sizes(a, find(adapters, a, "adapter_parameters()"), {kRank, weight.size(1)});
    require_sizes(b, find(adapters, b, "adapter_parameters()"), {weight.size(0), kRank});
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
void fill(const Model& adapted, const Model& plain) {
  const at::NoGradGuard no_gradient;
  const auto weights = plain.parameters();
  for (const auto& [name, tensor] : base_parameters(adapted)) tensor.copy_(find(weights, name, "parameters()"));
  for (const auto& [name, tensor] : adapter_parameters(adapted)) tensor.copy_(noise(name, tensor.sizes(), 0.5));
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
  const ModelPointer plain = make("", at::kCPU), adapted = make(description(modules), at::kCPU);
  set_weights(*plain);
  fill(*adapted, *plain);
  ForwardInput input = made_up_input(*plain);
  const at::Tensor without = states_of(*plain, input);
  merge(*plain, *adapted, modules);
  const at::Tensor with = states_of(*plain, input);
  require_close(states_of(*adapted, input), with, kStateRounding,
                "with adapters on " + std::to_string(modules.size()) +
                    " modules the states are not those of the weights W + lora_alpha / r B A");
  const std::int64_t rows = input.tokens_BS.size(0), tokens = input.tokens_BS.size(1);
  input.adapted_B = at::arange(rows, at::kLong).remainder(2).eq(1);
  const at::Tensor switched = states_of(*adapted, input);
  for (std::int64_t b = 0; b < rows; ++b) {
    require_close(switched.narrow(0, b * tokens, tokens), (b % 2 == 1 ? with : without).narrow(0, b * tokens, tokens),
                  kStateRounding,
                  b % 2 == 1 ? "a row for which adapted_B is true does not see the adapters"
                             : "a row for which adapted_B is false does not see the weights alone");
  }
}

/// @return what was found of dropout, for the outcome's line
std::string check_dropout(const Make& make) {
  ModelPointer adapted;
  try {
    adapted = make(description({}, 0.5), at::kCPU);
  } catch (const Refused&) {
    return ", it refuses lora_dropout";
  }
  const ModelPointer plain = make("", at::kCPU);
  set_weights(*plain);
  fill(*adapted, *plain);
  ForwardInput input = made_up_input(*adapted);
  const std::int64_t rows = input.tokens_BS.size(0), tokens = input.tokens_BS.size(1);
  const at::Tensor whole = states_of(*adapted, input);
  input.dropout_key_B = at::arange(5, 5 + rows, at::kLong);
  const at::Tensor dropped = states_of(*adapted, input);
  require_close(states_of(*adapted, input), dropped, kStateRounding, "the same dropout keys leave out other inputs");
  ForwardInput last;
  last.tokens_BS = input.tokens_BS.narrow(0, rows - 1, 1).clone();
  last.dropout_key_B = input.dropout_key_B.narrow(0, rows - 1, 1).clone();
  require_close(states_of(*adapted, last), dropped.narrow(0, (rows - 1) * tokens, tokens), kStateRounding,
                "with a dropout key a row gives other states alone than in a batch");
  input.dropout_key_B = at::full({rows}, 77, at::kLong);
  if (same_bits(dropped, whole) || same_bits(states_of(*adapted, input), dropped))
    throw Error("forward: lora_dropout is 0.5, and the states do not depend on dropout_key_B");
  return "";
}

}  // namespace

std::string check_adapters(const Make& make) {
  const ModelPointer without = make("", at::kMeta);
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
  return std::to_string(modules.size()) + (modules.size() == 1 ? " module" : " modules") + dropout;
}

}  // namespace drift
