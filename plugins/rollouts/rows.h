#pragma once

#include "decoding_settings.h"

#include <drift/model.h>
#include <drift/policy.h>
#include <drift/rollout.h>
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

/// What `rows` of `sequence` tokens need at a time: one layer's activations, and `logits` numbers for each row.
std::int64_t forward_bytes(const Model& model, std::int64_t rows, std::int64_t sequence, std::int64_t logits);

/// @throws Error if the parameter `name` of [rollout] has an id that the vocabulary has not
void require_in_vocabulary(const std::string& name, const std::vector<std::int64_t>& ids, const ModelTraits& traits);

/// Whether some prompt is padded.
bool is_padded(const Prompts& prompts);

inline bool is_cancelled(const RolloutInput& input) { return input.cancelled != nullptr && input.cancelled->load(); }

/// Responses of `length` masks.
void start_trajectories(const RolloutInput& input, std::int64_t length, Trajectories& trajectories);
/// What is neither padding nor a mask is valid.
void mark_valid(const ModelTraits& traits, Trajectories& trajectories);

/// Positions [begin, begin + width) of the sequence, prompt included, that a forward computes; it attends to those
/// before `attended`.
struct Window {
  std::int64_t begin = 0, width = 0, attended = 0;

  bool is_text() const { return begin == 0 && width == attended; }  ///< nothing behind it exists
};

/// A forward and the tokens to draw from it, as Policy::sample() takes them.
struct DrawRequest {
  ForwardInput forward;  ///< its key mask is that of entire sequences; undefined if no prompt is padded
  at::Tensor row_M;
  at::Tensor uniform_M;  ///< undefined at temperature 0
};

/// A position's score, such that the largest ones are draws without replacement from softmax(score / temperature):
/// Gumbel noise from a uniform number is added.
float drawn_score(float score, double temperature, double uniform);

/// @throws Error, that the model's logits are not finite. `where`: of which forward, if that is known.
[[noreturn]] void refuse_scores(const std::string& where = {});

}  // namespace drift::rollouts
