#include <core/base/trainable.h>
#include <core/conformance/inputs.h>
#include <core/conformance/model_trials.h>
#include <core/conformance/rules.h>
#include <core/conformance/watches.h>
#include <core/process/threads.h>

#include <drift/cached_forward.h>
#include <drift/random.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/any.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
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

constexpr double kNarrowRounding = 0.2, kSlopeTolerance = 1e-4, kStep = 1e-5;

void check_rows(const Model& model) {
  const ForwardInput all = made_up_input(model);
  const at::Tensor hidden_NH = states_of(model, all);
  ForwardInput some = all;
  some.rows_N = at::tensor({20, 0, 9, 9}, at::kLong);
  require_close(states_of(model, some), hidden_NH.index_select(0, some.rows_N), kStateRounding,
                "rows_N gives other states than all rows do");
}

void check_batch(const Model& model) {
  const ForwardInput all = made_up_input(model);
  const at::Tensor hidden_NH = states_of(model, all);
  for (std::int64_t b = 0; b < kTrialRows; ++b) {
    ForwardInput one;
    one.tokens_BS = all.tokens_BS.narrow(0, b, 1).clone();
    require_close(states_of(model, one), hidden_NH.narrow(0, b * kTrialTokens, kTrialTokens), kStateRounding,
                  "a row gives other states alone than in a batch");
  }
}

void check_padding(const Model& model) {
  constexpr std::int64_t kPadding = 4;
  const ForwardInput plain = made_up_input(model);
  ForwardInput padded;
  const std::int64_t pad = std::max<std::int64_t>(model.traits().pad_id, 0);
  padded.tokens_BS = at::cat({at::full({kTrialRows, kPadding}, pad, at::kLong), plain.tokens_BS}, 1);
  padded.key_mask_BS =
      at::cat({at::zeros({kTrialRows, kPadding}, at::kBool), at::ones({kTrialRows, kTrialTokens}, at::kBool)}, 1);
  const std::int64_t hidden_size = model.traits().hidden_size;
  const at::Tensor kept = states_of(model, padded)
                              .view({kTrialRows, kPadding + kTrialTokens, hidden_size})
                              .narrow(1, kPadding, kTrialTokens);
  require_close(kept.reshape({-1, hidden_size}), states_of(model, plain), kStateRounding,
                "padding on the left changes the states; positions count from the first token that the key mask keeps");
}

/// A number that every parameter has a part in, and its gradient.
at::Tensor objective(const Model& model, bool recompute = false) {
  ForwardInput input = made_up_input(model);
  input.recompute_blocks = recompute;
  const at::Tensor hidden_NH = model.forward(input);
  const at::Tensor logits_NV = at::mm(hidden_NH, model.lm_head_VH().t());
  return (logits_NV * noise("objective", logits_NV.sizes(), 1).to(logits_NV.scalar_type())).sum();
}

std::vector<at::Tensor> gradients(const Model& model, const std::vector<NamedTensor>& parameters,
                                  bool recompute = false) {
  std::vector<at::Tensor> leaves;
  for (const NamedTensor& parameter : parameters) leaves.push_back(parameter.tensor);
  auto found = torch::autograd::grad({objective(model, recompute)}, leaves, {}, std::nullopt, false,
                                     /*allow_unused=*/true);
  for (at::Tensor& gradient : found) {
    if (gradient.defined() && gradient.is_sparse()) gradient = gradient.to_dense();  // of an embedding
  }
  return found;
}

std::string check_reached(const Model& model) {
  const auto parameters = trainable_parameters(model);
  const auto found = gradients(model, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!found[i].defined() || !(found[i] != 0).any().item<bool>())
      throw Error("no gradient reaches parameter `" + parameters[i].name + "`",
                  "use it in forward() without detach(), or freeze it: set_requires_grad(false)");
  }
  return std::to_string(parameters.size()) + " parameters";
}

