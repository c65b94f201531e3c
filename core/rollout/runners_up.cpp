#include <core/rollout/runners_up.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <map>

namespace drift {
namespace {

constexpr std::size_t kRowsAtOnce = 32;  // whose logits are in memory

/// The prompt of response b without its padding.
at::Tensor prompt_of(const Prompts& prompts, std::int64_t b) {
  return prompts.tokens_BP[b].masked_select(prompts.mask_BP[b]);
}

}  // namespace

std::vector<TokenProbabilities> runners_up(const Policy& policy, const Trajectories& made, std::int64_t b,
                                           std::int64_t count) {
  const at::Tensor tokens_L = made.tokens_BL[b], step_L = made.step_BL[b], prompt_P = prompt_of(made.prompts, b);
  const std::int64_t length = tokens_L.size(0), prompt = prompt_P.size(0);
  std::map<std::int32_t, std::vector<std::int64_t>> positions_of;  // by step
  for (std::int64_t i = 0; i < length; ++i) {
    if (const auto step = step_L[i].item<std::int32_t>(); step >= 0) positions_of[step].push_back(i);
  }
  std::vector<TokenProbabilities> found(static_cast<std::size_t>(length));
  for (const auto& [step, positions] : positions_of) {
    const auto written_L = (step_L >= 0).logical_and(step_L < step);
    const auto state_L = at::where(written_L, tokens_L, policy.traits().mask_id);
    ForwardInput forward;
    forward.tokens_BS = at::cat({prompt_P, state_L}).unsqueeze(0).to(policy.device());
    for (std::size_t first = 0; first < positions.size(); first += kRowsAtOnce) {
      const std::vector<std::int64_t> at_once(
          positions.begin() + static_cast<std::ptrdiff_t>(first),
          positions.begin() + static_cast<std::ptrdiff_t>(std::min(positions.size(), first + kRowsAtOnce)));
      forward.rows_N = (at::tensor(at_once) + prompt).to(policy.device());
      const auto probability_NV = at::softmax(policy.logits(forward, {}).to(at::kFloat), -1);
      const auto [value_NK, id_NK] = at::topk(probability_NV, std::min(count + 1, probability_NV.size(1)));
      const auto value = value_NK.cpu(), id = id_NK.cpu();
      for (std::size_t n = 0; n < at_once.size(); ++n) {
        auto& others = found[static_cast<std::size_t>(at_once[n])];
        const auto chosen = tokens_L[at_once[n]].item<std::int64_t>();
        const auto row = static_cast<std::int64_t>(n);
        for (std::int64_t k = 0; k < id.size(1) && std::ssize(others) < count; ++k) {
          if (const auto other = id[row][k].item<std::int64_t>(); other != chosen)
            others.emplace_back(other, value[row][k].item<double>());
        }
      }
    }
  }
  return found;
}

}  // namespace drift
