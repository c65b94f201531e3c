#pragma once

#include "decoding_settings.h"
#include "rows.h"

#include <drift/rollout.h>
#include <drift/sampling.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift::rollouts {

/// A response that is being written, in the host's memory.
struct HostRow {
  /// Every position is masked.
  HostRow(std::int64_t index, std::int64_t length, std::int64_t mask_id);

  /// Copy it into the trajectories.
  void write(Trajectories& trajectories) const;

  std::int64_t index;  ///< in the rollout
  std::vector<std::int64_t> tokens;
  std::vector<std::int32_t> step;
  std::vector<float> logprob;
  std::int64_t forwards = 0;
};

/// What a row does at a forward.
struct Turn {
  HostRow* row = nullptr;
  std::vector<std::int64_t> positions;  ///< to predict, ascending
  std::int64_t step = 0;                ///< denoising step, of the random numbers
  std::int64_t first_draw = 0;          ///< of M: the draws of a turn are consecutive
};

/// Turns of rows with the same prompt, which the responses of a group have, and the same tokens.
using State = std::vector<Turn*>;

/// The forwards of a loop over rows in the host's memory. Rows in the same state share one.
class HostRows {
 public:
  /// Both must outlive it.
  HostRows(const DecodingSettings& settings, const RolloutInput& input);

  std::vector<State> distinct_states(std::vector<Turn>& turns) const;

  /// One row of the forward for each state, and a draw for each position of each turn. Turns of a state that ask for
  /// the same position share its logits.
  DrawRequest request(const std::vector<State>& states, const Window& window) const;

  /// Of the draw of positions.
  double order_uniform(const Turn& turn, std::int64_t position) const;
  RandomPoint point(const Turn& turn, std::int64_t position) const;

  /// A position's score, as it is compared. @param temperature  0: the surest are first
  /// @throws Error if it is not a number
  float score(const Turn& turn, std::int64_t position, float confidence, double temperature) const;

  /// Write the first `count` positions in this order of indices. @param number  of the forward
  void commit(const Turn& turn, const std::vector<std::size_t>& order, std::int64_t count, const SampledTokens& sampled,
              std::int64_t number) const;

 private:
  at::Tensor tokens(const std::vector<State>& states, const Window& window) const;
  at::Tensor key_mask(const std::vector<State>& states, const Window& window) const;

  const DecodingSettings& settings_;
  const RolloutInput& input_;
  const ModelTraits& traits_;
  const std::int64_t prompt_length_;
  const bool padded_;
  const RandomStream order_random_;
};

/// Indices of the scores, the largest first; equal ones in their order.
std::vector<std::size_t> surest_first(const std::vector<float>& scores);

/// int64, on the CPU.
at::Tensor tensor_of(const std::vector<std::int64_t>& values);

/// What the host reads.
SampledTokens on_cpu(const SampledTokens& sampled);

}  // namespace drift::rollouts
