#include "bench/plain_update.h"

#include <core/kernels/transformer_ops.h>
#include <core/nn/transformer.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <map>
#include <string>

namespace drift::bench {
namespace {

using Views = std::vector<std::int64_t>;

/// The model by the names of its checkpoint.
class PlainLlada {
 public:
  explicit PlainLlada(const UpdateCases& cases) : shape_(cases.shape()) {
    for (const auto& parameter : cases.model().parameters()) weights_[parameter.name] = parameter.tensor;
  }

  /// [B, S] -> logits [B, S, V].
  at::Tensor logits(const at::Tensor& tokens_BS) const {
    const std::int64_t batch = tokens_BS.size(0), sequence = tokens_BS.size(1),
                       dimension = shape_.hidden / shape_.heads;
    const nn::RotaryTable table(sequence, dimension, 10000, at::kFloat);
    auto x = at::embedding(weight("wte"), tokens_BS.reshape({-1}));
    const auto heads_first = [&](const at::Tensor& y) {
      return y.view({batch, sequence, shape_.heads, dimension}).transpose(1, 2);
    };
    for (std::int64_t l = 0; l < shape_.layers; ++l) {
      const auto of = [&](const char* name) { return weight("blocks." + std::to_string(l) + "." + name); };
      const auto normed = kernels::rms_norm_reference(x, of("attn_norm"), kEpsilon);
      const auto turned = [&](const char* name) {
        return kernels::rotate_heads_reference(at::linear(normed, of(name)), table.cosine_SD2, table.sine_SD2,
                                               shape_.heads);
      };
      const auto attended = at::scaled_dot_product_attention(turned("q_proj"), turned("k_proj"),
                                                             heads_first(at::linear(normed, of("v_proj"))));
      x = x + at::linear(attended.transpose(1, 2).reshape({batch * sequence, shape_.hidden}), of("attn_out"));
      const auto inner = kernels::rms_norm_reference(x, of("ff_norm"), kEpsilon);
      const auto gated = kernels::swiglu_reference(at::linear(inner, of("ff_proj")), at::linear(inner, of("up_proj")));
      x = x + at::linear(gated, of("ff_out"));
    }
    x = kernels::rms_norm_reference(x, weight("ln_f"), kEpsilon);
    return at::linear(x, weight("ff_out")).view({batch, sequence, shape_.vocabulary});
  }

 private:
  static constexpr double kEpsilon = 1e-5;
  at::Tensor weight(const std::string& name) const { return weights_.at("model.transformer." + name + ".weight"); }

  const UpdateShape& shape_;
  std::map<std::string, at::Tensor> weights_;
};

/// Log-probabilities of the sampled tokens of some views, 0 where they are not targets.
at::Tensor log_probs(const PlainLlada& model, const ModelTraits& traits, const Trajectories& responses,
                     const MaskPlan& plan) {
  const auto mask = at::full({}, traits.mask_id, at::kLong);
  const auto written_FL = responses.tokens_BL.index_select(0, plan.sample_F);
  auto prompt_FP = responses.prompts.tokens_BP.index_select(0, plan.sample_F);
  if (plan.prompt_masked_FP.defined()) prompt_FP = at::where(plan.prompt_masked_FP, mask, prompt_FP);
  const auto logits = model.logits(at::cat({prompt_FP, at::where(plan.masked_FL, mask, written_FL)}, 1));
  const auto all = at::log_softmax(logits.to(at::kFloat), -1);
  const auto chosen =
      all.narrow(1, prompt_FP.size(1), written_FL.size(1)).gather(2, written_FL.unsqueeze(-1)).squeeze(-1);
  return at::where(plan.target_FL, chosen, at::zeros({}));
}

/// Views of each forward, forwards of each graph.
std::vector<std::vector<Views>> graphs_of(const UpdateCases::Case& one) {
  std::vector<Views> forwards;
  const std::int64_t* number = one.plan.forward_F.const_data_ptr<std::int64_t>();
  for (std::int64_t view = 0; view < one.plan.sample_F.size(0); ++view) {
    const auto place = one.graphs == GraphLife::kTwoRows ? view / 2 : number[view];
    if (static_cast<std::size_t>(place) >= forwards.size()) forwards.resize(static_cast<std::size_t>(place) + 1);
    forwards[static_cast<std::size_t>(place)].push_back(view);
  }
  std::erase_if(forwards, [](const Views& views) { return views.empty(); });
  if (one.graphs == GraphLife::kTogether) return {forwards};
  std::vector<std::vector<Views>> graphs;
  for (const Views& views : forwards) graphs.push_back({views});
  return graphs;
}

}  // namespace

std::vector<at::Tensor> plain_update(const UpdateCases& cases, UpdateCases::Case& one) {
  const PlainLlada model(cases);
  const auto score = [&](const std::vector<Views>& forwards) {
    std::vector<at::Tensor> parts;
    for (const Views& views : forwards)
      parts.push_back(
          log_probs(model, cases.model().traits(), cases.trajectories(), select_views(one.plan, views, at::kCPU)));
    return at::cat(parts);
  };
  for (const auto& forwards : graphs_of(one)) {
    LossInput input;
    Views views;
    for (const Views& some : forwards) views.insert(views.end(), some.begin(), some.end());
    input.plan = select_views(one.plan, views, at::kCPU);
    if (one.reference_forwards) {
      const at::NoGradGuard no_gradient;
      input.log_probs.reference_FL = score(forwards);
    }
    input.log_probs.current_FL = score(forwards);
    input.log_probs.old_FL = input.log_probs.current_FL.detach();
    if (one.batch.reference_is_old_policy) input.log_probs.reference_FL = input.log_probs.old_FL;
    input.advantage_B = one.batch.advantage_B;
    input.valid_BL = cases.trajectories().valid_BL;
    input.totals = one.batch.totals;
    input.scored_B = one.batch.scored_B;
    const auto value = one.loss->evaluate(input).value;
    torch::autograd::backward({value}, {});
  }
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : cases.model().parameters()) {
    gradients.push_back(parameter.tensor.grad());
    parameter.tensor.mutable_grad() = at::Tensor();
  }
  return gradients;
}

}  // namespace drift::bench
