#pragma once

#include "decoding_settings.h"
#include "rows.h"

#include <drift/commits.h>
#include <drift/rollout.h>
#include <drift/sampling.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift::rollouts {

/// R responses that are being written, as tensors on the model's device: the state of a loop that does not wait for it.
struct DeviceRows {
  /// The rows [first, last) of a rollout, in which every position is masked.
  DeviceRows(const DecodingSettings& settings, const RolloutInput& input, std::int64_t first, std::int64_t last);

  std::int64_t count() const { return row_R.size(0); }

  /// Random numbers for positions of the rows. @param step_R1  denoising step: one for all, or one for each row
  at::Tensor uniforms(const RandomStream& random, const at::Tensor& position_RK, const at::Tensor& step_R1) const;

  /// One row of the forward for each row, and a draw for each of these positions of the responses.
  DrawRequest request(const Window& window, const at::Tensor& position_RK, const at::Tensor& step_R1) const;

  /// Write what was drawn for the positions that the rule chooses among the open ones, by the forward whose number is
  /// forwards_R. @param temperature  0: the surest are first
  /// @return bool [R, K], the chosen ones
  at::Tensor commit(const at::Tensor& position_RK, const at::Tensor& open_RK, const at::Tensor& step_R1,
                    const at::Tensor& score_RK, double temperature, const CommitRule& rule,
                    const SampledTokens& sampled_RK);

  /// Copy rows into the trajectories.
  void write(const at::Tensor& row_of_state, Trajectories& trajectories) const;

  /// The only place where the host waits: rows that are done are written and leave.
  /// @return those that stay, [R]
  at::Tensor look(const at::Tensor& done_R, Trajectories& trajectories);

  const DecodingSettings& settings;
  const RolloutInput& input;
  at::Tensor row_R;  ///< in the rollout
  at::Tensor prompt_RP, prompt_mask_RP;
  at::Tensor tokens_RL, step_RL, logprob_RL;
  at::Tensor forwards_R;
  at::Tensor failed;  ///< bool, 0-d: a score was not a number
  RandomStream order_random;
};

/// These rows of it; undefined if it is.
at::Tensor chosen_rows(const at::Tensor& tensor, const at::Tensor& row_R);

/// Of the draws of a request, in the shape of its positions.
SampledTokens by_position(const SampledTokens& sampled_M, const at::Tensor& position_RK);

/// Forwards that a row may idle after its end, against a wait of the device for the host.
inline constexpr std::int64_t kForwardsBetweenLooks = 4;

}  // namespace drift::rollouts
