#include "rows.h"

#include <drift/error.h>
#include <drift/parallel.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

namespace drift::rollouts {

std::int64_t rows_at_once(std::int64_t sequence, bool on_cpu) {
  constexpr std::int64_t kTokensPerForward = 4096, kTokensPerForwardOnDevice = 65536;
  return std::max<std::int64_t>(1, (on_cpu ? kTokensPerForward : kTokensPerForwardOnDevice) / sequence);
}

std::int64_t workers_for(std::int64_t rows, std::int64_t hidden_size, bool on_cpu) {
  const std::int64_t workers = row_workers(hidden_size, on_cpu);
  return rows < workers ? 1 : workers;
}

std::int64_t forward_bytes(const Model& model, std::int64_t rows, std::int64_t sequence, std::int64_t logits) {
  const std::int64_t layers = std::max<std::int64_t>(1, model.traits().layers);
  return rows * (model.training_bytes_per_row(sequence) / layers + logits * static_cast<std::int64_t>(sizeof(float)));
}

void require_in_vocabulary(const std::string& name, const std::vector<std::int64_t>& ids, const ModelTraits& traits) {
  for (const std::int64_t id : ids) {
    if (id < traits.vocabulary_size) continue;
    throw Error("rollout." + name + " names token " + std::to_string(id) + ", and the model's vocabulary has " +
                std::to_string(traits.vocabulary_size));
  }
}

bool is_padded(const Prompts& prompts) { return prompts.mask_BP.defined() && !prompts.mask_BP.all().item<bool>(); }

void start_trajectories(const RolloutInput& input, std::int64_t length, Trajectories& trajectories) {
  const std::int64_t responses = input.prompts.tokens_BP.size(0);
  trajectories.prompts = input.prompts;
  trajectories.tokens_BL = at::full({responses, length}, input.policy->traits().mask_id, at::kLong);
  trajectories.step_BL = at::full({responses, length}, -1, at::kInt);
  trajectories.commit_logprob_BL = at::zeros({responses, length}, at::kFloat);
  trajectories.forwards_B = at::zeros({responses}, at::kLong);
}

void mark_valid(const ModelTraits& traits, Trajectories& trajectories) {
  const auto& tokens_BL = trajectories.tokens_BL;
  trajectories.valid_BL = (tokens_BL != traits.pad_id).logical_and(tokens_BL != traits.mask_id);
}

float drawn_score(float score, double temperature, double uniform) {
  return static_cast<float>(score / temperature - std::log(-std::log(uniform)));
}

void refuse_scores(const std::string& where) {
  throw Error("the model's logits are not finite" + where,
              "the weights have diverged: go back to an earlier checkpoint with a lower learning rate");
}

}  // namespace drift::rollouts