/// The slope of the objective along one direction of each parameter.
std::string check_gradient(const Model& model) {
  const auto parameters = trainable_parameters(model);
  const auto found = gradients(model, parameters);
  const at::NoGradGuard no_gradient;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor tensor = parameters[i].tensor;
    const at::Tensor direction = noise(parameters[i].name + " direction", tensor.sizes(), 1).to(tensor.scalar_type());
    const at::Tensor before = tensor.clone();
    const auto value_at = [&](double step) {
      tensor.copy_(before).add_(direction, step);
      return objective(model).item<double>();
    };
    const double slope = (value_at(kStep) - value_at(-kStep)) / (2 * kStep);
    tensor.copy_(before);
    const double gradient = found[i].defined() ? (found[i] * direction).sum().item<double>() : 0;
    if (std::abs(gradient - slope) <= kSlopeTolerance * std::max(1.0, std::abs(slope))) continue;
    char text[96];
    std::snprintf(text, sizeof text, " is %.6g along a direction, but finite differences give %.6g", gradient, slope);
    throw Error("gradient: that by parameter `" + parameters[i].name + "`" + text);
  }
  return std::to_string(parameters.size()) + " parameters, float64";
}

void check_recompute(const Model& model) {
  const auto parameters = trainable_parameters(model);
  const auto kept = gradients(model, parameters), recomputed = gradients(model, parameters, /*recompute=*/true);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (kept[i].defined() != recomputed[i].defined() ||
        (kept[i].defined() && largest_difference(recomputed[i], kept[i]) > kStateRounding))
      throw Error("recompute_blocks changes the gradient of parameter `" + parameters[i].name + "`");
  }
}

void check_threads(const Model& model) {
  const ForwardInput input = made_up_input(model);
  const at::Tensor expected = states_of(model, input);
  for_each_at_once(
      4 * kThreads,
      [&](std::size_t) {
        require_close(states_of(model, input), expected, kStateRounding, "several threads give other states");
      },
      kThreads);
}

void check_cache(const Model& model) {
  const auto* const cached = capability<CachedForward>(model);
  if (cached == nullptr) throw RuleNotChecked("it has no CachedForward");
  const at::NoGradGuard no_gradient;
  const ForwardInput all = made_up_input(model);
  const at::Tensor expected = states_of(model, all);
  const auto cache = cached->make_cache(kTrialRows, kTrialTokens);
  CacheWindow window;
  window.begin_B = at::zeros({kTrialRows}, at::kLong);
  require_close(cached->forward_window(all, window, *cache), expected, kStateRounding,
                "the window of all positions gives other states");
  // Nothing changed, so what stands in the cache is what a full forward would compute.
  const auto again = cache->select(at::arange(kTrialRows, at::kLong));
  window.begin_B = at::full({kTrialRows}, 4, at::kLong);
  ForwardInput end;
  end.tokens_BS = all.tokens_BS.narrow(1, 4, kTrialTokens - 4).contiguous();
  const at::Tensor expected_end = expected.view({kTrialRows, kTrialTokens, -1}).narrow(1, 4, kTrialTokens - 4);
  require_close(cached->forward_window(end, window, *again), expected_end.reshape({-1, model.traits().hidden_size}),
                kStateRounding, "a window of unchanged tokens gives other states");
}

void require_same_parameters(const Model& a, const Model& b, const char* when, bool values) {
  const auto left = a.parameters(), right = b.parameters();
  const bool same = std::ranges::equal(left, right, [&](const NamedTensor& x, const NamedTensor& y) {
    return x.name == y.name && x.tensor.sizes() == y.tensor.sizes() && (!values || same_bits(x.tensor, y.tensor));
  });
  if (!same) throw Error(std::string("its parameters differ ") + when);
}

}  // namespace

