// One token a forward, from left to right.
#include "lab.h"

#include <drift/rollout.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace {

class LeftToRight final : public drift::Rollout, public drift::RolloutCostEstimate {
 public:
  explicit LeftToRight(drift::Parameters& parameters)
      : length_(parameters("length", 8, "response positions, L", drift::at_least(1))),
        temperature_(parameters("temperature", 1.0, "of the token draw; 0 = greedy", drift::at_least(0))) {}

  std::int64_t response_length() const override { return length_; }

  void generate(const drift::RolloutInput& input, drift::Trajectories& made) const override {
    const drift::ModelTraits& traits = input.policy->traits();
    const at::Device device = input.policy->device();
    const std::int64_t B = input.prompts.tokens_BP.size(0), P = input.prompts.tokens_BP.size(1);
    made.prompts = input.prompts;
    made.tokens_BL = at::full({B, length_}, traits.mask_id, at::kLong);
    made.step_BL = at::arange(length_, at::kInt).repeat({B, 1});
    made.commit_logprob_BL = at::zeros({B, length_}, at::kFloat);
    made.forwards_B = at::full({B}, length_, at::kLong);

    drift::SamplingOptions options;
    options.temperature = temperature_;
    options.forbidden_ids = traits.forbidden_output_ids;
    const auto response_B = at::arange(B, at::kLong);
    for (std::int64_t i = 0; i < length_ && !(input.cancelled && input.cancelled->load()); ++i) {
      drift::ForwardInput state;
      state.tokens_BS = at::cat({input.prompts.tokens_BP, made.tokens_BL}, 1).to(device);
      state.key_mask_BS = at::cat({input.prompts.mask_BP, at::ones({B, length_}, at::kBool)}, 1).to(device);
      state.rows_N = (response_B * (P + length_) + P + i).to(device);
      const auto uniform_B = drift::uniform(input.random, input.step, response_B + input.first_response,
                                            at::full({1}, i, at::kLong), at::zeros({1}, at::kLong));
      const auto drawn = input.policy->sample(state, {}, response_B, uniform_B, options);
      made.tokens_BL.select(1, i).copy_(drawn.token_M);
      made.commit_logprob_BL.select(1, i).copy_(drawn.logprob_M);
    }
    made.valid_BL = made.tokens_BL.ne(traits.pad_id).logical_and(made.tokens_BL.ne(traits.mask_id));
  }

  void estimate_cost(const drift::Model& model, std::int64_t prompt_length, std::int64_t responses, bool,
                     drift::RolloutCost& cost) const override {
    cost.least_forwards = cost.most_forwards = length_;
    cost.bytes =
        responses * (model.training_bytes_per_row(prompt_length + length_) + model.traits().vocabulary_size * 3 * 4);
  }

 private:
  std::int64_t length_;
  double temperature_;
};

}  // namespace

void register_rollout(drift::Registry& registry) {
  registry.add<LeftToRight>("lab", "One token a forward, from left to right.");
}
