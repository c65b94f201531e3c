#include <core/base/trainable.h>
#include <core/boundary/checked.h>
#include <core/lab/conformance/inputs.h>
#include <core/lab/conformance/model_trials.h>
#include <core/lab/conformance/trials.h>

#include <drift/cached_forward.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/any.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

constexpr double kNarrowRounding = 0.2, kSlopeTolerance = 1e-4, kStep = 1e-5, kSameRounding = 1e-6;

void check_rows(const Model& model) {
  ForwardInput some = made_up_forward(model);
  const at::Tensor hidden_NH = states_of(model, some).flatten(0, 1);
  some.rows_N = at::tensor({20, 0, 9, 9}, at::kLong);
  require_close(states_of(model, some), hidden_NH.index_select(0, some.rows_N),
                "rows_N gives other states than all rows do");
  checked_bytes_per_row(model, kTrialTokens);
}

void check_batch(const Model& model) {
  const ForwardInput all = made_up_forward(model);
  const at::Tensor hidden_BSH = states_of(model, all);
  for (std::int64_t b = 0; b < kTrialRows; ++b)
    require_close(states_of(model, one_row(all, b)), hidden_BSH.narrow(0, b, 1),
                  "a row gives other states alone than in a batch");
}

void check_padding(const Model& model) {
  constexpr std::int64_t kPadding = 4;
  const ForwardInput plain = made_up_forward(model);
  ForwardInput padded;
  const std::int64_t pad = std::max<std::int64_t>(model.traits().pad_id, 0);
  padded.tokens_BS = at::cat({at::full({kTrialRows, kPadding}, pad, at::kLong), plain.tokens_BS}, 1);
  padded.key_mask_BS =
      at::cat({at::zeros({kTrialRows, kPadding}, at::kBool), at::ones({kTrialRows, kTrialTokens}, at::kBool)}, 1);
  require_close(states_of(model, padded).narrow(1, kPadding, kTrialTokens), states_of(model, plain),
                "padding on the left changes the states; positions count from the first token that the key mask keeps");
}

/// A number that every parameter has a part in, and its gradient.
at::Tensor objective(const Model& model, bool recompute = false) {
  ForwardInput input = made_up_forward(model);
  input.recompute_blocks = recompute;
  const at::Tensor logits_NV = at::mm(checked_forward(model, input), model.lm_head_VH().t());
  return (logits_NV * made_up_numbers("objective", logits_NV.sizes(), -1, 1).to(logits_NV.scalar_type())).sum();
}

/// By each of the trained parameters; undefined, where there is none.
std::vector<at::Tensor> gradients(const Model& model, bool recompute = false) {
  std::vector<at::Tensor> leaves;
  for (const NamedTensor& parameter : trainable_parameters(model)) leaves.push_back(parameter.tensor);
  auto found = torch::autograd::grad({objective(model, recompute)}, leaves, {}, std::nullopt, false,
                                     /*allow_unused=*/true);
  for (at::Tensor& gradient : found) {
    if (gradient.defined() && gradient.is_sparse()) gradient = gradient.to_dense();  // of an embedding
  }
  return found;
}

/// body(parameter, its gradient) for all that are trained. @return "12 parameters"
template <class Body>
std::string for_gradients(const Model& model, const Body& body) {
  const auto parameters = trainable_parameters(model);
  const auto found = gradients(model);
  for (std::size_t i = 0; i < parameters.size(); ++i) body(parameters[i], found[i]);
  return std::to_string(parameters.size()) + " parameters";
}

std::string check_reached(const Model& model) {
  return for_gradients(model, [](const NamedTensor& parameter, const at::Tensor& gradient) {
    if (!gradient.defined() || !(gradient != 0).any().item<bool>())
      throw Error("no gradient reaches parameter `" + parameter.name + "`",
                  "use it in forward() without detach(), or freeze it: set_requires_grad(false)");
  });
}

/// The slope of the objective along one direction of each parameter.
std::string check_gradient(const Model& model) {
  return for_gradients(model, [&](const NamedTensor& parameter, const at::Tensor& by_parameter) {
    const at::NoGradGuard no_gradient;
    at::Tensor tensor = parameter.tensor;
    const at::Tensor before = tensor.clone(),
                     direction = made_up_numbers(parameter.name + " direction", tensor.sizes(), -1, 1);
    const auto value_at = [&](double step) {
      tensor.copy_(before).add_(direction, step);
      return objective(model).item<double>();
    };
    const double slope = (value_at(kStep) - value_at(-kStep)) / (2 * kStep);
    tensor.copy_(before);
    const double gradient = by_parameter.defined() ? (by_parameter * direction).sum().item<double>() : 0;
    if (std::abs(gradient - slope) <= kSlopeTolerance * std::max(1.0, std::abs(slope))) return;
    char text[96];
    std::snprintf(text, sizeof text, " is %.6g along a direction, but finite differences give %.6g", gradient, slope);
    throw Error("gradient: that by parameter `" + parameter.name + "`" + text);
  });
}

