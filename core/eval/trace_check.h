#pragma once

#include <core/eval/trace_policy.h>

#include <drift/model.h>
#include <drift/rollout.h>
#include <drift/trajectories.h>

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace drift {

/// Forwards of a response: of the prompt's keys, those that may commit, those that keep a block's keys.
using TraceForwards = std::array<std::int64_t, 3>;

/// What another program wrote after B prompts, and in which order.
struct ReferenceTrace {
  Prompts prompts;            ///< each response is a group of its own
  at::Tensor tokens_BL;       ///< int64; -1: the response is shorter
  at::Tensor step_BL;         ///< int64, the forward that committed the position; -1: never predicted
  at::Tensor probability_BL;  ///< float64, of the committed token; undefined: not known
  TraceDraws draws;
  at::Tensor calls_F4;      ///< int64, TracePolicy::Call of each forward of a single response; undefined: not known
  at::Tensor window_end_F;  ///< int64, of each forward that may commit; undefined: not known
};

/// Reads a safetensors file with `prompt_ids` [B, P], `tokens` [B, P + L], `commit_step` and, perhaps, `commit_prob`
/// [B, L]. What is padding says `attention_mask` [B, P], which was passed to the program, or `prompt_mask`, which was
/// not; the ids there may be -1, as behind the end of a shorter response. Perhaps with `first_unmask_times` [B, L],
/// `calls` [F, 4], `window_ends` [F] and `draw_tokens`; a `commit_step` of -2 says that a forward that keeps keys drew
/// the token, as `commit_call` counts all forwards.
/// @param takes_mask  the program's caller may pass a mask: what `prompt_mask` calls padding, it took for tokens
/// @throws Error naming the file, the tensor and what was expected.
ReferenceTrace read_reference_trace(const std::filesystem::path& file, const ModelTraits& traits, bool takes_mask);

/// L of such a file.
std::int64_t trace_length(const std::filesystem::path& file);

/// Fills the responses up to `length`, where the program ended earlier.
void lengthen(ReferenceTrace& trace, std::int64_t length);

/// Of the forwards that a decoder asked for. @param prompt  tokens of it
TraceForwards counted(const std::vector<TracePolicy::Call>& calls, std::int64_t prompt);

/// Number of the first forward that differs, if the trace knows them; -1: none
std::int64_t first_other_call(const std::vector<TracePolicy::Call>& calls, const ReferenceTrace& reference);

/// @throws Error if a decoder with responses of `length` tokens cannot be compared with the trace
void require_comparable(const ReferenceTrace& reference, std::int64_t length, const ModelTraits& traits);

/// How far one response is from the trace.
struct TraceRow {
  std::int64_t first_difference = -1;  ///< of the positions that differ in token or step; -1: none
  std::int64_t token = 0, reference_token = 0, step = 0, reference_step = 0;  ///< there
  std::optional<double> largest_difference;  ///< of the probability of a token that both have committed, if it is known
  std::int64_t forwards = 0;
  std::optional<TraceForwards> parts;  ///< of them, if they were observed
  std::int64_t first_other_call = -1;  ///< the forward whose window or masks differ; -1: none, or not known
  bool is_equal = false;               ///< also in probabilities, within the tolerance
};

/// What the program masked and never predicted may be padding here.
/// @param tolerance  largest difference of a probability that counts as equal
std::vector<TraceRow> compare_trace(const Trajectories& made, const ReferenceTrace& reference,
                                    const ModelTraits& traits, double tolerance);

}  // namespace drift
