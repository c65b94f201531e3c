#include "rows.h"

#include <drift/error.h>
#include <drift/parallel.h>

#include <ATen/TensorOperators.h>

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

std::string state_key(const Prompts& prompts, std::int64_t row, const std::vector<std::int64_t>& tokens) {
  std::string key(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(std::int64_t));
  const std::int64_t group = prompts.group_B.const_data_ptr<std::int64_t>()[row];
  return key.append(reinterpret_cast<const char*>(&group), sizeof group);
}

void require_in_vocabulary(const std::string& name, const std::vector<std::int64_t>& ids, const ModelTraits& traits) {
  for (const std::int64_t id : ids) {
    if (id < traits.vocabulary_size) continue;
    throw Error("rollout." + name + " names token " + std::to_string(id) + ", and the model's vocabulary has " +
                std::to_string(traits.vocabulary_size));
  }
}

bool is_padded(const Prompts& prompts) { return prompts.mask_BP.defined() && !prompts.mask_BP.all().item<bool>(); }

float drawn_score(float score, double temperature, double uniform) {
  return static_cast<float>(score / temperature - std::log(-std::log(uniform)));
}

void refuse_scores(const std::string& where) {
  throw Error("the model's logits are not finite" + where,
              "the weights have diverged: go back to an earlier checkpoint with a lower learning rate");
}

}  // namespace drift::rollouts