void check_recompute(const Model& model) {
  const auto recomputed = gradients(model, /*recompute=*/true);
  std::size_t i = 0;
  for_gradients(model, [&](const NamedTensor& parameter, const at::Tensor& kept) {
    const at::Tensor& again = recomputed[i++];
    if (kept.defined() != again.defined() || (kept.defined() && largest_difference(again, kept) > kStateRounding))
      throw Error("recompute_blocks changes the gradient of parameter `" + parameter.name + "`");
  });
}

void check_cache(const Model& model) {
  const auto cache = checked_cache(model, kTrialRows, kTrialTokens);
  if (!cache) throw RuleNotChecked("it has no CachedForward");
  const at::NoGradGuard no_gradient;
  const ForwardInput all = made_up_forward(model);
  const at::Tensor expected_BSH = states_of(model, all);
  CacheWindow window;
  window.begin_B = at::zeros({kTrialRows}, at::kLong);
  require_close(checked_window(model, all, window, *cache), expected_BSH.flatten(0, 1),
                "the window of all positions gives other states");
  // Nothing changed, so what stands in the cache is what a full forward would compute.
  constexpr std::int64_t kBegin = 4, kLeft = kTrialTokens - kBegin;
  const auto again = cache->select(at::arange(kTrialRows, at::kLong));
  window.begin_B = at::full({kTrialRows}, kBegin, at::kLong);
  ForwardInput end;
  end.tokens_BS = all.tokens_BS.narrow(1, kBegin, kLeft).contiguous();
  require_close(checked_window(model, end, window, *again), expected_BSH.narrow(1, kBegin, kLeft).flatten(0, 1),
                "a window of unchanged tokens gives other states");
}

void check_without_memory(const Model& without, const Model& model) {
  const bool same =
      std::ranges::equal(without.parameters(), model.parameters(), [](const NamedTensor& a, const NamedTensor& b) {
        return a.name == b.name && a.tensor.sizes() == b.tensor.sizes();
      });
  if (!same) throw Error("its parameters differ on the meta device");
}

}  // namespace

void check_model_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination) {
  ModelConfig config;
  config.config_json = with.model_config.empty() ? "{}" : with.model_config;
  const auto without_weights = [&](const Setting& setting, at::Device device, const std::string& adapter_json) {
    ModelConfig own = config;
    own.device = device;
    own.adapter_json = adapter_json;
    return make_examined<Model>(with.host, entry, setting.values, &own);
  };
  const auto make = [&](const Setting& setting, at::ScalarType dtype = at::kFloat) {
    ModelConfig own = config;
    own.dtype = dtype;
    auto model = make_examined<Model>(with.host, entry, setting.values, &own);
    set_weights(*model);
    return model;
  };
  const Trials<Model> trials(entry, with, examination, [&](const Setting& setting) { return make(setting); });
  const auto each = [&](const char* name, const std::function<void(const Setting&)>& body) {
    examination.rule(name, [&] { return for_each_setting(trials.settings(), body); });
  };
  const auto usual = [](const Model& model) { return states_of(model, made_up_forward(model)); };
  const auto require_same = [](const at::Tensor& got, const at::Tensor& expected, const char* when) {
    require_close(got, expected, std::string("the same input gives other states ") + when, kSameRounding);
  };

  trials.made([](const Model&) {}, &config);
  trials.results(check_rows);
  each("without memory",
       [&](const Setting& setting) { check_without_memory(*without_weights(setting, at::kMeta, ""), *make(setting)); });
  trials.rule("batch", check_batch);
  examination.rule("padding", [&] {
    check_padding(*trials.usual());
    return trials.each([](const Model& model) {
      try {
        check_padding(model);
      } catch (const PluginError&) {
        throw;
      } catch (const Error& error) {  // a setting may exist for the sake of old results
        throw RuleNote(error.what());
      }
    });
  });
  examination.rule("reached", [&] {
    std::string reached;
    const std::string tried = trials.each([&](const Model& model) { reached = check_reached(model); });
    return tried + ", " + reached;
  });
  examination.rule("gradient",
                   [&] { return check_gradient(*make(trials.settings().front(), at::kDouble)) + ", float64"; });
  trials.rule("recompute", check_recompute);
  each("bfloat16", [&](const Setting& setting) {
    require_close(usual(*make(setting, at::kBFloat16)), usual(*make(setting)),
                  "bfloat16 and float32 give different states", kNarrowRounding);
  });
  trials.rule("cache", check_cache);
  examination.rule("adapters", [&] {
    return check_adapters([&](const std::string& adapter_json, at::Device device) {
      return without_weights(trials.settings().front(), device, adapter_json);
    });
  });
  trials.repeats(usual, require_same, [](const Model& model) { states_of(model, one_row(made_up_forward(model), 1)); });
  trials.threads(usual, [](const at::Tensor& got, const at::Tensor& expected, const char*) {
    require_close(got, expected, "several threads give other states");
  });
  trials.leak([&](const Model& model) { usual(model); });
}

}  // namespace drift
