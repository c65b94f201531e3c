#pragma once

#include "decoding_settings.h"
#include "rows.h"

#include <drift/commits.h>
#include <drift/rollout.h>
#include <drift/sampling.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace drift::rollouts {

/// Without a wait.
at::Tensor on_device(const at::Tensor& host, at::Device device);

/// Rows that the host names.
struct RowNumbers {
  RowNumbers(const std::vector<std::int64_t>& rows, at::Device where);

  std::int64_t count() const { return host.size(0); }
  /// These rows of a tensor, in its memory; undefined if it is.
  at::Tensor of(const at::Tensor& tensor) const;

  at::Tensor host, device;  ///< int64
};

/// D states that R rows are in: those in the same state share a row of the forward.
struct SharedStates {
  RowNumbers first_D;  ///< a row in each
  at::Tensor state_R;  ///< of each row, on the device
};

/// Positions of the responses, as many for each row, and which of them may be committed.
struct OpenPositions {
  at::Tensor position_RK, open_RK;
};

/// R responses that are being written, as tensors on the model's device: the state of a loop that does not wait for it.
struct DeviceRows {
  /// The rows [first, last) of a rollout, in which every position is masked.
  DeviceRows(const DecodingSettings& settings, const RolloutInput& input, std::int64_t first, std::int64_t last);

  std::int64_t count() const { return row_R.size(0); }
  /// The positions [begin, begin + width) of the responses, to read and to write.
  at::Tensor response(std::int64_t begin, std::int64_t width) const;

  /// The positions from `begin` on where a row is open, of which no row has more than `most`, and then others.
  OpenPositions first_open(const at::Tensor& open_RW, std::int64_t begin, std::int64_t most) const;

  /// Random numbers for positions of the rows. @param step_R1  denoising step: one for all, or one for each row
  at::Tensor uniforms(const RandomStream& random, const at::Tensor& position_RK, const at::Tensor& step_R1) const;

  /// One row of the forward for each row, or for each state, and a draw for each of these positions of the responses.
  /// While there are shared states, all rows have the same positions.
  DrawRequest request(const Window& window, const at::Tensor& position_RK, const at::Tensor& step_R1) const;

  /// Write what was drawn for the positions that the rule chooses among the open ones, by the forward whose number is
  /// forwards_R1. @param temperature  0: the surest are first
  /// @return bool [R, K], the chosen ones
  at::Tensor commit(const OpenPositions& positions, const at::Tensor& step_R1, const at::Tensor& score_RK,
                    double temperature, const CommitRule& rule, const SampledTokens& sampled_RK);

  /// The host waits for a number of each row. @return int64 [R], on the CPU
  /// @throws Error if a score was not a number
  at::Tensor look(const at::Tensor& number_R) const;

  /// Rows that are done leave, after a look. @return those that stay
  RowNumbers leave(const at::Tensor& done_R);

  /// Waits, and copies all rows into the trajectories, which may be shorter. @throws Error if a score was not a number
  void write(Trajectories& trajectories);

  const DecodingSettings& settings;
  const RolloutInput& input;
  const std::int64_t first, prompt_length;
  /// Before the first commit, if responses have the same prompt.
  std::optional<SharedStates> states;
  at::Tensor row_R;        ///< from `first` on
  at::Tensor response_R1;  ///< number in the rollout, of the random points
  at::Tensor tokens_RS;    ///< prompt and response
  at::Tensor key_mask_RS;  ///< undefined: no prompt is padded
  at::Tensor padding_R;    ///< of the prompts, on the CPU; undefined with the mask
  at::Tensor step_RL, logprob_RL, forwards_R1;
  at::Tensor failed;    ///< bool, 0-d: a score was not a number
  at::Tensor number_M;  ///< 0, 1, … R * L - 1
  RandomStream order_random;

 private:
  std::optional<SharedStates> initial_states() const;
  void save();

  at::Tensor saved_RC;  ///< float64, of all rows that there were, as they left
};

/// Of the draws of a request, in the shape of its positions.
SampledTokens by_position(const SampledTokens& sampled_M, const at::Tensor& position_RK);

/// Forwards that a row may idle after its end, against a wait of the device for the host.
inline constexpr std::int64_t kForwardsBetweenLooks = 4;

}  // namespace drift::rollouts
