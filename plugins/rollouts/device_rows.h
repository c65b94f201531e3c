#pragma once

#include <drift/rollout.h>
#include <drift/sampling.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift::rollouts {

/// R responses that are being written, as tensors on the model's device: the state of a loop that does not wait for it.
struct DeviceRows {
  /// The rows [first, last) of a rollout, in which every position is masked.
  DeviceRows(const RolloutInput& input, std::int64_t first, std::int64_t last, std::int64_t length);

  std::int64_t count() const { return row_R.size(0); }

  /// For forwards of entire sequences, [R, P + L]; undefined if no prompt is padded.
  at::Tensor key_mask() const;

  /// Random numbers for positions of the rows. @param draw  one for all, or one for each row, [R, 1]
  at::Tensor uniforms(const RandomStream& random, const at::Tensor& position_RK, const at::Tensor& draw) const;

  /// Write what was sampled for the chosen ones of these positions, by the forward whose number is forwards_R.
  void commit(const at::Tensor& position_RK, const at::Tensor& chosen_RK, const SampledTokens& sampled_RK);

  /// Copy `values` of rows that leave, all of them shaped [R, …], to their places in the rollout.
  void copy(const at::Tensor& row_of_state, const at::Tensor& values, at::Tensor& to) const;

  /// Copy rows that leave into the trajectories.
  void write(const at::Tensor& row_of_state, Trajectories& trajectories) const;

  /// Only these rows stay.
  void keep(const at::Tensor& row_of_state);

  const RolloutInput& input;
  at::Tensor row_R;  ///< in the rollout
  at::Tensor prompt_RP, prompt_mask_RP;
  at::Tensor tokens_RL, step_RL, logprob_RL;
  at::Tensor forwards_R;
  at::Tensor failed;  ///< bool, 0-d: a score was not a number
};

/// These rows of it; undefined if it is.
at::Tensor chosen_rows(const at::Tensor& tensor, const at::Tensor& row_R);

/// drawn_score() of rows.h, of each.
at::Tensor drawn_scores(const at::Tensor& score_RK, double temperature, const at::Tensor& uniform_RK);

/// Forwards that a row may idle after its end, against a wait of the device for the host.
inline constexpr std::int64_t kForwardsBetweenLooks = 4;

}  // namespace drift::rollouts