void check_model_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination) {
  const auto settings = edge_settings(entry.params, with.values);
  ModelConfig config;
  config.config_json = with.model_config.empty() ? "{}" : with.model_config;
  const auto construct = [&](const Setting& setting, at::ScalarType dtype, at::Device device,
                             const std::string& adapter_json = "") {
    ModelConfig own = config;
    own.dtype = dtype;
    own.device = device;
    own.adapter_json = adapter_json;
    return make_examined<Model>(entry, setting.values, &own);
  };
  const auto make = [&](const Setting& setting, at::ScalarType dtype = at::kFloat) {
    ModelPointer model = construct(setting, dtype, at::kCPU);
    set_weights(*model);
    return model;
  };
  const auto each = [&](const std::function<void(Model&)>& body) {
    return for_each_setting(settings, [&](const Setting& setting) { body(*make(setting)); });
  };
  const auto usual = [&](at::ScalarType dtype = at::kFloat) { return make(settings.front(), dtype); };

  examination.basic_rule("made", [&] {
    const auto make_each = [&] {
      return for_each_setting(settings, [&](const Setting& setting) { construct(setting, at::kFloat, at::kCPU); });
    };
    return or_not_checked(entry, make_each, &config);
  });
  // Traits, shapes, types and finite states are what the guards of core/boundary check of every model and in every
  // call.
  examination.basic_rule("results", [&] {
    return each([](Model& model) {
      check_rows(model);
      model.training_bytes_per_row(kTrialTokens);
    });
  });
  examination.rule("without memory", [&] {
    return for_each_setting(settings, [&](const Setting& setting) {
      const ModelPointer model = construct(setting, at::kFloat, at::kMeta);
      require_same_parameters(*model, *make(setting), "on the meta device", /*values=*/false);
    });
  });
  examination.rule("deterministic", [&] {
    return for_each_setting(settings, [&](const Setting& setting) {
      const ModelPointer model = make(setting);
      require_same_parameters(*make(setting), *model, "after the same initialize()", /*values=*/true);
      const ForwardInput input = made_up_input(*model);
      const at::Tensor first = states_of(*model, input);
      ForwardInput other;
      other.tokens_BS = input.tokens_BS.narrow(0, 1, 1).contiguous();
      states_of(*model, other);
      require_close(states_of(*model, input), first, 1e-6, "the same input gives other states the second time");
    });
  });
  examination.rule("batch", [&] { return each([](Model& model) { check_batch(model); }); });
  examination.rule("padding", [&] {
    check_padding(*usual());
    return each([](Model& model) {
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
    const std::string tried = each([&](Model& model) { reached = check_reached(model); });
    return tried + ", " + reached;
  });
  examination.rule("gradient", [&] { return check_gradient(*usual(at::kDouble)); });
  examination.rule("recompute", [&] { return each([](Model& model) { check_recompute(model); }); });
  examination.rule("bfloat16", [&] {
    return for_each_setting(settings, [&](const Setting& setting) {
      const ModelPointer wide = make(setting), narrow = make(setting, at::kBFloat16);
      require_close(states_of(*narrow, made_up_input(*narrow)), states_of(*wide, made_up_input(*wide)), kNarrowRounding,
                    "bfloat16 and float32 give different states");
    });
  });
  examination.rule("cache", [&] { return each([](Model& model) { check_cache(model); }); });
  examination.rule("adapters", [&] {
    return check_adapters([&](const std::string& adapter_json, at::Device device) {
      return construct(settings.front(), at::kFloat, device, adapter_json);
    });
  });
  examination.rule("threads", [&] {
    check_threads(*usual());
    return std::to_string(kThreads) + " threads";
  });
  examination.rule("random numbers", [&] {
    return for_each_setting(settings, [&](const Setting& setting) {
      without_global_random([&] {
        const ModelPointer model = make(setting);
        states_of(*model, made_up_input(*model));
      });
    });
  });
  examination.rule("leak", [&] {
    const ModelPointer model = usual();
    const ForwardInput input = made_up_input(*model);
    return without_leak([&] { states_of(*model, input); });
  });
}

}  // namespace drift
