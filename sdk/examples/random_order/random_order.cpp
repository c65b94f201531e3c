// Writes tokens in a random order, as masked diffusion models see them in training, and stops at the end of the text.
#include <drift/parallel.h>
#include <drift/plugin.h>
#include <drift/rollout.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace {

constexpr std::int64_t kRowsAtOnce = 64;  // of a forward: bounds the memory that a batch of any size takes

/// Every response has an order of its own. Each forward commits its next tokens; where an end token is written, what is
/// still masked behind it becomes padding without further forwards.
class RandomOrder final : public drift::Rollout, public drift::RolloutCostEstimate {
 public:
  explicit RandomOrder(drift::Parameters& parameters)
      : length_(parameters("length", 256, "response positions, L", drift::at_least(1))),
        tokens_(parameters("tokens_per_forward", 1, "tokens that each forward commits", drift::at_least(1))),
        temperature_(parameters("temperature", 1.0, "of the token draw; 0 = greedy", drift::at_least(0))) {}

  std::int64_t response_length() const override { return length_; }

  void generate(const drift::RolloutInput& input, drift::Trajectories& made) const override {
    const std::int64_t responses = input.prompts.tokens_BP.size(0);
    const drift::ModelTraits& traits = input.policy->traits();
    made.prompts = input.prompts;
    made.tokens_BL = at::full({responses, length_}, traits.mask_id, at::kLong);
    made.step_BL = at::full({responses, length_}, -1, at::kInt);
    made.commit_logprob_BL = at::zeros({responses, length_}, at::kFloat);
    made.forwards_B = at::zeros({responses}, at::kLong);
    // Threads write different rows of the same tensors.
    const auto workers = drift::row_workers(traits.hidden_size, input.policy->device().is_cpu());
    drift::parallel_rows(workers, responses, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (; begin < end; begin += kRowsAtOnce) write(input, made, begin, std::min(end, begin + kRowsAtOnce));
    });
    made.valid_BL = made.tokens_BL != traits.pad_id;
  }

  void estimate_cost(const drift::Model& model, std::int64_t prompt_length, std::int64_t responses, bool on_cpu,
                     drift::RolloutCost& cost) const override {
    const drift::ModelTraits& traits = model.traits();
    cost.least_forwards = 1;
    cost.most_forwards = (length_ + tokens_ - 1) / tokens_;
    const std::int64_t rows = std::min(responses, drift::row_workers(traits.hidden_size, on_cpu) * kRowsAtOnce);
    const std::int64_t layer =
        model.training_bytes_per_row(prompt_length + length_) / std::max<std::int64_t>(1, traits.layers);
    const std::int64_t logits = std::min(tokens_, length_) * traits.vocabulary_size * 3 * 4;  // float32, three copies
    cost.bytes = rows * (layer + logits);
  }

 private:
  /// Responses [begin, end) of the batch.
  void write(const drift::RolloutInput& input, drift::Trajectories& made, std::int64_t begin, std::int64_t end) const {
    const drift::ModelTraits& traits = input.policy->traits();
    const auto rows = [&](const at::Tensor& tensor) { return tensor.narrow(0, begin, end - begin); };
    const auto response_B1 = (at::arange(begin, end, at::kLong) + input.first_response).unsqueeze(1);
    const auto position_L = at::arange(length_, at::kLong);
    // Positions are written in the order of these keys.
    const auto key_BL =
        drift::uniform(input.random.child("order"), input.step, response_B1, position_L, at::zeros({1}, at::kLong));
    for (std::int64_t forward = 0; !(input.cancelled && input.cancelled->load()); ++forward) {
      const auto masked_BL = rows(made.tokens_BL) == traits.mask_id;
      const auto live_A = masked_BL.any(1).nonzero().squeeze(1);
      if (live_A.numel() == 0) return;
      const auto next_AN = key_BL.masked_fill(masked_BL.logical_not(), 2)
                               .index_select(0, live_A)
                               .argsort(std::int64_t{1})
                               .narrow(1, 0, std::min(tokens_, length_));
      const auto sampled =
          predict(input, begin + live_A, rows(made.tokens_BL).index_select(0, live_A), next_AN, forward);
      commit(traits, made, begin + live_A, next_AN, sampled, forward);
    }
  }

  /// One draw for each of the positions next_AN of the responses live_A, which have the tokens tokens_AL.
  drift::SampledTokens predict(const drift::RolloutInput& input, const at::Tensor& live_A, const at::Tensor& tokens_AL,
                               const at::Tensor& next_AN, std::int64_t forward) const {
    const auto device = input.policy->device();
    const std::int64_t live = live_A.size(0), prompt = input.prompts.tokens_BP.size(1);
    drift::ForwardInput state;
    state.tokens_BS = at::cat({input.prompts.tokens_BP.index_select(0, live_A), tokens_AL}, 1).to(device);
    const auto text_AL = at::ones({live, length_}, at::kBool);
    state.key_mask_BS = at::cat({input.prompts.mask_BP.index_select(0, live_A), text_AL}, 1).to(device);
    const auto first_A1 = at::arange(live, at::kLong).unsqueeze(1) * (prompt + length_) + prompt;
    state.rows_N = (first_A1 + next_AN).flatten().to(device);

    drift::SamplingOptions options;
    options.temperature = temperature_;
    options.forbidden_ids = input.policy->traits().forbidden_output_ids;
    const auto response_A1 = (live_A + input.first_response).unsqueeze(1);
    const auto uniform_M =
        drift::uniform(input.random, input.step, response_A1, next_AN, at::full({1}, forward, at::kLong)).flatten();
    return input.policy->sample(state, {}, at::arange(next_AN.numel(), at::kLong), uniform_M, options);
  }

  /// Write the drawn tokens where a mask still is, and padding where a text has ended.
  static void commit(const drift::ModelTraits& traits, drift::Trajectories& made, const at::Tensor& live_A,
                     const at::Tensor& next_AN, const drift::SampledTokens& sampled, std::int64_t forward) {
    auto tokens_AL = made.tokens_BL.index_select(0, live_A);
    const auto masked_AL = tokens_AL == traits.mask_id;
    auto logprob_AL = made.commit_logprob_BL.index_select(0, live_A);
    const auto is_new_AN = masked_AL.gather(1, next_AN);
    const auto put = [&](at::Tensor& to_AL, const at::Tensor& drawn_M) {
      to_AL.scatter_(1, next_AN, at::where(is_new_AN, drawn_M.cpu().view_as(next_AN), to_AL.gather(1, next_AN)));
    };
    put(tokens_AL, sampled.token_M);
    put(logprob_AL, sampled.logprob_M);
    const auto is_end_AL = ends_response(tokens_AL, traits).to(at::kLong);
    const auto is_behind_AL = is_end_AL.cumsum(1) > is_end_AL;  // an end token, or more, stand before
    tokens_AL.masked_fill_(is_behind_AL & (tokens_AL == traits.mask_id), traits.pad_id);
    const auto written_AL = masked_AL & (tokens_AL != traits.mask_id);

    made.tokens_BL.index_copy_(0, live_A, tokens_AL);
    made.commit_logprob_BL.index_copy_(0, live_A, logprob_AL);
    made.step_BL.index_copy_(0, live_A, made.step_BL.index_select(0, live_A).masked_fill(written_AL, forward));
    made.forwards_B.index_fill_(0, live_A, forward + 1);
  }

  std::int64_t length_, tokens_;
  double temperature_;
};

}  // namespace

DRIFT_PLUGIN("random_order", "1.0.0", "Apache-2.0") {
  registry.add<RandomOrder>("random_order", "Tokens in a random order, until the end of the text.");
}
