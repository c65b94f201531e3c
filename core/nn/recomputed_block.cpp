#include <core/nn/recomputed_block.h>

#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <functional>
#include <utility>

namespace drift::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Body = std::function<at::Tensor(const variable_list&)>;

struct BodyHolder final : torch::CustomClassHolder {
  explicit BodyHolder(Body given) : body(std::move(given)) {}
  Body body;
};

/// body(inputs) without a graph; the backward runs it again with one.
struct Recomputed : torch::autograd::Function<Recomputed> {
  static at::Tensor forward(AutogradContext* context, const Body& body, at::TensorList inputs) {
    context->saved_data["body"] = c10::IValue::make_capsule(c10::make_intrusive<BodyHolder>(body));
    const auto list = inputs.vec();
    context->save_for_backward(list);
    return body(list);
  }

  static variable_list backward(AutogradContext* context, variable_list output_gradients) {
    const at::AutoGradMode with_graph(true);
    variable_list inputs;
    for (const auto& saved : context->get_saved_variables())
      inputs.push_back(saved.detach().set_requires_grad(saved.requires_grad()));
    variable_list differentiable;
    for (const auto& input : inputs) {
      if (input.requires_grad()) differentiable.push_back(input);
    }
    const auto capsule = context->saved_data["body"].toCapsule();
    const auto output = static_cast<const BodyHolder&>(*capsule).body(inputs);
    auto computed = torch::autograd::grad({output}, differentiable, output_gradients, /*retain_graph=*/std::nullopt,
                                          /*create_graph=*/false, /*allow_unused=*/true);
    variable_list gradients{at::Tensor()};  // of the body
    auto next = computed.begin();
    for (const auto& input : inputs) gradients.push_back(input.requires_grad() ? std::move(*next++) : at::Tensor());
    return gradients;
  }
};

// Undefined biases and adapters stay out of the list of inputs, and packed weights, which are never trained.
template <class Weights, class Body>
void for_each_weight(Weights& weights, const Body& body) {
  const auto add = [&](auto& one) {
    if (one.defined()) body(one);
  };
  add(weights.attention_norm);
  add(weights.feed_forward_norm);
  add(weights.query_norm);
  add(weights.key_norm);
  add(weights.experts.router_EH);
  add(weights.experts.router_bias_E);
  for (auto* projection : projections(weights)) {
    if (!projection->packed) add(projection->weight);
    add(projection->bias);
    add(projection->adapter.a);
    add(projection->adapter.b);
  }
}

}  // namespace

at::Tensor recomputed_block(const at::Tensor& x, const BlockWeights& weights, const BlockShape& shape,
                            const RotaryTable& rotary, const AttentionMask& attention_mask, const at::Tensor& rows_N,
                            const AdapterUse& adapters) {
  variable_list inputs{x};
  for_each_weight(weights, [&](const at::Tensor& one) { inputs.push_back(one); });
  const Body body = [weights, shape, rotary, attention_mask, rows_N, adapters](const variable_list& given) {
    BlockWeights own = weights;
    auto next = given.begin() + 1;
    for_each_weight(own, [&](at::Tensor& one) { one = *next++; });
    return transformer_block(given.front(), own, shape, rotary, attention_mask, rows_N, adapters);
  };
  return Recomputed::apply(body, at::TensorList(inputs));
}

}  // namespace drift::nn
