#pragma once

#include <core/nn/projection.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift::nn {

/// swiglu(x) of one width: down(silu(gate(x)) * up(x)).
struct FeedForward {
  Projection gate, up, down;
};

/// x [M, H] through it: [M, H], plus `added_MH` if it is defined.
at::Tensor feed_forward(const at::Tensor& x_MH, const FeedForward& weights, const AdapterUse& adapters,
                        const at::Tensor& added_MH = {});

/// How each token chooses some of E experts.
struct ExpertChoice {
  std::int64_t experts = 0;      ///< E, a multiple of `groups`
  std::int64_t per_token = 0;    ///< K
  std::int64_t groups = 1;       ///< of neighbouring experts
  std::int64_t groups_kept = 1;  ///< a token's experts are of this many groups: K <= groups_kept E / groups
  bool sigmoid = false;          ///< scores are sigmoids of the router's logits; else their softmax
  double scale = 1;              ///< of the weights
};

/// The experts of a block, and the router that chooses among them.
struct Experts {
  at::Tensor router_EH;
  at::Tensor router_bias_E;  ///< added to the scores for the choice alone, so that it has no gradient; or undefined
  std::vector<FeedForward> experts;
};

/// The experts of each token, and what each counts.
struct ChosenExperts {
  at::Tensor expert_MK;  ///< int64
  at::Tensor weight_MK;  ///< float32, float64 for x of that type; differentiable in x and the router
};

/// Experts of the highest scores, of the groups whose two best scores have the largest sums (DeepSeek-V3,
/// arXiv 2412.19437, 2.1.2; arXiv 2512.15745). The weights are the scores without bias, divided by their sum
/// over the token's experts (one sigmoid alone is not), times the scale. In float32, whatever x's type.
ChosenExperts choose_experts(const at::Tensor& x_MH, const Experts& weights, const ExpertChoice& choice);

/// Sum over each token's experts of weight x expert(x): [M, H]. One product for each expert that has tokens; on a
/// device the host waits once for their numbers. Sums over experts are in float32, in a fixed order, and rounded once.
/// Differentiable in x, the router and the experts; those without tokens get no gradient.
at::Tensor mixed_experts(const at::Tensor& x_MH, const Experts& weights, const ExpertChoice& choice,
                         const AdapterUse& adapters);

}  // namespace drift::nn
