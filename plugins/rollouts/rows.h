#pragma once

#include <drift/model.h>
#include <drift/trajectories.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift::rollouts {

/// Rows of `sequence` tokens that one forward computes together: enough for full-speed matrix products, few enough that
/// a layer's activations stay in cache. At least 1.
std::int64_t rows_at_once(std::int64_t sequence, bool on_cpu);

/// Workers for parallel_rows(). With fewer rows than threads, the threads share each operation.
std::int64_t workers_for(std::int64_t rows, std::int64_t hidden_size, bool on_cpu);

/// Equal for rows in the same state: the same prompt, which the responses of a group have, and the same tokens.
std::string state_key(const Prompts& prompts, std::int64_t row, const std::vector<std::int64_t>& tokens);

/// @throws Error if the parameter `name` of [rollout] has an id that the vocabulary has not
void require_in_vocabulary(const std::string& name, const std::vector<std::int64_t>& ids, const ModelTraits& traits);

/// Whether some prompt is padded.
bool is_padded(const Prompts& prompts);

/// A position's score, such that the largest ones are draws without replacement from softmax(score / temperature):
/// Gumbel noise from a uniform number is added.
float drawn_score(float score, double temperature, double uniform);

/// @throws Error, that the model's logits are not finite. `where`: of which forward, if that is known.
[[noreturn]] void refuse_scores(const std::string& where = {});

}  // namespace drift::rollouts
