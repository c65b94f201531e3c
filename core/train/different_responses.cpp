#include <core/train/different_responses.h>

#include <core/boundary/plugin_call.h>

#include <drift/error.h>
#include <drift/policy.h>
#include <drift/sampling.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace drift {
namespace {

// e^-200 never happens. e^-30, one in 10^13, for the second look, which sees one group only.
constexpr double kSuspicion = 200, kProof = 30;

/// All tokens are equally likely; shapes, ids and caches are those of another policy.
class EvenPolicy final : public Policy {
 public:
  explicit EvenPolicy(const Policy& like) : like_(like) {}

  const ModelTraits& traits() const override { return like_.traits(); }
  at::Device device() const override { return like_.device(); }
  at::Tensor logits(const ForwardInput& input, const ForwardCache&) const override {
    return row().repeat({input.rows_N.defined() ? input.rows_N.size(0) : input.tokens_BS.numel(), 1});
  }
  SampledTokens sample(const ForwardInput&, const ForwardCache&, const at::Tensor& row_M, const at::Tensor& uniform_M,
                       const SamplingOptions& options) const override {
    return sample_tokens(row(), at::zeros_like(row_M), uniform_M, options);
  }
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override {
    return like_.make_cache(rows, positions);
  }

 private:
  at::Tensor row() const {
    return at::zeros({1, traits().vocabulary_size}, at::TensorOptions().dtype(at::kFloat).device(device()));
  }

  const Policy& like_;
};

}  // namespace

bool equal_against_chance(const Trajectories& made, std::int64_t group_size, double surprisal) {
  double found = 0;
  for (std::int64_t first = 0; first + group_size <= made.tokens_BL.size(0); first += group_size) {
    for (const at::Tensor& tensor : {made.tokens_BL, made.step_BL}) {
      const auto group = tensor.narrow(0, first, group_size);
      if (!at::equal(group, group.narrow(0, 0, 1).expand_as(group))) return false;
    }
    found -= static_cast<double>(group_size - 1) * made.commit_logprob_BL[first].to(at::kDouble).sum().item<double>();
  }
  return found > surprisal;
}

void require_different_responses(const Rollout& rollout, const RolloutInput& input, const Trajectories& made,
                                 std::int64_t group_size) {
  if (!equal_against_chance(made, group_size, kSuspicion)) return;
  const at::NoGradGuard no_gradient;
  const EvenPolicy policy(*input.policy);
  RolloutInput group = input;
  group.policy = &policy;
  group.prompts.tokens_BP = input.prompts.tokens_BP.narrow(0, 0, group_size);
  group.prompts.mask_BP = input.prompts.mask_BP.narrow(0, 0, group_size);
  group.prompts.group_B = input.prompts.group_B.narrow(0, 0, group_size);
  Trajectories again;
  rollout.generate(group, again);
  if (!equal_against_chance(again, group_size, kProof)) return;
  in_plugin(rollout, "generate", [] {
    throw Error(
        "it writes the same response for every member of a group, even where all tokens are equally likely: it "
        "ignores its random stream, or its settings leave one token to draw",
        "draw at RandomPoint{step, first_response + b, position, denoising step} of the input's random stream");
  });
}

}  // namespace drift
